"""Pods so new on their nodes that the measured load does not include them yet, with their expected cpu usage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import IntArray
from bayplan.model import time_of
from bayplan.plugins._pod_tracker import PodTracker

if TYPE_CHECKING:
    from bayplan.framework import Handle, NodeTable
    from bayplan.model import Pod

#: An agent reports at this interval: a pod placed shortly before the end of the window may be missing in it.
REPORTING_SECONDS: Final = 60
#: The longest time that a pod counts as recent without a report.
LONGEST_SECONDS: Final = 5 * 60


class RecentPods:
    """Tracks recently placed pods; *expected* returns the expected cpu of a pod, in milli-cpu."""

    def __init__(self, handle: Handle, expected: Callable[[Pod], int]) -> None:
        self._clock = handle.clock
        self._pods = PodTracker(handle)
        self._expected = expected
        #: uid → when it was placed, its node, its cpu; unordered.
        self._recent: dict[str, tuple[float, str, int]] = {}

    def missing(self, nodes: NodeTable, window_end: int) -> IntArray:
        """int64, shape (n_nodes,): the milli-cpu that the report up to *window_end* does not include."""
        self._update()
        since = max(window_end - REPORTING_SECONDS, self._clock.now() - LONGEST_SECONDS)
        self._recent = {uid: each for uid, each in self._recent.items() if each[0] > since}
        missing = np.zeros(len(nodes), dtype=np.int64)
        for _, node_name, cpu_milli in self._recent.values():
            position = nodes.position(node_name)
            if position is not None:
                missing[position] += cpu_milli
        return missing

    def _update(self) -> None:
        removed, added = self._pods.changes()
        if not removed and not added:
            return
        before = {pod.uid: self._recent.pop(pod.uid, None) for pod in removed}
        now = self._clock.now()
        for pod in added:
            known = before.get(pod.uid)
            came = known[0] if known is not None else _scheduled_at(pod, now)
            if now - came < LONGEST_SECONDS and (known is not None or pod.uid not in before):
                self._recent[pod.uid] = (int(came), pod.node_name, self._expected(pod))


def _scheduled_at(pod: Pod, now: float) -> float:
    """An assumed pod has no such condition yet: it counts from now."""
    condition = pod.status.condition("PodScheduled")
    if condition is None or condition.status != "True":
        return now
    scheduled = time_of(condition.last_transition_time)
    return now if scheduled is None else scheduled.timestamp()
