"""Work beside scheduling: it pauses while pods wait, and ends when nobody waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from bayplan.process import pace
from bayplan.process.pace import AbandonedError, Pace

pytestmark = pytest.mark.asyncio


class Naps:
    """Stands for the clocks of the module: every look at the time takes a millisecond."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.taken: list[float] = []
        monkeypatch.setattr("bayplan.process.pace.time.perf_counter", self._look)
        monkeypatch.setattr("bayplan.process.pace.time.sleep", self.taken.append)

        async def sleep(seconds: float) -> None:
            self.taken.append(seconds)

        monkeypatch.setattr("bayplan.process.pace.asyncio.sleep", sleep)

    def _look(self) -> float:
        self.now += 0.001
        return self.now


@pytest.mark.parametrize(
    ("is_busy", "pause"),
    [
        pytest.param(True, pace.PAUSE_SECONDS, id="pods wait to be tried"),
        pytest.param(False, 0.0, id="none waits"),
    ],
)
async def test_slices_leave_the_scheduler_its_time(
    is_busy: bool, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine steps of a millisecond are three slices and a rest."""
    naps = Naps(monkeypatch)

    await Pace(lambda: is_busy).in_slices(iter([None] * 9))

    assert naps.taken == [pause] * 3


async def test_work_aside_breathes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In another thread, as often as a slice is over."""
    its_pace, main = Pace(lambda: True), threading.get_ident()
    naps = Naps(monkeypatch)

    def work() -> int:
        for _ in range(9):
            its_pace.breathe()
        return threading.get_ident()

    assert await its_pace.aside(work) != main
    assert naps.taken == [pace.PAUSE_SECONDS] * 3


async def test_abandoned_work_ends() -> None:
    """What it used is free when the cancelled caller goes on."""
    its_pace, started, ended = Pace(lambda: False), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        try:
            while True:
                its_pace.breathe()
        except AbandonedError:
            ended.set()
            raise

    asking = asyncio.create_task(its_pace.aside(work))
    await asyncio.to_thread(started.wait)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert ended.is_set()
    assert await its_pace.aside(lambda: "again") == "again"


async def test_an_error_in_a_step_ends_the_work() -> None:
    def steps() -> Iterator[None]:
        yield
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await Pace(lambda: True).in_slices(steps())
