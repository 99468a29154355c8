"""Pods that were popped and are being scheduled, and what happens in the cluster meanwhile.

A pod that comes back rejected may have been decided before an event that would have helped it. So events are kept
as long as any pod is in flight that was popped before them, and are looked at when such a pod comes back::

    log      popped a · event 1 · popped b · event 2 · …
                 └── a has missed events 1 and 2   └── b has missed event 2
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from bayplan.queue.events import QueueEvent
from bayplan.queue.pod_info import QueuedPodInfo


class Missed(NamedTuple):
    """An event with the object before and after it."""

    event: QueueEvent
    old: Any
    new: Any


class _Flight(NamedTuple):
    info: QueuedPodInfo
    #: How many events had been logged when the pod was popped.
    start: int


class InFlightPods:
    """Pods by uid, in the order in which they were popped, and the log of events."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight] = {}
        self._events: deque[Missed] = deque()
        #: How many events have been dropped from the front of the log.
        self._n_dropped = 0

    def start(self, info: QueuedPodInfo) -> bool:
        """The pod was popped; False if it is in flight already."""
        if info.pod.uid in self._flights:
            return False
        self._flights[info.pod.uid] = _Flight(info, self._n_dropped + len(self._events))
        return True

    def log(self, event: QueueEvent, old: Any, new: Any) -> None:
        """Something happened; nobody needs it if no pod is in flight."""
        if self._flights:
            self._events.append(Missed(event, old, new))

    def missed_by(self, uid: str) -> Sequence[Missed]:
        """What has happened since the pod was popped."""
        return list(islice(self._events, self._flights[uid].start - self._n_dropped, None))

    def done(self, uid: str) -> None:
        """The pod needs no events any more; those that only it had missed are dropped."""
        if self._flights.pop(uid, None) is None:
            return
        first = next(iter(self._flights.values()), None)
        keep_from = self._n_dropped + len(self._events) if first is None else first.start
        while self._n_dropped < keep_from:
            self._events.popleft()
            self._n_dropped += 1

    def counts(self) -> dict[str, int]:
        """The log's entries by label; a pod that was popped is one of them."""
        return {"PodPopped": len(self._flights), **Counter(missed.event.label for missed in self._events)}

    @property
    def n_events(self) -> int:
        return len(self._events)

    def __len__(self) -> int:
        return len(self._flights)

    def __contains__(self, uid: str) -> bool:
        return uid in self._flights

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (flight.info for flight in self._flights.values())

    def problems(self) -> Iterator[str]:
        """What is wrong inside; nothing, unless there is a bug."""
        starts = [flight.start for flight in self._flights.values()]
        if starts != sorted(starts):
            yield "pods in flight are not in the order in which they were popped"
        if self._events and (not starts or starts[0] != self._n_dropped):
            yield "events are kept that no pod in flight has missed"
        if any(not self._n_dropped <= start <= self._n_dropped + len(self._events) for start in starts):
            yield "a pod in flight has missed events that are gone"
