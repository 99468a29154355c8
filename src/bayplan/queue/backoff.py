"""The backoff queue: pods that have failed and are to be tried again, but not at once.

Two heaps: pods that were rejected, and pods whose attempt broke. The first may be popped before their time when
nothing else is left to do; the second wait, because what broke (an API server, say) needs the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bayplan.queue.heap import PodHeap, SortKey
from bayplan.queue.pod_info import QueuedPodInfo

if TYPE_CHECKING:
    from bayplan.framework import Clock

#: upstream backoffQOrderingWindowDuration: backoffs end with whole seconds, and pods whose backoff ends in the
#: same second are ordered as in the active queue.
WINDOW_SECONDS: Final = 1.0
#: Stands for a backoff that there is not.
LONG_AGO: Final = -math.inf
_NANOSECONDS: Final = 1_000_000_000


class BackoffQueue:
    """See the module's text."""

    def __init__(
        self, clock: Clock, sort_key: SortKey, *, initial_seconds: float = 1.0, max_seconds: float = 10.0
    ) -> None:
        self._clock = clock
        self._initial = round(initial_seconds * _NANOSECONDS)
        self._max = round(max_seconds * _NANOSECONDS)
        self._rejected = PodHeap(self._with_expiration(sort_key))
        self._broken = PodHeap(self.expiration)

    def _with_expiration(self, sort_key: SortKey) -> SortKey:
        return lambda info: (self.expiration(info), sort_key(info))

    def sort_by(self, sort_key: SortKey) -> None:
        """Pods whose backoffs end together are in another order from now on."""
        self._rejected.sort_by(self._with_expiration(sort_key))

    # --- time -------------------------------------------------------------------------------------

    def duration_seconds(self, n_failures: int) -> float:
        """The initial backoff, doubled with every failure after the first, at most the longest."""
        if n_failures == 0:
            return 0.0
        shift = n_failures - 1
        # Compared as upstream does, so that a longest backoff which is no power of two is met at the same count.
        nanoseconds = self._max if self._initial > self._max >> shift else self._initial << shift
        return nanoseconds / _NANOSECONDS

    def expiration(self, info: QueuedPodInfo) -> float:
        """The whole second in which the pod's backoff ends."""
        count = info.consecutive_errors_count or info.unschedulable_count
        if self._max == 0 or count == 0:
            return LONG_AGO
        if info.backoff_expiration is None:
            info.backoff_expiration = _window_of(info.timestamp + self.duration_seconds(count))
        return info.backoff_expiration

    def is_backing_off(self, info: QueuedPodInfo) -> bool:
        """Whether the pod must wait; it must until the second in which its backoff ends is over."""
        return self.expiration(info) >= _window_of(self._clock.now())

    def next_completion(self) -> float | None:
        """When the next pod has backed off; None if none is waiting."""
        first = [info for heap in self._heaps if (info := heap.peek()) is not None]
        return min((self.expiration(info) + WINDOW_SECONDS for info in first), default=None)

    # --- pods -------------------------------------------------------------------------------------

    @property
    def _heaps(self) -> tuple[PodHeap, PodHeap]:
        return self._rejected, self._broken

    @property
    def n_poppable(self) -> int:
        return len(self._rejected)

    def add(self, info: QueuedPodInfo) -> None:
        (self._rejected if info.rejectors else self._broken).add(info)

    def get(self, key: str) -> QueuedPodInfo | None:
        return self._rejected.get(key) or self._broken.get(key)

    def refresh(self, info: QueuedPodInfo) -> None:
        """The pod changed: put it where it belongs now."""
        for heap in self._heaps:
            if info.key in heap:
                heap.add(info)

    def remove(self, key: str) -> QueuedPodInfo | None:
        return self._rejected.remove(key) or self._broken.remove(key)

    def pop(self) -> QueuedPodInfo | None:
        """The first of the rejected pods, whether it has backed off or not."""
        return self._rejected.pop()

    def pop_completed(self) -> list[QueuedPodInfo]:
        """All pods that have backed off."""
        completed: list[QueuedPodInfo] = []
        for heap in self._heaps:
            while (first := heap.peek()) is not None and not self.is_backing_off(first):
                heap.pop()
                completed.append(first)
        return completed

    def __len__(self) -> int:
        return len(self._rejected) + len(self._broken)

    def __contains__(self, key: str) -> bool:
        return key in self._rejected or key in self._broken

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        for heap in self._heaps:
            yield from heap

    def problems(self) -> Iterator[str]:
        for heap in self._heaps:
            yield from heap.problems()


def _window_of(time: float) -> float:
    return math.floor(time / WINDOW_SECONDS) * WINDOW_SECONDS
