"""Pace: work beside scheduling, a little at a time, so that pods do not wait for it.

What reads the scheduler's data runs in its loop, in slices. What works on a copy runs in a thread of its own, and
calls `breathe` wherever it may pause: Python runs one thread at a time, so the scheduler goes on in the pauses.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

#: Work runs at most this long at a time, as far as its steps are small enough.
SLICE_SECONDS: Final = 0.002
#: While pods wait to be tried, the scheduler has this much between two slices: four fifths of the time.
PAUSE_SECONDS: Final = 4 * SLICE_SECONDS


class AbandonedError(Exception):
    """Nobody waits for the result any more."""


class Pace:
    """See the module docstring."""

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        """*is_busy*: whether pods wait to be tried."""
        self._is_busy = is_busy
        self._slice_start = 0.0
        self._is_abandoned = False

    async def in_slices(self, steps: Iterator[None]) -> None:
        """Take all *steps*, and let everything else run in between."""
        start = time.perf_counter()
        for _ in steps:
            if time.perf_counter() - start > SLICE_SECONDS:
                await asyncio.sleep(self._pause())
                start = time.perf_counter()

    async def aside(self, work: Callable[[], T]) -> T:
        """The result of *work*, done in another thread; it ends early if the caller is cancelled."""
        self._is_abandoned = False
        self._slice_start = time.perf_counter()
        working = asyncio.get_running_loop().run_in_executor(None, work)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            self._is_abandoned = True
            await asyncio.wait((working,))  # what it works on may be used again then
            raise

    def breathe(self) -> None:
        """Called by work that is done aside, as often as it likes."""
        if self._is_abandoned:
            raise AbandonedError
        if time.perf_counter() - self._slice_start > SLICE_SECONDS:
            time.sleep(self._pause())
            self._slice_start = time.perf_counter()

    def _pause(self) -> float:
        return PAUSE_SECONDS if self._is_busy() else 0.0
