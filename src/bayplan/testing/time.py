"""A clock for tests that only moves when it is told to."""

from __future__ import annotations


class VirtualClock:
    """Implements `framework.Clock`; sleeping advances it immediately."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
