"""The sub-queues of the scheduling queue: active, backoff, unschedulable, and the pods in flight.

Data structures only. `SchedulingQueue` decides which pod goes where; a sub-queue takes pods in, finds them by key
(`namespace/name`) and gives them back in its order. The public dicts are read by the scheduling queue and changed
only here.
"""

from __future__ import annotations

import functools
import itertools
import logging
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bayplan.framework.calls import contain
from bayplan.framework.plugin import defines
from bayplan.queue.cluster_events import QueueEvent
from bayplan.queue.pod_info import QueuedPodInfo

if TYPE_CHECKING:
    from bayplan.framework import Clock, Plugin

logger = logging.getLogger("bayplan.queue")

# --- the order: a QueueSort plugin's, or priority and time where the plugin fails -----------------

#: Smaller keys go first.
SortKey: TypeAlias = Callable[[QueuedPodInfo], Any]


class PodOrder:
    """The sort keys of pods. `key` never raises, but keys may turn out not to be comparable; those of `fallback`
    always are."""

    def __init__(self, plugin_name: str, key: SortKey, fallback: SortKey) -> None:
        self.plugin_name: Final = plugin_name
        self.key: Final = key
        self.fallback: Final = fallback


def order_of(plugin: Plugin) -> PodOrder:
    """The order of a QueueSort plugin, which has either `sort_key` or `less`.

    Where the plugin raises or the key is NaN, the pod goes behind the others, or two pods count as equal.
    """
    key: SortKey
    if defines(plugin, "sort_key"):
        key = functools.partial(_guarded_key, plugin.sort_key, plugin.name)
    else:
        key = functools.cmp_to_key(functools.partial(_compare, plugin.less, plugin.name))
    return PodOrder(plugin.name, key, by_priority)


def by_priority(info: QueuedPodInfo) -> tuple[int, float]:
    """The order of PrioritySort."""
    return -info.pod.priority, info.timestamp


def _guarded_key(sort_key: SortKey, plugin_name: str, info: QueuedPodInfo) -> tuple[int, Any]:
    try:
        key = sort_key(info)
        # Comparing with NaN raises nothing: it would leave the other pods in disorder.
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, float) and part != part:
                raise ValueError(f"sort_key returned {key!r:.80}: NaN has no place in an order")
        return 0, key
    except BaseException as error:
        contain(error)
        logger.exception("Plugin raised: plugin=%s point=QueueSort pod=%s", plugin_name, info.key)
        return 1, by_priority(info)


def _compare(
    less: Callable[[QueuedPodInfo, QueuedPodInfo], bool],
    plugin_name: str,
    first: QueuedPodInfo,
    second: QueuedPodInfo,
) -> int:
    try:
        return -1 if less(first, second) else int(bool(less(second, first)))
    except BaseException as error:
        contain(error)
        logger.exception(
            "Plugin raised: plugin=%s point=QueueSort pod=%s other=%s", plugin_name, first.key, second.key
        )
        return 0


# --- the heap of the active and the backoff queue -------------------------------------------------

#: A heap smaller than this is not rebuilt to get rid of dead entries.
_MIN_REBUILT: Final = 64


class PodHeap:
    """Pods in the order of a sort key. Pods with equal keys leave in the order in which they were added.

    Removing a pod leaves a dead entry in the heap. It is dropped when it reaches the top, or when dead entries are
    the majority. A sort key may grow while the pod waits (its pod group has failed, say), so the key is computed
    again for the pod at the top.

    Keys are a plugin's, and comparing them may fail. Then the heap is ordered by the fallback until it is empty.
    """

    def __init__(self, order: PodOrder) -> None:
        self._order = order
        self._has_fallen_back = False
        self._numbers = itertools.count()
        #: [sort key, number of the pod, number of the entry, info]; info is None in a dead entry.
        self._heap: list[list[Any]] = []
        #: The live entries, by the pod's key.
        self.entries: dict[str, list[Any]] = {}

    def _sort_key(self, info: QueuedPodInfo) -> Any:
        return self._order.fallback(info) if self._has_fallen_back else self._order.key(info)

    def add(self, info: QueuedPodInfo) -> None:
        """Add a pod, or move it to where its sort key belongs now."""
        old = self.entries.get(info.key)
        if old is not None:
            old[3] = None
        elif not self.entries:
            self._start_over()
        number = next(self._numbers)
        entry = [self._sort_key(info), number if old is None else old[1], number, info]
        self.entries[info.key] = entry
        try:
            heappush(self._heap, entry)
            if len(self._heap) > _MIN_REBUILT and len(self._heap) > 2 * len(self.entries):
                self._rebuild()
        except BaseException as error:
            self._fall_back(info, error)

    def sort_by(self, order: PodOrder) -> None:
        """Change the order."""
        self._order = order
        self._has_fallen_back = False
        for entry in self.entries.values():
            entry[0] = order.key(entry[3])
        try:
            self._rebuild()
        except BaseException as error:
            self._fall_back(next(iter(self.entries.values()))[3], error)

    def _rebuild(self) -> None:
        self._heap = list(self.entries.values())
        heapify(self._heap)

    def _start_over(self) -> None:
        """Nothing is left that could not be compared: dead entries are not worth comparing."""
        self._heap = []
        self._has_fallen_back = False

    def _fall_back(self, info: QueuedPodInfo, error: BaseException) -> None:
        """Comparing *info* with the others failed, which may have left the heap in disorder."""
        contain(error)
        logger.error(
            "Sort keys cannot be compared, so the queue is ordered by priority and time: "
            "plugin=%s point=QueueSort pod=%s",
            self._order.plugin_name,
            info.key,
            exc_info=error,
        )
        self._has_fallen_back = True
        for entry in self.entries.values():
            entry[0] = self._order.fallback(entry[3])
        self._rebuild()

    def get(self, key: str) -> QueuedPodInfo | None:
        entry = self.entries.get(key)
        return None if entry is None else entry[3]

    def remove(self, key: str) -> QueuedPodInfo | None:
        entry = self.entries.pop(key, None)
        if entry is None:
            return None
        info: QueuedPodInfo = entry[3]
        entry[3] = None
        return info

    def peek(self) -> QueuedPodInfo | None:
        if not self.entries:
            return None
        try:
            self._settle()
        except BaseException as error:
            self._fall_back(next(iter(self.entries.values()))[3], error)
        return self._heap[0][3]  # type: ignore[no-any-return]

    def _settle(self) -> None:
        """Bring a live entry to the top, whose key is that of now."""
        heap = self._heap
        # Keys that change with every call never settle: each pod is moved once at most.
        n_moves = len(self.entries)
        while True:
            first = heap[0]
            if first[3] is None:
                heappop(heap)
                continue
            if not n_moves or (key := self._sort_key(first[3])) == first[0]:
                return
            n_moves -= 1
            first[0] = key
            heapreplace(heap, first)

    def pop(self) -> QueuedPodInfo | None:
        info = self.peek()
        if info is not None:
            del self.entries[info.key]
            try:
                heappop(self._heap)
            except BaseException as error:
                self._fall_back(info, error)
        return info

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In order."""
        try:
            return iter([entry[3] for entry in sorted(self.entries.values())])
        except BaseException as error:
            contain(error)
            return iter(sorted([entry[3] for entry in self.entries.values()], key=self._order.fallback))

    def problems(self) -> Iterator[str]:
        """Broken invariants, for `SchedulingQueue.validate`."""
        for key, entry in self.entries.items():
            if entry[3] is None or entry[3].key != key:
                yield f"{key} is filed as {entry[3]}"
        for child in range(1, len(self._heap)):
            if self._heap[child] < self._heap[(child - 1) // 2]:
                yield f"entry {child} of the heap is before its parent"
        if sum(entry[3] is not None for entry in self._heap) != len(self.entries):
            yield "the heap and its index differ"


# --- backoff --------------------------------------------------------------------------------------

#: upstream backoffQOrderingWindowDuration: backoffs end with whole seconds, and pods whose backoff ends in the
#: same second are ordered as in the active queue.
WINDOW_SECONDS: Final = 1.0
#: The expiration of a pod that has no backoff.
NO_BACKOFF: Final = -math.inf
_NANOSECONDS: Final = 1_000_000_000


class BackoffQueue:
    """Pods that have failed and are retried after a delay.

    Two heaps: pods that were rejected, and pods whose attempt ended in an error. Rejected pods may be popped early
    when the active queue is empty. Pods with errors always wait, because whatever failed (the API server, say)
    needs the time.
    """

    def __init__(
        self, clock: Clock, order: PodOrder, *, initial_seconds: float = 1.0, max_seconds: float = 10.0
    ) -> None:
        self._clock = clock
        self._initial = round(initial_seconds * _NANOSECONDS)
        self._max = round(max_seconds * _NANOSECONDS)
        self._rejected = PodHeap(self._with_expiration(order))
        self._errors = PodHeap(PodOrder(order.plugin_name, self.expiration, self.expiration))
        self._heaps = (self._rejected, self._errors)
        #: The pods of both heaps, by key.
        self.pods: dict[str, QueuedPodInfo] = {}

    def _with_expiration(self, order: PodOrder) -> PodOrder:
        return PodOrder(
            order.plugin_name,
            lambda info: (self.expiration(info), order.key(info)),
            lambda info: (self.expiration(info), order.fallback(info)),
        )

    def sort_by(self, order: PodOrder) -> None:
        """Change the order of pods whose backoffs end in the same second."""
        self._rejected.sort_by(self._with_expiration(order))

    def duration_seconds(self, n_failures: int) -> float:
        """The initial backoff, doubled with every failure after the first, up to the maximum."""
        if n_failures == 0:
            return 0.0
        shift = n_failures - 1
        # Compared as upstream does, so that a maximum which is no power of two is reached at the same count.
        nanoseconds = self._max if self._initial > self._max >> shift else self._initial << shift
        return nanoseconds / _NANOSECONDS

    def expiration(self, info: QueuedPodInfo) -> float:
        """The whole second in which the pod's backoff ends."""
        count = info.consecutive_errors_count or info.unschedulable_count
        if self._max == 0 or count == 0:
            return NO_BACKOFF
        if info.backoff_expiration is None:
            info.backoff_expiration = _window_of(info.timestamp + self.duration_seconds(count))
        return info.backoff_expiration

    def is_backing_off(self, info: QueuedPodInfo) -> bool:
        """Whether the pod must wait; it must until the second in which its backoff ends is over."""
        return self.expiration(info) >= _window_of(self._clock.now())

    def next_completion(self) -> float | None:
        """When the next pod has completed its backoff; None if the queue is empty."""
        first = [info for heap in self._heaps if (info := heap.peek()) is not None]
        return min((self.expiration(info) + WINDOW_SECONDS for info in first), default=None)

    @property
    def n_poppable(self) -> int:
        """How many pods `pop` would give."""
        return len(self._rejected.entries)

    def add(self, info: QueuedPodInfo) -> None:
        self.pods[info.key] = info
        (self._rejected if info.rejectors else self._errors).add(info)

    def update(self, info: QueuedPodInfo) -> None:
        """The pod changed: move it to where its sort key belongs now."""
        for heap in self._heaps:
            if info.key in heap.entries:
                heap.add(info)

    def remove(self, key: str) -> QueuedPodInfo | None:
        info = self.pods.pop(key, None)
        if info is not None and self._rejected.remove(key) is None:
            self._errors.remove(key)
        return info

    def pop(self) -> QueuedPodInfo | None:
        """The first of the rejected pods, whether its backoff is over or not."""
        info = self._rejected.pop()
        if info is not None:
            del self.pods[info.key]
        return info

    def pop_completed(self) -> list[QueuedPodInfo]:
        """All pods whose backoff is over."""
        completed: list[QueuedPodInfo] = []
        for heap in self._heaps:
            while (first := heap.peek()) is not None and not self.is_backing_off(first):
                heap.pop()
                del self.pods[first.key]
                completed.append(first)
        return completed

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        for heap in self._heaps:
            yield from heap

    def problems(self) -> Iterator[str]:
        """Broken invariants, for `SchedulingQueue.validate`."""
        for heap in self._heaps:
            yield from heap.problems()
        if self.pods.keys() != {info.key for info in self}:
            yield "the backoff queue and its index differ"


def _window_of(time: float) -> float:
    return math.floor(time / WINDOW_SECONDS) * WINDOW_SECONDS


# --- unschedulable --------------------------------------------------------------------------------


class UnschedulablePods:
    """Pods that wait for an event: rejected ones, and gated ones that were never tried.

    They are indexed by the plugins that rejected them, so that an event looks only at pods that it may concern.
    """

    def __init__(self) -> None:
        #: By key, gated pods included.
        self.pods: dict[str, QueuedPodInfo] = {}
        self._gated: set[str] = set()
        #: Plugin → keys, in the order of arrival.
        self._by_plugin: dict[str, dict[str, None]] = {}
        #: Key → the plugins under which the pod is indexed.
        self._indexed: dict[str, frozenset[str]] = {}

    def put(self, info: QueuedPodInfo) -> bool:
        """Add the pod, or index it again; True if it is new."""
        key = info.key
        is_new = key not in self.pods
        self.pods[key] = info
        (self._gated.add if info.gating_plugin else self._gated.discard)(key)
        plugins = frozenset(info.rejectors)
        if self._indexed.get(key) != plugins:
            self._remove_from_index(key)
            self._indexed[key] = plugins
            for plugin in plugins:
                self._by_plugin.setdefault(plugin, {})[key] = None
        return is_new

    def remove(self, key: str) -> QueuedPodInfo | None:
        info = self.pods.pop(key, None)
        if info is not None:
            self._gated.discard(key)
            self._remove_from_index(key)
        return info

    def _remove_from_index(self, key: str) -> None:
        for plugin in self._indexed.pop(key, ()):
            keys = self._by_plugin[plugin]
            del keys[key]
            if not keys:
                del self._by_plugin[plugin]

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedPodInfo]:
        """The pods that any of *plugins* rejected."""
        if not self._by_plugin:
            return []
        keys: dict[str, None] = {}
        for plugin in plugins:
            keys.update(self._by_plugin.get(plugin, {}))
        return [self.pods[key] for key in keys]

    @property
    def n_gated(self) -> int:
        return len(self._gated)

    def problems(self) -> Iterator[str]:
        """Broken invariants, for `SchedulingQueue.validate`."""
        for key, info in self.pods.items():
            if info.key != key:
                yield f"{info.key} is filed as {key}"
            if (key in self._gated) != info.is_gated:
                yield f"{key} is wrongly counted as {'gated' if key in self._gated else 'not gated'}"
            indexed = {plugin for plugin, keys in self._by_plugin.items() if key in keys}
            if indexed != info.rejectors:
                yield f"{key} is indexed under {sorted(indexed)}, rejected by {sorted(info.rejectors)}"
        if self._gated - self.pods.keys() or self._indexed.keys() != self.pods.keys():
            yield "the index has pods that are not there"


# --- in flight ------------------------------------------------------------------------------------


class MissedEvent(NamedTuple):
    """An event with the object before and after it."""

    event: QueueEvent
    old: Any
    new: Any


class _InFlight(NamedTuple):
    info: QueuedPodInfo
    #: How many events had been logged when the pod was popped.
    start: int


class InFlightPods:
    """Pods that were popped and are being scheduled, and the events that happen meanwhile.

    A rejected pod may have been decided before an event that would have helped it. Events are therefore logged as
    long as a pod is in flight that was popped before them, and replayed when such a pod comes back::

        log      popped a · event 1 · popped b · event 2 · …
                     └── a has missed events 1 and 2   └── b has missed event 2
    """

    def __init__(self) -> None:
        #: By uid, in the order in which they were popped.
        self.pods: dict[str, _InFlight] = {}
        self._events: deque[MissedEvent] = deque()
        #: How many events have been dropped from the front of the log.
        self._n_dropped = 0

    def start(self, info: QueuedPodInfo) -> bool:
        """The pod was popped; False if it is in flight already."""
        if info.pod.uid in self.pods:
            return False
        self.pods[info.pod.uid] = _InFlight(info, self._n_dropped + len(self._events))
        return True

    def log(self, event: QueueEvent, old: Any, new: Any) -> None:
        if self.pods:
            self._events.append(MissedEvent(event, old, new))

    def missed_by(self, uid: str) -> Sequence[MissedEvent]:
        """The events since the pod was popped."""
        n_missed = self._n_dropped + len(self._events) - self.pods[uid].start
        # From the end: the log may go back much further, for a pod that has been in flight for long.
        missed = list(islice(reversed(self._events), n_missed))
        missed.reverse()
        return missed

    def done(self, uid: str) -> None:
        """The pod needs no events any more; those that no other pod has missed are dropped."""
        if self.pods.pop(uid, None) is None or not self._events:
            return
        first = next(iter(self.pods.values()), None)
        keep_from = self._n_dropped + len(self._events) if first is None else first.start
        while self._n_dropped < keep_from:
            self._events.popleft()
            self._n_dropped += 1

    def counts(self) -> dict[str, int]:
        """The log's entries by label; a popped pod is one of them."""
        return {"PodPopped": len(self.pods), **Counter(missed.event.label for missed in self._events)}

    def problems(self) -> Iterator[str]:
        """Broken invariants, for `SchedulingQueue.validate`."""
        starts = [flight.start for flight in self.pods.values()]
        if starts != sorted(starts):
            yield "pods in flight are not in the order in which they were popped"
        if self._events and (not starts or starts[0] != self._n_dropped):
            yield "events are kept that no pod in flight has missed"
        if any(not self._n_dropped <= start <= self._n_dropped + len(self._events) for start in starts):
            yield "a pod in flight has missed events that are gone"
