"""Waiting pods: pods that Permit holds until every plugin allows them, one rejects them, or time is up.

Deadlines are data: `WaitingPods.next_deadline` says when `expire` has something to do. When a pod is decided
about, `on_decided` is called once; the pod stays listed until `remove`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bayplan.config.duration import Duration
from bayplan.framework import SUCCESS, Code, Status

if TYPE_CHECKING:
    from bayplan.core.messages import AssumedPod
    from bayplan.framework import BindPlan, Clock
    from bayplan.model import Pod

#: A pod that waits this long has its nomination written to its status. Most gangs are complete, or give up,
#: within milliseconds; kube-scheduler writes it before the wait, so that a gang that gives up at once holds its
#: nodes for as long as the API server takes to answer.
ANNOUNCE_SECONDS: Final = 0.5


class WaitingPod:
    """Implements `framework.WaitingPod`."""

    __slots__ = (
        "_deadlines",
        "_on_decided",
        "announce_at",
        "announced_node",
        "assumed",
        "plan",
        "since",
        "status",
    )

    def __init__(
        self,
        assumed: AssumedPod,
        plan: BindPlan,
        waits: Mapping[str, float],
        now: float,
        on_decided: Callable[[WaitingPod], None],
    ) -> None:
        """*waits*: plugin → for how many seconds it holds the pod at most."""
        self.assumed = assumed
        #: What PreBind will do.
        self.plan = plan
        self.since = now
        #: The decision; None while there is none.
        self.status: Status | None = None
        #: When to write the nomination; None once it is written.
        self.announce_at: float | None = now + ANNOUNCE_SECONDS
        self.announced_node = ""
        #: Plugin → (deadline, seconds).
        self._deadlines = {plugin: (now + seconds, seconds) for plugin, seconds in waits.items()}
        self._on_decided = on_decided

    @property
    def pod(self) -> Pod:
        return self.assumed.pod

    @property
    def pending_plugins(self) -> Sequence[str]:
        return tuple(self._deadlines)

    @property
    def is_leaving(self) -> bool:
        return self.status is not None and not self.status.is_success

    def allow(self, plugin_name: str) -> None:
        self._deadlines.pop(plugin_name, None)
        if not self._deadlines:
            self._decide(SUCCESS)

    def reject(self, plugin_name: str, message: str) -> bool:
        """False if the pod was decided about before."""
        return self._decide(Status(Code.UNSCHEDULABLE, (message,), plugin=plugin_name))

    def preempt(self, plugin_name: str, message: str) -> bool:
        """Reject because the node is wanted; the pod is tried again after a backoff, not when a rule changes."""
        return self._decide(Status(Code.ERROR, (message,), plugin=plugin_name))

    def next_deadline(self) -> float:
        deadline = min(deadline for deadline, _ in self._deadlines.values())
        return deadline if self.announce_at is None else min(deadline, self.announce_at)

    def expire(self, now: float) -> None:
        """Reject the pod in the name of the first plugin whose time is up."""
        due = [(deadline, plugin, seconds) for plugin, (deadline, seconds) in self._deadlines.items()]
        deadline, plugin, seconds = min(due, key=lambda each: each[0])
        if now >= deadline:
            waited = Duration(round(seconds * 1e9))
            self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def _decide(self, status: Status) -> bool:
        if self.status is not None:
            return False
        self.status = status
        self._on_decided(self)
        return True


class WaitingPods:
    """Implements `framework.WaitingPods`."""

    def __init__(self, clock: Clock, on_decided: Callable[[WaitingPod], None]) -> None:
        self._clock = clock
        self._on_decided = on_decided
        #: By uid.
        self.by_uid: dict[str, WaitingPod] = {}
        #: No deadline is earlier than this: `expire` looks at every pod only when it has passed.
        self._earliest = math.inf

    def add(self, assumed: AssumedPod, plan: BindPlan, waits: Mapping[str, float]) -> None:
        waiting = WaitingPod(assumed, plan, waits, self._clock.now(), self._on_decided)
        self.by_uid[assumed.pod.uid] = waiting
        if waits:
            self._earliest = min(self._earliest, waiting.next_deadline())
        else:
            waiting.allow("")

    def get(self, uid: str) -> WaitingPod | None:
        return self.by_uid.get(uid)

    def remove(self, waiting: WaitingPod) -> float:
        """The pod no longer waits; returns for how many seconds it did."""
        del self.by_uid[waiting.pod.uid]
        return self._clock.now() - waiting.since

    def next_deadline(self) -> float | None:
        """When to call `expire`; there may be nothing to do then, if a pod was decided about meanwhile."""
        return None if self._earliest == math.inf else self._earliest

    def expire(self) -> list[WaitingPod]:
        """Reject the pods whose time is up; returns those that have waited long enough to be announced."""
        now = self._clock.now()
        if now < self._earliest:
            return []
        to_announce = []
        for waiting in self.undecided():
            waiting.expire(now)
            if waiting.status is None and waiting.announce_at is not None and now >= waiting.announce_at:
                waiting.announce_at = None
                to_announce.append(waiting)
        self._earliest = min((each.next_deadline() for each in self.undecided()), default=math.inf)
        return to_announce

    def undecided(self) -> list[WaitingPod]:
        return [each for each in self.by_uid.values() if each.status is None]

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(tuple(self.by_uid.values()))

    def __len__(self) -> int:
        return len(self.by_uid)
