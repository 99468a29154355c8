"""Virtual time for played clusters: a clock, and coroutines that sleep by it. No event loop."""

from __future__ import annotations

import itertools
from collections.abc import Coroutine, Generator
from heapq import heappop, heappush
from typing import Any, TypeAlias

#: Yields the time to wake up.
Task: TypeAlias = Coroutine[Any, Any, None]


class ReplayClock:
    """Implements `framework.Clock`. Sleeping hands control back, with the time to wake up."""

    def __init__(self, start: float) -> None:
        self.time = start

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        await _Sleep(self.time + seconds)


class _Sleep:
    def __init__(self, until: float) -> None:
        self._until = until

    def __await__(self) -> Generator[float, None, None]:
        yield self._until


class Tasks:
    """Coroutines that run at the same time; they await nothing but the clock."""

    def __init__(self, clock: ReplayClock) -> None:
        self._clock = clock
        self._numbers = itertools.count()
        #: When to resume, a number for the order among equals, and what.
        self._heap: list[tuple[float, int, Task]] = []

    def start(self, task: Task, delay: float = 0.0) -> None:
        self._at(self._clock.time + delay, task)

    def _at(self, time: float, task: Task) -> None:
        heappush(self._heap, (time, next(self._numbers), task))

    @property
    def next_due(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def resume_due(self) -> None:
        """Resume everything whose time has come."""
        while self._heap and self._heap[0][0] <= self._clock.time:
            _, _, task = heappop(self._heap)
            try:
                self._at(task.send(None), task)
            except StopIteration:
                continue

    def close(self) -> None:
        """Give up what has not ended."""
        for _, _, task in self._heap:
            task.close()
        self._heap.clear()
