"""The binding cycle: PreBind, Bind, PostBind, and what the core is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.core.driver import Driver, told
from tests.unit.core.extenders import FakeExtender

from bayplan.core.messages import BindingFailed, Input, PodBound
from bayplan.framework import Status
from bayplan.framework.extenders import Extender, ExtenderError, FilterResponse
from bayplan.model import Pod
from bayplan.shell.binding_cycle import BindingCycle, bind_by_extender, first_failure
from bayplan.testing import make_pod

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

POD = make_pod("p", cpu="1", metadata={"uid": "u"})
OOPS = ExtenderError("oops")


def answers(point: str, status: Status) -> dict[str, Any]:
    return {point: status}


class Way:
    """A core with the Gate plugin, and a binding cycle over it."""

    def __init__(self, *extenders: Extender, fails_to_announce: bool = False, **answers: Any) -> None:
        self.driver = Driver(**answers)
        self.results: list[Input] = []
        self.announced: list[str] = []
        self._fails_to_announce = fails_to_announce
        self._cycle = BindingCycle(self._handle, self._write_nomination, extenders)

    def _handle(self, event: Input) -> None:
        self.driver.log.append(type(event).__name__)
        self.results.append(event)
        self.driver.core.handle(event)

    async def _write_nomination(self, pod: Pod, node_name: str) -> None:
        if self._fails_to_announce:
            raise ConnectionError("refused")
        self.announced.append(node_name)

    async def bind(self) -> Input:
        await self._cycle.run(self.driver.start_binding(POD))
        (result,) = self.results
        return result


async def test_a_pod_is_bound_step_by_step() -> None:
    """Reserve, permit, pre-flight, prebind, bind, post bind; the event says where the pod went."""
    way = Way()
    assert isinstance(await way.bind(), PodBound)
    steps = ["reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind", "PodBound", "post_bind"]
    assert way.driver.log == steps
    assert told(list(way.driver.core.take_instructions())) == [
        ("Scheduled", "Successfully assigned default/p to a")
    ]
    assert way.announced == ["a"]


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("pre_bind", 'running PreBind plugin "Gate": disk is gone'),
        ("bind", 'running Bind plugin "Gate": disk is gone'),
    ],
)
async def test_a_failed_preparation_is_a_scheduler_error(point: str, message: str) -> None:
    """What fails after Permit is no verdict about the pod."""
    result = await Way(**answers(point, Status.failed("disk is gone"))).bind()
    assert isinstance(result, BindingFailed)
    assert (result.status.message, result.status.is_rejection) == (message, False)


@pytest.mark.parametrize(
    ("answers", "announced"),
    [
        pytest.param({"pre_bind": Status.failed("no")}, "a", id="the status was told the node"),
        pytest.param({"pre_bind_pre_flight": Status.skip(), "bind": Status.failed("no")}, "", id="it was not"),
    ],
)
async def test_a_failure_knows_what_was_announced(answers: dict[str, Any], announced: str) -> None:
    """What the pod's status was told has to be taken back, whether or not the watch has shown it."""
    result = await Way(**answers).bind()
    assert isinstance(result, BindingFailed)
    assert result.announced_node == announced


async def test_an_unwritten_nomination_does_not_stop_the_bind() -> None:
    """Announcing the node is a courtesy."""
    assert isinstance(await Way(fails_to_announce=True).bind(), PodBound)


async def test_an_extender_binds_before_the_plugins() -> None:
    way = Way(FakeExtender(on_bind=lambda node: None))
    assert isinstance(await way.bind(), PodBound)
    assert "bind" not in way.driver.log


async def test_a_bug_fails_the_bind() -> None:
    """The pod is not left assumed for ever."""
    extender = FakeExtender(on_bind=lambda node: 1 // 0)  # type: ignore[return-value, arg-type]
    way = Way(extender)
    result = await way.bind()
    assert isinstance(result, BindingFailed)
    assert result.status.message == "ZeroDivisionError: integer division or modulo by zero"
    assert way.driver.cpu == 0


async def test_the_first_failure_cancels_the_others() -> None:
    async def after(seconds: float, status: Status) -> Status:
        await asyncio.sleep(seconds)
        return status

    never = asyncio.ensure_future(after(60, Status.success()))
    failed = Status.failed("no")
    assert await first_failure([never, after(2, failed), after(1, Status.success())]) is failed
    assert never.cancelled()
    assert (await first_failure([after(1, Status.success())])).is_success


def keeps() -> FakeExtender:
    return FakeExtender(on_filter=lambda names: FilterResponse(tuple(names)))


@pytest.mark.parametrize(
    ("extenders", "outcome"),
    [
        pytest.param([FakeExtender(on_bind=lambda node: None)], "", id="the extender binds"),
        pytest.param([FakeExtender(on_bind=lambda node: OOPS)], "oops", id="the extender fails"),
        pytest.param(
            [FakeExtender(on_bind=lambda node: OOPS, is_ignorable=True)], None, id="its failure is ignored"
        ),
        pytest.param([FakeExtender(on_bind=lambda node: OOPS, interested=False)], None, id="it is not interested"),
        pytest.param([keeps()], None, id="it does not bind"),
        pytest.param(
            [FakeExtender(on_bind=lambda node: OOPS, is_ignorable=True), FakeExtender(on_bind=lambda node: None)],
            "",
            id="the next one binds",
        ),
    ],
)
async def test_who_binds(extenders: list[FakeExtender], outcome: str | None) -> None:
    """None: the Bind plugins do."""
    status = await bind_by_extender(extenders, make_pod("p"), "a")

    assert (status.message if status is not None else None) == outcome
