"""Virtual time for replays: a clock, coroutines that sleep by it, timers and futures. No event loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from heapq import heappop, heappush
from typing import Any, TypeAlias

#: Yields the time to wake up, or the future it waits for.
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


class VirtualFuture:
    """The part of `asyncio.Future` that a waiting pod needs: whoever awaits it goes on when it has a result."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._result: Any = None
        self._is_done = False
        #: Those who wait.
        self.waiting: list[Task] = []

    def done(self) -> bool:
        return self._is_done

    def set_result(self, result: Any, /) -> None:
        self._result, self._is_done = result, True
        for task in self.waiting:
            self._tasks.start(task, self._tasks.lag())
        self.waiting.clear()

    def cancel(self) -> None:
        """Nobody will go on: `Tasks.close` ends those who wait."""
        self._is_done = True

    def __await__(self) -> Generator[VirtualFuture, None, Any]:
        if not self._is_done:
            yield self
        return self._result


class VirtualTimer:
    """Something to be called at a time."""

    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._call: Callable[[], object] | None = partial(callback, *args)

    def cancel(self) -> None:
        self._call = None

    def __call__(self) -> None:
        if self._call is not None:
            self._call()


class Tasks:
    """Coroutines and timers that go on at the same time; they await nothing but the clock and virtual futures."""

    def __init__(self, clock: ReplayClock, lag: Callable[[], float] = lambda: 0.0) -> None:
        self._clock = clock
        #: How long it takes until one who waited for a future goes on.
        self.lag = lag
        self._numbers = itertools.count()
        #: When to go on, a number for the order among equals, and with what.
        self._heap: list[tuple[float, int, Task | VirtualTimer]] = []
        self._futures: list[VirtualFuture] = []

    def start(self, task: Task, delay: float = 0.0) -> None:
        self._at(self._clock.time + delay, task)

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: Any) -> VirtualTimer:
        timer = VirtualTimer(callback, args)
        self._at(self._clock.time + delay, timer)
        return timer

    def create_future(self) -> VirtualFuture:
        future = VirtualFuture(self)
        self._futures = [each for each in self._futures if each.waiting]
        self._futures.append(future)
        return future

    def _at(self, time: float, due: Task | VirtualTimer) -> None:
        heappush(self._heap, (time, next(self._numbers), due))

    @property
    def next_due(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def resume_due(self) -> None:
        """Go on with everything whose time has come."""
        while self._heap and self._heap[0][0] <= self._clock.time:
            _, _, due = heappop(self._heap)
            if isinstance(due, VirtualTimer):
                due()
            else:
                self._resume(due)

    def _resume(self, task: Task) -> None:
        try:
            awaited = task.send(None)
        except StopIteration:
            return
        if isinstance(awaited, VirtualFuture):
            awaited.waiting.append(task)
        else:
            self._at(awaited, task)

    def close(self) -> None:
        """Give up what has not come to its end."""
        for future in self._futures:
            for task in future.waiting:
                task.close()
        for _, _, due in self._heap:
            if not isinstance(due, VirtualTimer):
                due.close()
        self._futures.clear()
        self._heap.clear()
