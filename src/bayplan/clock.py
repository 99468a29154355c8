"""The clock of a running scheduler. Tests and simulations bring their own."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Implements `framework.Clock` with the machine's time."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
