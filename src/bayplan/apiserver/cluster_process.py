"""A cluster as a process: the scheduler in the main thread, everything else in another.

A plugin that sleeps or does not return holds up the scheduler. The API server goes on answering, and signals end
the process all the same; `docs/decisions/0031-a-plugin-that-does-not-return.md` has the reasons.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

from bayplan.apiserver.cluster import Cluster
from bayplan.apiserver.transport.local_transport import LocalTransport
from bayplan.apiserver.transport.thread_transport import Mailbox, ThreadTransport
from bayplan.client import KubeClient
from bayplan.process.background_loop import BackgroundLoop
from bayplan.process.stop_signals import StopSignals
from bayplan.process.watchdog import StallActions, Watchdog

#: A process that is ended by force waits no longer than this until the objects are on disk.
_CLOSE_SECONDS: Final = 3.0


class ClusterProcess:
    """Runs a cluster, made by *make* without a scheduler of its own, until a signal."""

    def __init__(
        self, make: Callable[[], Cluster], *, schedules: bool = True, plugin_timeout: float | None = None
    ) -> None:
        self._make = make
        self._schedules = schedules
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._background = BackgroundLoop("cluster")
        self._cluster: Cluster | None = None
        actions = StallActions(before_exit=self._close_by_force)
        self._watchdog = Watchdog(self._loop, actions, plugin_timeout=plugin_timeout)

    async def run(
        self,
        started: Callable[[Cluster], None],
        show: Callable[[Cluster, asyncio.Event], Coroutine[Any, Any, None]],
    ) -> None:
        """*started* is called once, *show* shows what happens until its event is set; it runs beside the API
        server."""
        self._watchdog.start()
        try:
            with StopSignals(self._ask_to_stop):
                cluster = await self._background.run(self._start())
                try:
                    started(cluster)
                    await self._run_and_show(cluster, show)
                finally:
                    await self._background.run(cluster.__aexit__(None, None, None))
        finally:
            self._watchdog.stop()
            self._background.close()

    def _ask_to_stop(self) -> None:
        if self._cluster is not None and self._cluster.scheduler is not None:
            self._cluster.scheduler.ask_to_stop()
        self._watchdog.stop_asked()
        self._loop.call_soon_threadsafe(self._stop.set)

    async def _start(self) -> Cluster:
        """In the other thread."""
        self._cluster = self._make()
        return await self._cluster.__aenter__()

    async def _run_and_show(
        self, cluster: Cluster, show: Callable[[Cluster, asyncio.Event], Coroutine[Any, Any, None]]
    ) -> None:
        is_over = asyncio.Event()
        showing = self._background.start(show(cluster, is_over))
        try:
            if self._schedules:
                await self._schedule(cluster)
            await self._stop.wait()
        finally:
            self._background.call(is_over.set)
            await asyncio.wrap_future(showing)

    async def _schedule(self, cluster: Cluster) -> None:
        home, here = Mailbox(self._background.loop), Mailbox(self._loop)
        transport = ThreadTransport(LocalTransport(cluster.api_server), home, here)
        scheduling = await cluster.synced_scheduler(KubeClient(transport, cluster.clock), self._stop)
        try:
            await scheduling
        finally:
            if cluster.scheduler is not None:
                await cluster.scheduler.close()

    def _close_by_force(self) -> None:
        """In the watchdog's thread."""
        if self._cluster is not None:
            closing = self._background.start(self._cluster.__aexit__(None, None, None))
            with contextlib.suppress(Exception, concurrent.futures.CancelledError):
                closing.result(_CLOSE_SECONDS)
