"""Virtual time for simulations: an event loop that never waits, and the clock that goes with it.

When nothing is left to do at this instant, the loop's time jumps to the next timer. A day of a cluster takes as
long as its decisions take to compute. There are no sockets: the cluster must be in the same process. While a
thread works for the loop (`asyncio.to_thread`), time stands still.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: A fixed start, so that two runs have the same times.
START = 1_767_225_600.0


class DeadlockError(RuntimeError):
    """Every task waits for something that no timer will trigger."""


class _JumpingSelector(selectors.DefaultSelector):
    """Reports what is ready now; instead of waiting, it advances the time."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0
        #: Threads that work for the loop.
        self.n_threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0 if not self.n_threads or timeout == 0 else None)
        if not ready and timeout is None:
            raise DeadlockError("nothing is left to do and no timer is set")
        if not ready and timeout is not None and timeout > 0:
            self.time += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop with virtual time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.time

    def run_in_executor(  # type: ignore[override]  # the same for any function
        self, executor: Any, func: Any, *args: Any
    ) -> asyncio.Future[Any]:
        running = super().run_in_executor(executor, func, *args)
        self._jumping.n_threads += 1
        running.add_done_callback(self._thread_ended)
        return running

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Waits for threads, in the time of the machine."""
        self._jumping.n_threads += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._jumping.n_threads -= 1

    def _thread_ended(self, ended: asyncio.Future[Any]) -> None:
        self._jumping.n_threads -= 1


class LoopClock:
    """Implements `framework.Clock` with the time of the running event loop, virtual or not."""

    def __init__(self, start: float = START) -> None:
        self._start = start

    def now(self) -> float:
        return self._start + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run *main* to its end without waiting."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
