"""Bayplan inside the test's own process, so that a test can look at its cache and its queue.

It runs in a thread with an event loop of its own, built of the same parts as `bayplan run`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from bayplan import config
from bayplan.client import EventBroadcaster, HttpTransport, KubeClient, event_client, load_access
from bayplan.clock import SystemClock
from bayplan.scheduler import default_registry
from bayplan.shell.service import SchedulerService

T = TypeVar("T")
START_SECONDS = 120.0


class InProcess:
    """A running scheduler; leaving the block stops it as SIGTERM would."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._thread = threading.Thread(target=self._run, name="bayplan")
        self._started: Future[SchedulerService] = Future()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self.broadcaster: EventBroadcaster
        #: What ended it before it was asked to, if anything did.
        self.error: BaseException | None = None

    def __enter__(self) -> InProcess:
        self._thread.start()
        self._service = self._started.result(START_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def ask(self, question: Callable[[SchedulerService], T]) -> T:
        """The answer, found between two turns of the loop: nothing changes meanwhile."""
        assert self.error is None, self.error

        async def answer() -> T:
            return question(self._service)

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(60)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self.error = error
            if not self._started.done():
                self._started.set_exception(error)

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        clock, registry = SystemClock(), default_registry()
        transport = HttpTransport(load_access(str(self._kubeconfig)), clock)
        client, events = KubeClient(transport, clock), event_client(transport, clock)
        self.broadcaster = broadcaster = EventBroadcaster(events, clock)
        service = SchedulerService(config.default(registry), registry, client, broadcaster, clock=clock)
        try:
            await service.sync()
            self._started.set_result(service)
            await service.schedule(self._stop)
        finally:
            await service.close()
            await events.close()
            await client.close()
