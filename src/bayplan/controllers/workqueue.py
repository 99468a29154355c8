"""WorkQueue: keys to reconcile, each queued once, with exponential backoff after failures."""

from __future__ import annotations

import asyncio
from typing import Final

#: client-go's default: 5 ms, doubled with each failure.
FIRST_SECONDS: Final = 0.005
MAX_SECONDS: Final = 60.0
#: A change of one of many pods is reconciled together with those of the next moment: this long for each of them.
#: Otherwise 10,000 pods that become ready one by one are looked at 10,000 times.
COALESCE_SECONDS: Final = 0.00005
#: With fewer pods than this, every change is reconciled at once.
FEW_PODS: Final = 50


class WorkQueue:
    """For one worker; a key that is added while it is processed is queued again afterwards."""

    def __init__(self) -> None:
        self._waiting: dict[str, None] = {}
        self._working: set[str] = set()
        self._again: set[str] = set()
        self._failures: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ready = asyncio.Event()

    def add(self, key: str) -> None:
        if key in self._working:
            self._again.add(key)
        else:
            self._waiting[key] = None
            self._ready.set()

    def add_after(self, key: str, seconds: float) -> None:
        """Add *key* later; the earliest requested time counts."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        known = self._timers.get(key)
        if known is not None and known.when() <= due:
            return
        if known is not None:
            known.cancel()
        self._timers[key] = loop.call_at(due, self._due, key)

    def add_for_one_of(self, key: str, n_pods: int) -> None:
        """Add *key* because one of its *n_pods* pods has changed: at once if they are few."""
        if n_pods < FEW_PODS:
            self.add(key)
        else:
            self.add_after(key, n_pods * COALESCE_SECONDS)

    def _due(self, key: str) -> None:
        del self._timers[key]
        self.add(key)

    async def take(self) -> str:
        while not self._waiting:
            self._ready.clear()
            await self._ready.wait()
        key = next(iter(self._waiting))
        del self._waiting[key]
        self._working.add(key)
        return key

    def done(self, key: str) -> None:
        """*key* was processed successfully."""
        self._failures.pop(key, None)
        self._finish(key)

    def failed(self, key: str) -> None:
        """Retry *key* with a longer delay than last time."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._finish(key)
        self.add_after(key, min(FIRST_SECONDS * 2**failures, MAX_SECONDS))

    def _finish(self, key: str) -> None:
        self._working.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
