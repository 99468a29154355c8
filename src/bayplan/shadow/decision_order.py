"""DecisionOrder: puts the changes of a cluster into the order in which its scheduler took them in.

In: changes, as the watches of several kinds show them. Out: the same, a little later, in the order of their
resourceVersions, except that placements come in the order of the decisions, as far as that is certain. A scheduler
decides about one pod at a time and binds many at once, so binds overtake each other. The queue tells more: of two
pods in their first attempt, the one that was queued first and has no lower priority was decided first.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bayplan.core.messages import CustomObjectChanged
from bayplan.explain.what_if_scheduler import ObjectChange
from bayplan.model import Pod

ClusterChange: TypeAlias = "ObjectChange | CustomObjectChanged"

#: How long a change is held back, for those that were decided earlier and are seen later.
SETTLE_SECONDS: Final = 2.0
GATED: Final = "SchedulingGated"


@dataclass(slots=True)
class BufferedChange:
    change: ClusterChange
    seen: float
    #: Whether it was yielded before its turn.
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Where a pod was in the scheduler's queue, if it is certain."""

    number: int
    priority: int

    def precedes(self, other: QueuePosition) -> bool:
        return self.number < other.number and self.priority >= other.priority


class DecisionOrder:
    """See the module docstring."""

    def __init__(self, schedulers: Container[str], settle_seconds: float = SETTLE_SECONDS) -> None:
        """*schedulers*: the schedulerNames whose pods wait in one queue, in the order of PrioritySort."""
        self._schedulers = schedulers
        self._settle_seconds = settle_seconds
        self._heap: list[tuple[float, int, BufferedChange]] = []
        self._n_seen = 0
        #: Type → resourceVersion of the last change.
        self._last: dict[object, float] = {}
        #: uid → position, of pods that were seen when they entered the queue, and were tried once at most.
        self._positions: dict[str, QueuePosition] = {}
        #: uid → the placement that is held back.
        self._placements: dict[str, BufferedChange] = {}

    def add(self, change: ClusterChange, now: float, *, is_new: bool = True) -> None:
        """*is_new*: whether it happened just now, rather than before the first list."""
        self._n_seen += 1
        buffered = BufferedChange(change, now)
        if isinstance(change, ObjectChange) and isinstance(change.new or change.old, Pod):
            self._note_pod(buffered, change, is_new=is_new)
        heapq.heappush(self._heap, (self._key(change), self._n_seen, buffered))

    def _note_pod(self, buffered: BufferedChange, change: ObjectChange, *, is_new: bool) -> None:
        old, new = change
        if not isinstance(new, Pod):
            if isinstance(old, Pod):
                self._positions.pop(old.uid, None)
            return
        if is_placement(change):
            self._placements[new.uid] = buffered
        elif not new.node_name and not new.spec.scheduling_gates:
            was_queued = isinstance(old, Pod) and not old.spec.scheduling_gates
            if is_new and not was_queued and new.spec.scheduler_name in self._schedulers:
                self._positions[new.uid] = QueuePosition(self._n_seen, new.priority)
            if was_tried(new):
                self._positions.pop(new.uid, None)  # a second attempt: when it was queued again is not known

    def _key(self, change: ClusterChange) -> float:
        """The resourceVersion; a deletion comes right after the change before it of the same kind."""
        kind: object
        version: Any
        if isinstance(change, CustomObjectChanged):
            kind = change.api_version, change.plural
            version = change.new["metadata"].get("resourceVersion", "") if change.new is not None else ""
        else:
            present = change.new if change.new is not None else change.old
            kind = type(present)
            version = change.new.resource_version if change.new is not None else ""
        last = self._last.get(kind, 0.0)
        key = float(version) if str(version).isdigit() else last + 0.5
        self._last[kind] = max(last, key)
        return key

    def due(self, now: float) -> Iterator[ClusterChange]:
        """The changes that have been held back long enough, in order."""
        while self._heap and self._heap[0][2].seen <= now - self._settle_seconds:
            _, _, buffered = heapq.heappop(self._heap)
            if not buffered.is_done:
                yield from self._in_order(buffered)

    def flush(self) -> Iterator[ClusterChange]:
        """Everything that is held back."""
        yield from self.due(float("inf"))

    def _in_order(self, buffered: BufferedChange) -> Iterator[ClusterChange]:
        change = buffered.change
        pod = change.new if isinstance(change, ObjectChange) else None
        if not isinstance(pod, Pod) or self._placements.get(pod.uid) is not buffered:
            if not (isinstance(pod, Pod) and not pod.node_name and self._is_placed(pod)):
                yield change
            return
        for earlier in self._decided_before(pod):
            yield self._take(earlier)
        yield self._take(pod.uid)

    def _is_placed(self, pod: Pod) -> bool:
        """Whether the placement of the pod was yielded before this older form of it."""
        placement = self._placements.get(pod.uid)
        return placement is not None and placement.is_done

    def _take(self, uid: str) -> ClusterChange:
        buffered = self._placements[uid]
        buffered.is_done = True
        return buffered.change

    def _decided_before(self, pod: Pod) -> list[str]:
        own = self._positions.get(pod.uid)
        self._forget_done()
        if own is None:
            return []
        found = [
            (-position.priority, position.number, uid)
            for uid, placement in self._placements.items()
            if not placement.is_done
            and (position := self._positions.get(uid)) is not None
            and position.precedes(own)
        ]
        return [uid for _, _, uid in sorted(found)]

    def _forget_done(self) -> None:
        """Drop placements whose turn has passed."""
        if len(self._placements) > 2 * len(self._heap) + 16:
            waiting = {id(buffered) for _, _, buffered in self._heap}
            self._placements = {
                uid: each for uid, each in self._placements.items() if not each.is_done or id(each) in waiting
            }

    def is_certain(self, first: Pod, second: Pod) -> bool:
        """Whether *first* was certainly decided before *second*."""
        one, other = self._positions.get(first.uid), self._positions.get(second.uid)
        return one is not None and other is not None and one.precedes(other)

    def coming(self, pod: Pod) -> list[Pod]:
        """The placed pods that are held back and may have been decided before *pod*, as they were seen."""
        found = []
        for _, _, buffered in sorted(self._heap):
            change = buffered.change
            if buffered.is_done or not isinstance(change, ObjectChange) or not is_placement(change):
                continue
            if isinstance(change.new, Pod) and not self.is_certain(pod, change.new):
                found.append(change.new)
        return found

    @property
    def n_held_back(self) -> int:
        return len(self._heap)


def is_placement(change: ObjectChange) -> bool:
    """Whether a pod that waited got its node."""
    old, new = change
    return isinstance(old, Pod) and isinstance(new, Pod) and not old.node_name and bool(new.node_name)


def was_tried(pod: Pod) -> bool:
    """Whether an attempt to place the pod has failed."""
    condition = pod.status.condition("PodScheduled")
    return condition is not None and condition.status == "False" and condition.reason != GATED
