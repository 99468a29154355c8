"""MemoryRelease: gives memory back to the system after many connections have closed.

A connection has a quarter of a megabyte of buffers. The C library keeps what was freed for later, so that a server
that had 2,000 watches once would stay that large.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Callable
from typing import Final

#: Fewer are not worth the work.
MANY_CONNECTIONS: Final = 100
#: Connections that close together are waited for.
QUIET_SECONDS: Final = 1.0


class MemoryRelease:
    """Counts connections that close; *release* is called once many have, and no more do."""

    def __init__(self, release: Callable[[], None] | None = None) -> None:
        self._release = release if release is not None else _return_free_memory
        self._n_closed = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_closed(self) -> None:
        self._n_closed += 1
        if self._n_closed >= MANY_CONNECTIONS:
            self.cancel()
            self._timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._due)

    def _due(self) -> None:
        self._n_closed, self._timer = 0, None
        self._release()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _return_free_memory() -> None:
    gc.collect()  # A closed connection and its protocol may refer to each other.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
    if trim is not None:
        trim(0)
