"""While a decision waits for extenders, nothing changes under it; afterwards everything has happened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.cycle.extenders import FakeExtender, extended_cycle

from bayplan.cycle.attempts import Attempts
from bayplan.cycle.commit import Committer
from bayplan.cycle.failure import Failure
from bayplan.cycle.stillness import Stillness
from bayplan.cycle.waiting import HeldPods
from bayplan.framework import Status
from bayplan.framework.extenders import Filtered
from bayplan.model import Pod
from bayplan.queue import QueuedPodInfo
from bayplan.testing import Harness, make_node, make_pod

pytestmark = pytest.mark.asyncio


async def test_changes_are_put_off_in_order() -> None:
    stillness = Stillness()
    done: list[object] = []
    with stillness.kept():
        for number in range(3):
            stillness.put_off(lambda number=number: done.append(number))  # type: ignore[misc]
        assert done == []

    assert done == [0, 1, 2]


async def test_one_change_that_breaks_does_not_cost_the_others() -> None:
    stillness = Stillness()
    done: list[object] = []
    with stillness.kept():
        stillness.put_off(lambda: done.remove("not there"))
        stillness.put_off(lambda: done.append("next"))

    assert done == ["next"]


async def test_no_other_cycle_begins_meanwhile() -> None:
    stillness = Stillness()
    with stillness.kept(), pytest.raises(RuntimeError, match="another one waits"), stillness.kept():
        pass


async def test_who_waits_for_the_end_goes_on_then() -> None:
    stillness = Stillness()
    await stillness.over()
    with stillness.kept():
        waiting = asyncio.create_task(stillness.over())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


class World:
    """The queue, the failure handler and the binding cycle of an attempt, in memory."""

    def __init__(self, harness: Harness, extender: FakeExtender) -> None:
        scheduler, profile = harness.scheduler, harness.profile()
        self.messages: list[str] = []
        self.failures: Any = self
        self.bind_fails = asyncio.Event()
        self.tasks: list[asyncio.Task[Any]] = []
        self.cycle = extended_cycle(harness, [extender])
        self.committer = Committer(profile.runner, scheduler.cache, scheduler.nominator, HeldPods())
        self.binding_cycle: Any = self
        self.attempts = Attempts(
            {"default-scheduler": self},  # type: ignore[dict-item]
            scheduler.cache,
            self,  # type: ignore[arg-type]
            start=lambda running: self.tasks.append(asyncio.create_task(running)),
        )

    async def run(self, commitment: Any) -> Failure:
        await self.bind_fails.wait()
        return Failure(Status.failed("no"), "no")

    def handle(self, info: Any, failure: Failure) -> None:
        self.messages.append(failure.message)

    def move_all_to_active_or_backoff(self, *arguments: Any) -> None: ...

    def done(self, uid: str) -> None: ...


async def test_a_bind_that_fails_meanwhile_waits_for_the_decision() -> None:
    """A pod that is forgotten while another one's extender is asked would change the table under it."""
    harness = Harness(nodes=[make_node("a"), make_node("b")])
    usage: list[list[int]] = []
    extender = FakeExtender(on_filter=lambda asked: Filtered(tuple(asked)))
    world = World(harness, extender)

    async def attempt(pod: Pod) -> None:
        await world.attempts.attempt_awaiting(QueuedPodInfo(pod, 0.0))

    await attempt(make_pod("first", cpu="1"))
    cache = harness.scheduler.cache
    assert cache.n_assumed == 1

    async def slow_filter(pod: Pod, nodes: Any) -> Filtered:
        world.bind_fails.set()
        for _ in range(10):
            await asyncio.sleep(0)
            usage.append(nodes.requested("cpu").tolist())
        assert world.messages == []
        return Filtered(tuple(nodes.names))

    extender.filter = slow_filter  # type: ignore[method-assign]
    await attempt(make_pod("second", cpu="1"))
    assert all(sum(column) == 1000 for column in usage)
    await asyncio.gather(*world.tasks)
    assert (world.messages, cache.n_assumed) == (["no", "no"], 0)
