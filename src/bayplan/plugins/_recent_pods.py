"""Pods so new on their nodes that measured load does not show them yet, and the cpu they are expected to use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import IntArray
from bayplan.model import time_of
from bayplan.plugins._followed_pods import FollowedPods

if TYPE_CHECKING:
    from bayplan.framework import Handle, NodeTable
    from bayplan.model import Pod

#: An agent reports once in so many seconds: a pod that came shortly before the window's end may be missing in it.
REPORTING_SECONDS: Final = 60
#: Longer than this nobody waits for a report.
LONGEST_SECONDS: Final = 5 * 60


class RecentPods:
    """Follows the pods; *expected* tells the cpu of one, in thousandths."""

    def __init__(self, handle: Handle, expected: Callable[[Pod], int]) -> None:
        self._clock = handle.clock
        self._pods = FollowedPods(handle)
        self._expected = expected
        #: uid → when it came, its node, its cpu; in no order.
        self._recent: dict[str, tuple[float, str, int]] = {}

    def missing(self, nodes: NodeTable, window_end: int) -> IntArray:
        """int64, shape (n_nodes,): what the report up to *window_end* does not show."""
        self._follow()
        since = max(window_end - REPORTING_SECONDS, self._clock.now() - LONGEST_SECONDS)
        self._recent = {uid: each for uid, each in self._recent.items() if each[0] > since}
        missing = np.zeros(len(nodes), dtype=np.int64)
        for _, node_name, cpu_milli in self._recent.values():
            position = nodes.position(node_name)
            if position is not None:
                missing[position] += cpu_milli
        return missing

    def _follow(self) -> None:
        gone, come = self._pods.moves()
        if not gone and not come:
            return
        before = {pod.uid: self._recent.pop(pod.uid, None) for pod in gone}
        now = self._clock.now()
        for pod in come:
            known = before.get(pod.uid)
            came = known[0] if known is not None else _scheduled_at(pod, now)
            if now - came < LONGEST_SECONDS and (known is not None or pod.uid not in before):
                self._recent[pod.uid] = (int(came), pod.node_name, self._expected(pod))


def _scheduled_at(pod: Pod, now: float) -> float:
    """A pod that is assumed has no such condition yet: it comes now."""
    condition = pod.status.condition("PodScheduled")
    if condition is None or condition.status != "True":
        return now
    scheduled = time_of(condition.last_transition_time)
    return now if scheduled is None else scheduled.timestamp()
