"""BackgroundLoop: an event loop in a thread of its own, for what must go on whatever plugins do."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from bayplan.process.event_loops import new_event_loop

T = TypeVar("T")

#: How long `close` waits for the thread.
_JOIN_SECONDS: Final = 5.0


class BackgroundLoop:
    """Runs from its creation until `close`. The thread does not keep the process from ending."""

    def __init__(self, name: str) -> None:
        self.loop: Final = new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        # What is left is cancelled, and sees it.
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()

    def start(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run *work* there; can be called from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* there, and wait for it here."""
        return await asyncio.wrap_future(self.start(work))

    def call(self, function: Callable[[], object]) -> None:
        """Call *function* there, soon."""
        self.loop.call_soon_threadsafe(function)

    def close(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(_JOIN_SECONDS)
