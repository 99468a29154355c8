"""The binding cycle's points: pre-flight, groups that run together, the first binder that does not skip."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

from bayplan.framework import (
    BindingRunner,
    BindPlan,
    Code,
    CycleState,
    PlacedPlugin,
    Plugin,
    PreBindPreFlight,
    ProfilePlugins,
    Status,
)
from bayplan.testing import make_pod

POD = make_pod("p")
pytestmark = pytest.mark.asyncio


class Volume(Plugin):
    name = "Volume"
    log: list[str]

    def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Any:
        return self.flight

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Status | None:
        self.log.append(f"{self.name} starts")
        await asyncio.sleep(0)
        self.log.append(f"{self.name} ends")
        return self.answer

    flight: Any = None
    answer: Status | None = None


def volume(name: str, log: list[str], flight: Any = None, answer: Status | None = None) -> Plugin:
    made: Plugin = type(name, (Volume,), {"name": name, "log": log, "flight": flight, "answer": answer})(
        None, None
    )
    return made


def runner(point: str, *plugins: Plugin) -> BindingRunner:
    return BindingRunner(ProfilePlugins("test", {point: [PlacedPlugin(each) for each in plugins]}))


async def together(running: Sequence[Awaitable[Status]]) -> Status:
    results = await asyncio.gather(*running)
    return next((status for status in results if not status.is_success), Status.success())


def planned(run: BindingRunner) -> BindPlan:
    plan = run.plan(CycleState(), POD, "a")
    assert isinstance(plan, BindPlan)
    return plan


async def test_parallel_neighbours_form_a_group() -> None:
    """Consecutive plugins that allow it run at the same time; the others one after another."""
    log: list[str] = []
    parallel = PreBindPreFlight(allow_parallel=True)
    run = runner("preBind", volume("A", log, parallel), volume("B", log, parallel), volume("C", log))
    plan = planned(run)
    assert [[bound.name for bound in group] for group in plan.groups] == [["A", "B"], ["C"]]
    assert (await run.pre_bind(plan, CycleState(), POD, "a", together)).is_success
    assert log == ["A starts", "B starts", "A ends", "B ends", "C starts", "C ends"]


async def test_skipped_plugins_do_not_run() -> None:
    """A plugin whose pre-flight says Skip has nothing to do."""
    log: list[str] = []
    plan = planned(runner("preBind", volume("A", log, Status.skip())))
    assert plan.is_empty


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Status.unschedulable("taken"), Status.unschedulable("taken")),
        (Status.failed("lost"), Status(Code.ERROR, ('running PreBind plugin "A": lost',))),
    ],
    ids=["rejected", "failed"],
)
async def test_first_failure_ends_pre_bind(answer: Status, expected: Status) -> None:
    """Later groups do not start."""
    log: list[str] = []
    run = runner("preBind", volume("A", log, answer=answer), volume("B", log))
    assert await run.pre_bind(planned(run), CycleState(), POD, "a", together) == expected
    assert log == ["A starts", "A ends"]


async def test_first_binder_that_does_not_skip_binds() -> None:
    """Bind plugins are called in order."""
    asked: list[str] = []

    def binder(name: str, answer: Status | None) -> Plugin:
        async def bind(self: Any, state: Any, pod: Any, node_name: str) -> Status | None:
            asked.append(name)
            return answer

        made: Plugin = type(name, (Plugin,), {"name": name, "bind": bind})(None, None)
        return made

    run = runner("bind", binder("A", Status.skip()), binder("B", None), binder("C", None))
    assert (await run.bind(CycleState(), POD, "a")).is_success
    assert asked == ["A", "B"]
    only = runner("bind", binder("A", Status.skip()))
    assert (await only.bind(CycleState(), POD, "a")).is_skip


async def test_binder_that_raises_is_an_error() -> None:
    """An exception costs this pod's attempt, and nothing else."""

    class Broken(Plugin):
        name = "Broken"

        async def bind(self, state: Any, pod: Any, node_name: str) -> None:
            raise ConnectionError("refused")

        async def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
            raise ConnectionError("refused")

    run = runner("bind", Broken(None, None))  # type: ignore[arg-type]
    status = await run.bind(CycleState(), POD, "a")
    assert status == Status(Code.ERROR, ('running Bind plugin "Broken": refused',))
    await runner("postBind", Broken(None, None)).post_bind(CycleState(), POD, "a")  # type: ignore[arg-type]
