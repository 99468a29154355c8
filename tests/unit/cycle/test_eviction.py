"""Victims are evicted in the background; the preemptor is held until the last of them is on its way out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from bayplan.cycle.eviction import Preemptions
from bayplan.cycle.waiting import HeldPods
from bayplan.model import Pod
from bayplan.queue import PodNominator
from bayplan.testing import make_pod

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


class Cluster:
    """Evicts after a second, and writes down what happened."""

    def __init__(self, *, gone: Iterable[str] = (), broken: Iterable[str] = ()) -> None:
        self.gone = set(gone)
        self.broken = set(broken)
        self.log: list[str] = []
        self.events: list[str] = []
        self.activated: list[str] = []
        self.leaving: set[str] = set()

    def current_pod(self, pod: Pod) -> Pod | None:
        """The watch shows a pod that was evicted as terminating."""
        leaves = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if pod.name in self.leaving else {}
        return make_pod(pod.name, metadata=leaves)

    async def evict(self, victim: Pod, *, message: str) -> bool:
        assert message == "default-scheduler: preempting to accommodate a higher priority pod"
        await asyncio.sleep(1)
        if victim.name in self.broken:
            raise ConnectionError("refused")
        self.log.append(f"evict {victim.name}")
        return victim.name not in self.gone

    async def withdraw_nomination(self, pod: Pod) -> None:
        self.log.append(f"withdraw {pod.name}")

    def event(
        self, regarding: Any, *, kind: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        self.events.append(f"{regarding.name}: {note}")

    def activate(self, pods: Iterable[Pod]) -> None:
        self.activated += [pod.name for pod in pods]


PREEMPTOR = make_pod("vip", priority=10, metadata={"uid": "vip-uid"})


def preemptions(
    cluster: Cluster, nominator: PodNominator | None = None, held: HeldPods | None = None
) -> Preemptions:
    return Preemptions(
        cluster, held or HeldPods(), nominator or PodNominator(), cluster, cluster.activate, cluster.current_pod
    )


async def test_victims_go_and_the_preemptor_is_held() -> None:
    """All victims but the last at the same time, then the last; the events name the preemptor's uid."""
    cluster = Cluster()
    running = preemptions(cluster)
    task = running.start(PREEMPTOR, "a", [make_pod("v1"), make_pod("v2"), make_pod("v3")])
    assert task is not None
    assert running.is_running(PREEMPTOR)
    await asyncio.sleep(1.5)
    assert cluster.log == ["evict v1", "evict v2"]
    assert running.is_running(PREEMPTOR)
    cluster.leaving.add("v3")
    assert not running.is_running(PREEMPTOR)
    await task
    assert not running.is_running(PREEMPTOR)
    assert cluster.events == [f"{name}: Preempted by pod vip-uid on node a" for name in ("v1", "v2", "v3")]
    assert cluster.activated == []


async def test_victims_that_are_leaving_are_left_alone() -> None:
    """A pod that is being deleted needs no eviction."""
    cluster = Cluster()
    leaving = make_pod("v", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert preemptions(cluster).start(PREEMPTOR, "a", [leaving]) is None


async def test_victim_that_is_gone_gets_no_event() -> None:
    """Somebody else deleted it first: that is no preemption. The preemptor may have missed it, and is tried."""
    cluster = Cluster(gone={"v"})
    task = preemptions(cluster).start(PREEMPTOR, "a", [make_pod("v")])
    assert task is not None
    await task
    assert cluster.events == []
    assert cluster.activated == ["vip"]


async def test_failed_eviction_tries_the_preemptor_again() -> None:
    """The preemptor is not left waiting for an event that will not come."""
    cluster = Cluster(broken={"v1"})
    running = preemptions(cluster)
    task = running.start(PREEMPTOR, "a", [make_pod("v1"), make_pod("v2")])
    assert task is not None
    await task
    assert (cluster.activated, running.is_running(PREEMPTOR)) == (["vip"], False)
    assert "evict v2" not in cluster.log


async def test_lower_nominations_are_withdrawn() -> None:
    """Pods of lower priority that were promised the node lose the promise; others keep it."""
    cluster, nominator = Cluster(), PodNominator()
    low, high = make_pod("low", priority=1), make_pod("high", priority=20)
    nominator.add(low, "a")
    nominator.add(high, "a")
    task = preemptions(cluster, nominator).start(PREEMPTOR, "a", [make_pod("v")])
    assert task is not None
    await task
    assert cluster.log == ["withdraw low", "evict v"]
    assert [pod.name for pod in nominator.nominated("a")] == ["high"]


async def never() -> None:
    raise AssertionError("it does not wait")


async def test_waiting_victim_is_preempted_in_memory() -> None:
    """A pod that Permit holds was never bound: it is rejected, not deleted."""
    cluster, held = Cluster(), HeldPods()
    victim = make_pod("v")
    held.hold(victim, {"Gang": 60})
    task = preemptions(cluster, held=held).start(PREEMPTOR, "a", [victim])
    assert task is not None
    await task
    assert cluster.log == []
    assert cluster.events == ["v: Preempted by pod vip-uid on node a (in kube-scheduler memory)."]
    assert (await held.decision(victim.uid, never)).message == "waiting on permit for pod: preempted"


async def test_waiting_victim_that_gives_its_place_back_is_left_alone() -> None:
    """It is not bound, so there is nothing to delete; and the preemptor hears of its place like everybody else."""
    cluster, held = Cluster(), HeldPods()
    victim = make_pod("v")
    held.hold(victim, {"Gang": 60})
    waiting = held.get(victim.uid)
    assert waiting is not None
    waiting.reject("Gang", "others found no node")
    running = preemptions(cluster, held=held)
    assert running.start(PREEMPTOR, "a", [victim]) is None
    assert not running.is_running(PREEMPTOR)


async def test_waiting_victim_may_give_its_place_back_before_its_turn() -> None:
    """The preemptor was held back when that was told, so it is tried again."""
    cluster, held = Cluster(), HeldPods()
    victim = make_pod("waiting")
    held.hold(victim, {"Gang": 60})
    task = preemptions(cluster, held=held).start(PREEMPTOR, "a", [make_pod("v"), victim])
    assert task is not None
    await asyncio.sleep(0.5)
    waiting = held.get(victim.uid)
    assert waiting is not None
    waiting.reject("Gang", "others found no node")
    await held.decision(victim.uid, never)
    await task
    assert cluster.log == ["evict v"]
    assert cluster.events == ["v: Preempted by pod vip-uid on node a"]
    assert cluster.activated == ["vip"]
