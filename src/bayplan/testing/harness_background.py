"""The background work of plugins in a harness: on an event loop of its own, in the harness's time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from bayplan.apiserver.virtual_time import VirtualTimeLoop
from bayplan.framework.plugin import defines
from bayplan.shell.background_tasks import BackgroundTasks
from bayplan.testing.time import VirtualClock

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore
    from bayplan.framework import Plugin

#: The least time that can go by: what can go on without waiting has gone on when it is over.
_MOMENT: Final = 0.001


class HarnessClock(VirtualClock):
    """A virtual clock whose sleepers wait until the harness lets time go by."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None

    def now(self) -> float:
        return super().now() + (self.loop.time() if self.loop is not None else 0.0)

    def monotonic(self) -> float:
        return self.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class HarnessBackground:
    """Runs background work while the harness waits."""

    def __init__(self) -> None:
        self.clock = HarnessClock()
        self.failures: list[str] = []
        self.tasks = BackgroundTasks(self.clock, self._failed)
        #: Made when it is first needed: most plugins have no background work.
        self._loop: VirtualTimeLoop | None = None

    def _failed(self, plugin: str, work: str, error: BaseException) -> None:
        self.failures.append(f"{plugin} {work}: {type(error).__name__}: {error}")

    def run(self, seconds: float) -> None:
        """Let *seconds* go by."""
        if self._loop is None and self.tasks.is_idle:
            self.clock.advance(seconds)
        else:
            self._run(self._wait(seconds))

    async def _wait(self, seconds: float) -> None:
        self.tasks.begin()
        await asyncio.sleep(max(seconds, _MOMENT))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """On our own loop. Where another one is running, as in an async test, in a thread of its own."""
        if self._loop is None:
            self.clock.loop = self._loop = VirtualTimeLoop()
        if asyncio._get_running_loop() is None:
            self._loop.run_until_complete(work)
        else:
            with ThreadPoolExecutor(1) as thread:
                thread.submit(self._loop.run_until_complete, work).result()

    def forget(self, core: SchedulerCore) -> None:
        """Nobody holds the harness any more: end what has to be ended. Somebody may still hold the core."""
        if self._loop is not None or _closing_plugins(core):
            self.close(core)

    def close(self, core: SchedulerCore) -> None:
        """End all of it; plugins are closed."""
        if self._loop is None and not any(
            inspect.iscoroutinefunction(each.close) for each in _closing_plugins(core)
        ):
            core.close()
            return
        self._run(self._stop(core))
        loop, self._loop, self.clock.loop = self._loop, None, None
        if loop is not None:
            self.clock.advance(loop.time())
            loop.close()

    async def _stop(self, core: SchedulerCore) -> None:
        await self.tasks.stop(core.close)
        await asyncio.get_running_loop().shutdown_default_executor()


def _closing_plugins(core: SchedulerCore) -> list[Plugin[Any]]:
    plugins = (plugin for profile in core.profiles.values() for plugin in profile.plugins.plugins.values())
    return [plugin for plugin in plugins if defines(plugin, "close")]
