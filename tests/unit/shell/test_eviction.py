"""Victims are evicted in the background; the core is told before the last one, and at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from tests.unit.core.driver import Driver, only

from bayplan.client import NotFoundError
from bayplan.core.messages import (
    Input,
    OneVictimLeft,
    PreemptionEnded,
    RecordEvent,
    StartPreemption,
    VictimEvicted,
)
from bayplan.framework import Status
from bayplan.model import Pod
from bayplan.shell.eviction import Evictor
from bayplan.testing import make_pod

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PREEMPTOR = make_pod("vip", priority=10, metadata={"uid": "vip-uid"})


class Cluster:
    """The API server, which takes a second for a deletion, and a core with a preemption."""

    def __init__(self, *, gone: Iterable[str] = (), broken: Iterable[str] = (), **answers: Any) -> None:
        self.gone = set(gone)
        self.broken = set(broken)
        self.log: list[str] = []
        self.events: list[str] = []
        self.results: list[Input] = []
        self.durations: list[bool] = []
        self.driver = Driver(**answers)
        client: Any = self
        self._evictor = Evictor(self._handle, client, self)

    def _handle(self, event: Input) -> None:
        self.driver.core.handle(event)
        if isinstance(event, VictimEvicted):
            (recorded,) = [each for each in self.driver.core.take_instructions() if isinstance(each, RecordEvent)]
            assert (recorded.kind, recorded.reason, recorded.action) == ("Normal", "Preempted", "Preempting")
            self.events.append(f"{recorded.regarding.name}: {recorded.note}")
            return
        self.results.append(event)
        self.log.append(type(event).__name__)

    async def patch_pod_status(self, pod: Pod, **wanted: Any) -> bool:
        if wanted.get("nominated_node_name") == "":
            self.log.append(f"clear {pod.name}")
            return True
        if pod.name in self.gone:
            raise NotFoundError(404, reason="NotFound", message="gone")
        condition = wanted["condition"]
        assert (condition.type, condition.reason) == ("DisruptionTarget", "PreemptionByScheduler")
        assert condition.message == "default-scheduler: preempting to accommodate a higher priority pod"
        return True

    async def delete_pod(self, pod: Pod) -> bool:
        await asyncio.sleep(1)
        if pod.name in self.broken:
            raise ConnectionError("refused")
        self.log.append(f"delete {pod.name}")
        return True

    def preempted(self, seconds: float, *, succeeded: bool) -> None:
        self.durations.append(succeeded)

    def start(self, *victims: Pod) -> asyncio.Task[None]:
        core = self.driver.core
        core.preemptions.start(PREEMPTOR, "a", victims, "default-scheduler")
        preemption = only(StartPreemption, list(core.take_instructions())).preemption
        return asyncio.ensure_future(self._evictor.run(preemption))

    @property
    def awaits_deletion(self) -> bool:
        ended = self.results[-1]
        assert isinstance(ended, PreemptionEnded)
        return ended.awaits_deletion


async def test_the_last_victim_goes_after_the_others() -> None:
    """All victims but the last at the same time; the events name the preemptor's uid."""
    cluster = Cluster()
    await cluster.start(make_pod("v1"), make_pod("v2"), make_pod("v3"))
    assert cluster.log == ["delete v1", "delete v2", "OneVictimLeft", "delete v3", "PreemptionEnded"]
    assert cluster.events == [f"{name}: Preempted by pod vip-uid on node a" for name in ("v1", "v2", "v3")]
    assert (cluster.awaits_deletion, cluster.durations) == (True, [True])


async def test_a_victim_that_is_gone_gets_no_event() -> None:
    """Another client deleted it first: that is no preemption. The preemptor may have missed it, and is tried."""
    cluster = Cluster(gone={"v"})
    await cluster.start(make_pod("v"))
    assert (cluster.events, cluster.awaits_deletion) == ([], False)


async def test_a_failed_eviction_ends_the_preemption() -> None:
    """The preemptor is not left waiting for an event that will not come."""
    cluster = Cluster(broken={"v1"})
    await cluster.start(make_pod("v1"), make_pod("v2"))
    assert (cluster.awaits_deletion, cluster.durations) == (False, [False])
    assert "delete v2" not in cluster.log


async def test_lower_nominations_are_cleared_first() -> None:
    cluster = Cluster()
    cluster.driver.core.nominator.add(make_pod("low", priority=1), "a")
    await cluster.start(make_pod("v"))
    assert cluster.log == ["clear low", "OneVictimLeft", "delete v", "PreemptionEnded"]


async def test_a_waiting_victim_is_preempted_in_memory() -> None:
    """A pod that waits at Permit was never bound: it is rejected, not deleted."""
    cluster = Cluster(permit=Status.wait(timeout_seconds=60))
    victim = make_pod("v", metadata={"uid": "v"})
    cluster.driver.schedule(victim)
    await cluster.start(victim)
    waiting = cluster.driver.core.waiting_pods.get("v")
    assert waiting is not None
    assert waiting.is_leaving
    assert cluster.log == ["OneVictimLeft", "PreemptionEnded"]
    assert cluster.events == ["v: Preempted by pod vip-uid on node a (in kube-scheduler memory)."]


async def test_a_waiting_victim_may_leave_before_its_turn() -> None:
    """The preemptor was held back when that was told, so it is tried again."""
    cluster = Cluster(permit=Status.wait(timeout_seconds=60))
    victim = make_pod("waiting", metadata={"uid": "w"})
    cluster.driver.schedule(victim)
    running = cluster.start(make_pod("v"), victim)
    await asyncio.sleep(0.5)
    waiting = cluster.driver.core.waiting_pods.get("w")
    assert waiting is not None
    waiting.reject("Gang", "others found no node")
    await running
    assert cluster.events == ["v: Preempted by pod vip-uid on node a"]
    assert not cluster.awaits_deletion
    assert [type(each) for each in cluster.results] == [OneVictimLeft, PreemptionEnded]
