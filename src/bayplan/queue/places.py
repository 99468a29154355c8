"""Where pods wait, and the moves between these places.

Every move is asked of PreEnqueue where it must be, is counted, and leaves the pod in one place. Who moves when is
decided by the scheduling queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from bayplan.framework import ProfilePlugins
from bayplan.observe import klog
from bayplan.queue import events
from bayplan.queue.backoff import BackoffQueue
from bayplan.queue.gates import Gates
from bayplan.queue.heap import PodHeap, SortKey, sort_key_of
from bayplan.queue.hints import Strategy
from bayplan.queue.observer import PendingCounts, QueueObserver
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.queue.unschedulable import UnschedulablePods

if TYPE_CHECKING:
    from bayplan.framework import Clock

log = klog.get_logger("bayplan.queue")

#: What kube-scheduler calls them in its logs.
_TITLES = {"active": "Active", "backoff": "Backoff", "unschedulable": "Unschedulable"}


class Places:
    """The active and the backoff queue, and the unschedulable and gated pods."""

    def __init__(
        self,
        profiles: Mapping[str, ProfilePlugins],
        clock: Clock,
        *,
        initial_backoff_seconds: float,
        max_backoff_seconds: float,
        observer: QueueObserver,
        on_ready: Callable[[], None],
    ) -> None:
        sort_key = _sort_key(profiles)
        self.active = PodHeap(sort_key)
        self.backoff = BackoffQueue(
            clock, sort_key, initial_seconds=initial_backoff_seconds, max_seconds=max_backoff_seconds
        )
        self.unschedulable = UnschedulablePods()
        self._clock = clock
        self._gates = Gates(profiles, observer)
        self._observer = observer
        self._on_ready = on_ready

    def use_plugins(self, profiles: Mapping[str, ProfilePlugins]) -> None:
        """Other plugins from now on: another order, other gates; every pod that waits may be tried at once."""
        self.active.sort_by(_sort_key(profiles))
        self.backoff.sort_by(_sort_key(profiles))
        self._gates = Gates(profiles, self._observer)
        for info in (*self.unschedulable, *self.backoff):
            self.backoff.remove(info.key)
            self.move_to_active(info, events.PLUGINS_CHANGED.label)

    def get(self, key: str) -> QueuedPodInfo | None:
        return self.active.get(key) or self.backoff.get(key) or self.unschedulable.get(key)

    def pop(self) -> QueuedPodInfo | None:
        """The first active pod; if there is none, the first of those that back off after a rejection."""
        info = self.active.pop()
        if info is None:
            info = self.backoff.pop()
            if info is not None:
                self._observer.pod_queued("active", events.POP_FROM_BACKOFF)
        return info

    # --- moves ------------------------------------------------------------------------------------

    def requeue(self, info: QueuedPodInfo, strategy: Strategy, event: str) -> bool:
        """Put the pod where *strategy* wants it; whether it can be popped from there."""
        if strategy is Strategy.SKIP:
            self._hold(info, event)
            return False
        # A backoff may have ended while the pod was unschedulable.
        if strategy is Strategy.AFTER_BACKOFF and self.backoff.is_backing_off(info):
            return self._move_to_backoff(info, event)
        return self.move_to_active(info, event)

    def move_to_active(self, info: QueuedPodInfo, event: str, *, is_checked: bool = False) -> bool:
        """False if the pod is gated. One that comes from the backoff queue *is_checked* already."""
        if not is_checked:
            self._gates.check(info)
        if info.is_gated:
            self._hold_gated(info, event)
            return False
        if info.initial_attempt_timestamp is None:
            info.initial_attempt_timestamp = self._clock.now()
        self.unschedulable.remove(info.key)
        self.backoff.remove(info.key)
        self.active.add(info)
        self._note_move(info, "active", event)
        self._on_ready()
        return True

    def _move_to_backoff(self, info: QueuedPodInfo, event: str) -> bool:
        self._gates.check(info)
        if info.is_gated:
            self._hold_gated(info, event)
            return False
        self.unschedulable.remove(info.key)
        self.backoff.add(info)
        self._note_move(info, "backoff", event)
        self._on_ready()
        return True

    def _hold_gated(self, info: QueuedPodInfo, event: str) -> None:
        info.was_flushed = False
        self._hold(info, event)

    def _hold(self, info: QueuedPodInfo, event: str) -> None:
        if self.unschedulable.put(info):
            self._note_move(info, "unschedulable", event)

    def _note_move(self, info: QueuedPodInfo, queue: str, event: str) -> None:
        self._observer.pod_queued(queue, event)
        if log.enabled(5):
            title = _TITLES.get(queue, queue)
            log.info("Pod moved to an internal scheduling queue", v=5, pod=info.pod, event=event, queue=title)

    # ----------------------------------------------------------------------------------------------

    def counts(self) -> PendingCounts:
        n_gated = self.unschedulable.n_gated
        return PendingCounts(len(self.active), len(self.backoff), len(self.unschedulable) - n_gated, n_gated)

    def problems(self) -> Iterator[str]:
        """What is wrong inside; nothing, unless there is a bug."""
        yield from self.active.problems()
        yield from self.backoff.problems()
        yield from self.unschedulable.problems()
        for info in (*self.active, *self.backoff):
            if info.is_gated:
                yield f"{info.key} can be popped and is gated"
        keys = [info.key for place in (self.active, self.backoff, self.unschedulable) for info in place]
        yield from (f"{key} is in two places" for key in set(keys) if keys.count(key) > 1)


def _sort_key(profiles: Mapping[str, ProfilePlugins]) -> SortKey:
    # All profiles have the same QueueSort plugin.
    return sort_key_of(next(iter(profiles.values())).on("queueSort")[0].plugin)
