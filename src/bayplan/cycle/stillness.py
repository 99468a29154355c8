"""Stillness: while a decision waits for extenders, the cluster that it is made over does not change.

The snapshot is the cache's own columns. Cycles that do not wait are over before anything else runs, so for them
there is nothing to do here. For one that waits, changes from the watch are put off until it has decided, and so
are binds that came to their end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bayplan.observe import klog

log = klog.get_logger("bayplan.cycle")


class Stillness:
    """Kept by one decision at a time."""

    def __init__(self) -> None:
        #: Whether a decision waits.
        self.is_kept = False
        #: What happened meanwhile, in order.
        self._put_off: deque[Callable[[], None]] = deque()
        self._over = asyncio.Event()

    @contextmanager
    def kept(self) -> Iterator[None]:
        if self.is_kept:
            raise RuntimeError("a cycle began while another one waits for extenders")
        self.is_kept = True
        self._over.clear()
        try:
            yield
        finally:
            self.is_kept = False
            self._catch_up()
            self._over.set()

    def _catch_up(self) -> None:
        while self._put_off:
            try:
                self._put_off.popleft()()
            except Exception as error:
                # One change that cannot be taken in must not cost the ones after it.
                log.error(error, "A change that was put off broke", trace=error)

    def put_off(self, change: Callable[[], None]) -> None:
        """Do *change* when it is over."""
        self._put_off.append(change)

    async def over(self) -> None:
        """Until nobody waits; at once if nobody does."""
        while self.is_kept:
            await self._over.wait()
