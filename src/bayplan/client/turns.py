"""Turns: what is done to one object is done one after the other, in the order of asking."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """A queue for each key that somebody waits for; keys that nobody uses cost nothing."""

    def __init__(self) -> None:
        #: Key → when the one who asked last is through.
        self._last: dict[str, asyncio.Future[None]] = {}

    def __len__(self) -> int:
        return len(self._last)

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Enter when all who asked before are through, whatever became of them."""
        before = self._last.get(key)
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._last[key] = mine
        try:
            if before is not None:
                await asyncio.shield(before)
            yield
        finally:
            if before is None or before.done():
                self._end(key, mine)
            else:
                # We gave up waiting; the next one is not to get past those before us.
                before.add_done_callback(lambda _: self._end(key, mine))

    def _end(self, key: str, mine: asyncio.Future[None]) -> None:
        mine.set_result(None)
        if self._last.get(key) is mine:
            del self._last[key]
