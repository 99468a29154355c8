"""BackgroundTasks: runs what plugins spawn beside the scheduling, and closes plugins that are no longer used.

Every piece of work is supervised: a failure is logged with the plugin's name and counts for nothing else, and work
that can be started again is, after a delay. Nothing outlives `stop`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from bayplan.framework.calls import CONTAINED_IN_TASKS, contain
from bayplan.framework.plugin import defines

if TYPE_CHECKING:
    from bayplan.core.background_work import BackgroundWork
    from bayplan.framework import Clock, Plugin

logger = logging.getLogger("bayplan.background")

#: After a failure; twice as much after each further one.
FIRST_RETRY_SECONDS: Final = 1.0
MOST_RETRY_SECONDS: Final = 60.0
#: How long a plugin's `close`, and the end of cancelled work, may take.
CLOSE_SECONDS: Final = 5.0
#: How often to look whether pods are still on their way with a plugin that was replaced.
_IN_USE_SECONDS: Final = 1.0


class BackgroundTasks:
    """Implements `core.BackgroundRunner`; to be used in the thread of one event loop."""

    def __init__(self, clock: Clock, on_failure: Callable[[str, str, BaseException], None] | None = None) -> None:
        """*on_failure* is told the plugin, what failed and how, besides the log."""
        self._clock = clock
        self._on_failure = on_failure
        #: What was spawned before `begin`.
        self._early: list[BackgroundWork] | None = []
        self._running: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs or is to be started."""
        return not (self._early or self._running or self._closing)

    def begin(self) -> None:
        """Start what has been spawned; from now on work starts at once. Plugins are made before a loop runs."""
        early, self._early = self._early or [], None
        for work in early:
            if not work.is_done:
                self._start(work)

    def start(self, work: BackgroundWork) -> None:
        if self._early is not None:
            self._early.append(work)
        else:
            self._start(work)

    def _start(self, work: BackgroundWork) -> None:
        task = self._keep(self._running, self._supervise(work), f"plugin={work.plugin_name} work={work.name}")
        work.started(task.cancel)

    async def _supervise(self, work: BackgroundWork) -> None:
        delay = FIRST_RETRY_SECONDS
        try:
            while True:
                try:
                    await work.coroutine()
                    return
                except CONTAINED_IN_TASKS as error:
                    again = f"; starting it again in {delay:g}s" if work.is_restarted else ""
                    self._failed(f"Background work failed{again}", work.plugin_name, work.name, error)
                if not work.is_restarted:
                    return
                await self._clock.sleep(delay)
                delay = min(delay * 2, MOST_RETRY_SECONDS)
        finally:
            work.is_done = True

    def _failed(self, what: str, plugin: str, name: str, error: BaseException) -> None:
        logger.error("%s: plugin=%s work=%s", what, plugin, name, exc_info=error)
        if self._on_failure is not None:
            self._on_failure(plugin, name, error)

    def _keep(
        self, where: set[asyncio.Task[None]], running: Coroutine[Any, Any, None], name: str
    ) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(running, name=name)
        where.add(task)
        task.add_done_callback(where.discard)
        return task

    # --- closing ------------------------------------------------------------------------------------------

    def close_plugin(self, plugin: Plugin, is_in_use: Callable[[], bool]) -> None:
        if not defines(plugin, "close"):
            return
        close = plugin.close
        if self._early is not None:
            self._early = [work for work in self._early if not work.is_done]
            self._close_plainly(plugin, close)
        else:
            self._keep(self._closing, self._close(plugin, close, is_in_use), f"plugin={plugin.name} work=close")

    def _close_plainly(self, plugin: Plugin, close: Callable[[], Any]) -> None:
        """Before a loop runs: what is async has nothing to give back yet."""
        if not inspect.iscoroutinefunction(close):
            try:
                close()
            except BaseException as error:
                contain(error)
                self._failed("Plugin could not be closed", plugin.name, "close", error)

    async def _close(self, plugin: Plugin, close: Callable[[], Any], is_in_use: Callable[[], bool]) -> None:
        while is_in_use():
            await self._clock.sleep(_IN_USE_SECONDS)
        try:
            result = close()
            if inspect.isawaitable(result):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await result
        except CONTAINED_IN_TASKS as error:
            self._failed("Plugin could not be closed", plugin.name, "close", error)

    async def stop(self, close: Callable[[], None]) -> None:
        """Wait until all work has ended and all plugins are closed; *close*, of the core, tells them to."""
        early, self._early = self._early or [], None
        for work in early:
            work.cancel()
        running = set(self._running)
        close()
        await self._end(running | self._running)
        closing = set(self._closing)
        if closing:
            await asyncio.wait(closing, timeout=2 * CLOSE_SECONDS)
        await self._end(closing)

    async def _end(self, tasks: set[asyncio.Task[None]]) -> None:
        left = {task for task in tasks if not task.done()}
        for task in left:
            task.cancel()
        if left:
            _, stubborn = await asyncio.wait(left, timeout=CLOSE_SECONDS)
            for task in stubborn:
                logger.error("Background work does not end when it is cancelled: %s", task.get_name())
