"""Turns: what is done to one object is done one after the other, in the order of asking."""

from __future__ import annotations

import asyncio


class Turns:
    """A queue for each key that somebody waits for; keys that nobody uses cost nothing."""

    def __init__(self) -> None:
        #: Key → the turn of the one who asked last.
        self._last: dict[str, Turn] = {}

    def __len__(self) -> int:
        return len(self._last)

    def turn(self, key: str) -> Turn:
        """Enter (`async with`) when all who asked before are through, whatever became of them."""
        return Turn(self._last, key)


class Turn:
    """One turn. Most are alone, so there is a future only if somebody waits for its end."""

    __slots__ = ("_before", "_end", "_is_over", "_key", "_last")

    def __init__(self, last: dict[str, Turn], key: str) -> None:
        self._last = last
        self._key = key
        self._before: Turn | None = None
        self._is_over = False
        self._end: asyncio.Future[None] | None = None

    async def __aenter__(self) -> None:
        if not self.begin():
            await self.wait()

    async def __aexit__(self, *exception: object) -> None:
        self.end()

    # --- the same for who would rather not await what is there already ------------------------------------

    def begin(self) -> bool:
        """Whether nobody is before us; else it is to be waited for (`wait`)."""
        before = self._before = self._last.get(self._key)
        self._last[self._key] = self
        return before is None

    async def wait(self) -> None:
        before = self._before
        if before is not None:
            try:
                await asyncio.shield(before._ended())
            except asyncio.CancelledError:
                self.end()
                raise

    def end(self) -> None:
        before, self._before = self._before, None
        if before is None or before._is_over:
            self._finish()
        else:
            # We gave up waiting; the next one is not to get past those before us.
            before._ended().add_done_callback(lambda _: self._finish())

    def _finish(self) -> None:
        self._is_over = True
        if self._end is not None:
            self._end.set_result(None)
        if self._last.get(self._key) is self:
            del self._last[self._key]

    def _ended(self) -> asyncio.Future[None]:
        if self._end is None:
            self._end = asyncio.get_running_loop().create_future()
        return self._end
