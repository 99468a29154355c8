"""Background work of plugins: started, supervised, stopped; and plugins that are closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bayplan.apiserver.virtual_time import LoopClock, run_in_virtual_time
from bayplan.core.background_work import BackgroundWork
from bayplan.framework import Plugin
from bayplan.shell.background_tasks import BackgroundTasks


class Closing(Plugin):
    name = "Closing"

    def __init__(self, close: Callable[[], Any]) -> None:
        setattr(self, "close", close)  # noqa: B010  the class is the test's, the method the case's


class Background:
    """Tasks that have begun, and what failed."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.tasks = BackgroundTasks(LoopClock(), lambda *failure: self.failures.append(f"{failure[1]}"))
        self.works: list[BackgroundWork] = []

    def spawn(self, work: Any, name: str = "") -> BackgroundWork:
        made = BackgroundWork("Rule", work, name)
        self.works.append(made)
        self.tasks.start(made)
        return made

    async def stop(self) -> None:
        await self.tasks.stop(self._cancel)

    def _cancel(self) -> None:
        for work in self.works:
            work.cancel()


def in_virtual_time(test: Callable[[Background], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        background = Background()
        background.tasks.begin()
        await test(background)
        await background.stop()

    run_in_virtual_time(run())


def test_a_failure_is_logged_with_plugin_and_name(caplog: pytest.LogCaptureFixture) -> None:
    """And affects nothing else."""
    ticks: list[int] = []

    async def fail() -> None:
        raise ValueError("no route")

    async def tick() -> None:
        while True:
            ticks.append(len(ticks))
            await asyncio.sleep(1)

    async def test(background: Background) -> None:
        failing = background.spawn(fail(), "poll prices")
        background.spawn(tick())
        await asyncio.sleep(10.5)
        assert failing.is_done
        assert background.failures == ["poll prices"]

    in_virtual_time(test)
    assert len(ticks) == 11
    assert "Background work failed: plugin=Rule work=poll prices" in caplog.text
    assert "no route" in caplog.text


def test_a_function_is_started_again() -> None:
    """After 1, 2, 4, … seconds, and at most a minute."""
    times: list[float] = []

    async def fail() -> None:
        times.append(asyncio.get_running_loop().time())
        raise SystemExit(1)

    async def test(background: Background) -> None:
        background.spawn(fail)
        await asyncio.sleep(200)

    in_virtual_time(test)
    assert [round(time) for time in times] == [0, 1, 3, 7, 15, 31, 63, 123, 183]


def test_work_is_cancelled_and_cleans_up() -> None:
    ended: list[str] = []

    async def hold(name: str) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(1)
            ended.append(name)

    async def test(background: Background) -> None:
        first = background.spawn(hold("first"))
        background.spawn(hold("second"))
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.sleep(2)
        assert (ended, first.is_done) == (["first"], True)

    in_virtual_time(test)
    assert ended == ["first", "second"]


def test_work_that_does_not_end_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """A stop does not wait for it forever."""

    async def cling() -> None:
        for _ in range(3):
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                continue

    async def test(background: Background) -> None:
        background.spawn(cling(), "cling")
        await asyncio.sleep(1)

    in_virtual_time(test)
    assert "Background work does not end when it is cancelled: plugin=Rule work=cling" in caplog.text


def test_what_is_spawned_early_starts_when_the_loop_does() -> None:
    """Plugins are made before."""
    done: list[bool] = []

    async def work() -> None:
        done.append(True)

    async def run() -> None:
        background = Background()
        background.spawn(work())
        background.spawn(work()).cancel()
        await asyncio.sleep(1)
        assert done == []
        background.tasks.begin()
        await asyncio.sleep(1)
        assert done == [True]
        await background.stop()

    run_in_virtual_time(run())


def test_a_plugin_is_closed_when_nobody_uses_it() -> None:
    closed: list[float] = []

    async def close() -> None:
        closed.append(asyncio.get_running_loop().time())

    async def test(background: Background) -> None:
        start = asyncio.get_running_loop().time()
        background.tasks.close_plugin(Closing(close), lambda: asyncio.get_running_loop().time() < start + 4.5)
        await asyncio.sleep(10)
        assert [time - start for time in closed] == [5]

    in_virtual_time(test)


def test_a_close_that_fails_or_hangs_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("still in use")

    async def hang() -> None:
        await asyncio.sleep(3600)

    async def test(background: Background) -> None:
        background.tasks.close_plugin(Closing(fail), lambda: False)
        background.tasks.close_plugin(Closing(hang), lambda: False)
        await asyncio.sleep(6)
        assert background.failures == ["close", "close"]

    in_virtual_time(test)
    assert caplog.text.count("Plugin could not be closed") >= 2
    assert "still in use" in caplog.text
