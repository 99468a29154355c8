"""The background work of plugins in a harness: on an event loop of its own, in the harness's time."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Final

from bayplan.apiserver.virtual_time import VirtualTimeLoop
from bayplan.shell.background_tasks import BackgroundTasks
from bayplan.testing.time import VirtualClock

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore

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
        self._runner: asyncio.Runner | None = None

    def _failed(self, plugin: str, work: str, error: BaseException) -> None:
        self.failures.append(f"{plugin} {work}: {type(error).__name__}: {error}")

    def run(self, seconds: float) -> None:
        """Let *seconds* go by."""
        if self._runner is None and self.tasks.is_idle:
            self.clock.advance(seconds)
        else:
            self._loop().run(self._run(seconds))

    async def _run(self, seconds: float) -> None:
        self.tasks.begin()
        await asyncio.sleep(max(seconds, _MOMENT))

    def _loop(self) -> asyncio.Runner:
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
            self.clock.loop = self._runner.get_loop()
        return self._runner

    def close(self, core: SchedulerCore) -> None:
        """End all of it; plugins are closed."""
        if self._runner is None and not _has_async_close(core):
            core.close()
            return
        runner = self._loop()
        try:
            runner.run(self.tasks.stop(core.close))
        finally:
            self.clock.advance(runner.get_loop().time())
            self.clock.loop = None
            runner.close()


def _has_async_close(core: SchedulerCore) -> bool:
    plugins = (plugin for profile in core.profiles.values() for plugin in profile.plugins.plugins.values())
    return any(inspect.iscoroutinefunction(getattr(plugin, "close", None)) for plugin in plugins)
