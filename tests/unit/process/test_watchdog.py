"""The watchdog: what it does about a plugin that does not return, and when."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import pytest

from bayplan.framework import Plugin
from bayplan.process.watchdog import (
    FIRST_LOG_SECONDS,
    NOT_READY_SECONDS,
    STEP_DOWN_SECONDS,
    STOP_SECONDS,
    StallActions,
    Watchdog,
)
from bayplan.testing import Harness, make_node, make_pod


class StuckLoop:
    """An event loop that gives no sign of life until it is told to."""

    def __init__(self) -> None:
        self._asked: list[Callable[[], None]] = []

    def call_soon_threadsafe(self, callback: Callable[[], None]) -> None:
        self._asked.append(callback)

    def go_on(self) -> None:
        while self._asked:
            self._asked.pop()()


class Scene:
    """A watchdog over this thread, with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.loop = StuckLoop()
        self.done: list[str] = []
        actions = StallActions(
            count=lambda plugin, point: self.done.append(f"counted {plugin} {point}"),
            step_down=lambda reason: self.done.append(f"stepped down: {reason}"),
            before_exit=lambda: self.done.append("released"),
            exit=lambda status: self.done.append(f"exit {status}"),
        )
        loop = cast("asyncio.AbstractEventLoop", self.loop)
        self.watchdog = Watchdog(loop, actions, monotonic=lambda: self.now)

    def look_at(self, seconds: float) -> None:
        self.now = seconds
        self.watchdog.look()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def stuck_in_filter(meanwhile: Callable[[], None]) -> None:
    """Call *meanwhile* from within the Filter of the plugin `Stuck`."""

    class Stuck(Plugin):
        name = "Stuck"

        def filter(self, state: Any, pod: Any, node: Any) -> None:
            meanwhile()

    Harness(nodes=[make_node("a")], plugins=[Stuck]).decide(make_pod("p"))


def test_a_stall_is_logged_again_and_again(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """After a second, after twice as long, and so on; then once a minute. It counts as one."""

    def meanwhile() -> None:
        for tenth in range(2500):
            scene.look_at(tenth / 10)

    stuck_in_filter(meanwhile)
    lines = [record.getMessage() for record in caplog.records if "has not returned" in record.getMessage()]
    logged = [float(found.group(1)) for line in lines if (found := re.search(r"seconds=([\d.]+);", line))]
    assert logged == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 124.0, 184.0, 244.0]
    assert "plugin=Stuck point=Filter pod=default/p" in lines[0]
    assert "in meanwhile" in lines[0]
    assert [each for each in scene.done if each.startswith("counted")] == ["counted Stuck Filter"]


def test_a_loop_that_answers_is_left_alone(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    for second in range(100):
        scene.look_at(second)
        scene.loop.go_on()
    assert scene.done == []
    assert caplog.records == []


def test_what_is_stuck_without_a_plugin_is_shown_all_the_same(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    for second in (0.0, FIRST_LOG_SECONDS):
        scene.look_at(second)
    assert scene.done == ["counted  "]
    assert "Something holds up the scheduler: seconds=1.0" in caplog.text


def test_the_scheduler_is_not_ready_while_it_is_stuck(scene: Scene) -> None:
    def meanwhile() -> None:
        scene.look_at(0.0)
        scene.look_at(NOT_READY_SECONDS - 0.1)
        assert scene.watchdog.why_not_ready() is None
        scene.look_at(NOT_READY_SECONDS)
        why = scene.watchdog.why_not_ready()
        assert why == "no decision for 10s: plugin=Stuck point=Filter pod=default/p has not returned"
        scene.loop.go_on()
        assert scene.watchdog.why_not_ready() is None

    stuck_in_filter(meanwhile)


def test_a_leader_steps_down_once_with_the_reason(scene: Scene) -> None:
    def meanwhile() -> None:
        for second in (0.0, STEP_DOWN_SECONDS - 1, STEP_DOWN_SECONDS, STEP_DOWN_SECONDS + 1):
            scene.look_at(second)

    stuck_in_filter(meanwhile)
    reason = "no decision for 30s: plugin=Stuck point=Filter pod=default/p has not returned"
    assert scene.done[1:] == [f"stepped down: {reason}"]


def test_a_stop_waits_a_little_and_no_longer(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """Counted from the signal, and only if the scheduler does not come back."""

    def meanwhile() -> None:
        scene.look_at(0.0)
        scene.look_at(20.0)
        scene.watchdog.stop_asked()
        scene.look_at(20.0 + STOP_SECONDS - 0.1)
        assert "exit 1" not in scene.done
        scene.look_at(20.0 + STOP_SECONDS)

    stuck_in_filter(meanwhile)
    assert scene.done[-2:] == ["released", "exit 1"]
    assert "which does not stop by itself: plugin=Stuck point=Filter pod=default/p" in caplog.text


def test_a_stop_that_takes_long_is_not_cut_short(scene: Scene) -> None:
    """Binds are finished, however long that takes: the loop goes on meanwhile."""
    scene.watchdog.stop_asked()
    for second in range(100):
        scene.look_at(second)
        scene.loop.go_on()
    assert scene.done == []


# --- the limit of a call --------------------------------------------------------------------------


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """With a watchdog in a thread of its own, over a loop that is busy for ever."""
    watchdog = Watchdog(cast("asyncio.AbstractEventLoop", StuckLoop()), plugin_timeout=seconds)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.stop()


def loop_for_ever() -> None:
    while True:
        pass


def sleep_for_long() -> None:
    time.sleep(600)


def swallow() -> None:
    while True:
        with suppress(Exception):
            time.sleep(600)


@pytest.mark.parametrize("misbehave", [loop_for_ever, sleep_for_long, swallow])
@pytest.mark.parametrize("method", ["pre_filter", "filter", "filter_nodes", "score"])
def test_a_call_that_takes_too_long_fails(method: str, misbehave: Callable[[], None]) -> None:
    """The attempt ends with an error that names the plugin; the next one is not affected."""

    def asked(self: Any, state: Any, pod: Any, rest: Any) -> Any:
        if pod.name == "p":
            misbehave()
        if method == "filter_nodes":
            return rest.accept_all()
        return 0 if method == "score" else None

    slow = type("Slow", (Plugin,), {"name": "Slow", method: asked})
    harness = Harness(nodes=[make_node("a"), make_node("b")], plugins=[slow])
    with limited(0.05):
        decision = harness.decide(make_pod("p"))
    assert decision.reason == "SchedulerError"
    assert "Slow" in decision.message
    assert "the plugin took longer than 0.05s (--plugin-timeout)" in decision.message
    assert harness.decide(make_pod("other")).node_name
