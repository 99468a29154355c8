"""The service carries out instructions, one by one, and answers every question of the core."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from tests.unit.core.driver import Gate

from bayplan import config
from bayplan.client import EventBroadcaster, KubeClient
from bayplan.client.pod_status_patch import status_patch
from bayplan.clock import SystemClock
from bayplan.core.messages import AskExtenders, ExtenderCall, RecordEvent, WriteStatus
from bayplan.framework import Status
from bayplan.model import Condition, Pod
from bayplan.scheduler import default_registry
from bayplan.shell.service import SchedulerService
from bayplan.testing import make_node, make_pod

pytestmark = pytest.mark.asyncio


class Cluster:
    """An API server that accepts everything, and the broadcaster of events."""

    def __init__(self) -> None:
        self.binds: list[tuple[str, str]] = []
        self.patches: list[Any] = []
        self.events: list[str] = []
        self.broken_events: set[str] = set()

    async def bind(self, pod: Pod, node_name: str) -> None:
        self.binds.append((pod.name, node_name))

    async def patch_pod_status(self, pod: Pod, **wanted: Any) -> bool:
        self.patches.append(status_patch(pod, now=0.0, **wanted))
        return True

    def recorder(self, profile: str) -> Cluster:
        return self

    def event(self, regarding: Any, *, reason: str, **fields: Any) -> None:
        if reason in self.broken_events:
            raise ValueError("broken")
        self.events.append(reason)


def service_on(cluster: Cluster) -> SchedulerService:
    registry = default_registry()
    return SchedulerService(
        config.default(registry),
        registry,
        cast("KubeClient", cluster),
        cast("EventBroadcaster", cluster),
        clock=SystemClock(),
    )


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


async def test_a_pod_is_bound_and_told_about() -> None:
    cluster = Cluster()
    service, stop = service_on(cluster), asyncio.Event()
    service.feed.object_changed(None, make_node("a"))
    service.feed.object_changed(None, make_pod("p"))
    scheduling = asyncio.create_task(service.schedule(stop))
    await until(lambda: cluster.events)
    stop.set()
    await scheduling

    assert (cluster.binds, cluster.events) == ([("p", "a")], ["Scheduled"])


async def test_decisions_wait_for_binds_that_are_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in flight holds memory, and is not bound any sooner for being decided."""
    monkeypatch.setattr("bayplan.shell.service.MAX_BINDING", 8)
    monkeypatch.setattr("bayplan.shell.service._RESUME_BINDING", 4)
    cluster, answers = Cluster(), asyncio.Semaphore(0)
    most = in_flight = 0

    async def bind(pod: Pod, node_name: str) -> None:
        nonlocal most, in_flight
        in_flight += 1
        most = max(most, in_flight)
        await answers.acquire()
        in_flight -= 1
        cluster.binds.append((pod.name, node_name))

    monkeypatch.setattr(cluster, "bind", bind)
    service, stop = service_on(cluster), asyncio.Event()
    service.feed.object_changed(None, make_node("a"))
    for i in range(30):
        service.feed.object_changed(None, make_pod(f"p{i}"))
    scheduling = asyncio.create_task(service.schedule(stop))

    await until(lambda: in_flight == 8)
    assert service.queue.counts().active == 22
    for _ in range(3):
        answers.release()
    await until(lambda: in_flight == 5)
    assert service.queue.counts().active == 22, "it goes on only when there is room for several"
    answers.release()
    await until(lambda: in_flight == 8)
    for _ in range(30):
        answers.release()
    await until(lambda: len(cluster.binds) == 30)
    stop.set()
    await scheduling

    assert most == 8


async def test_one_instruction_that_fails_does_not_cost_the_others() -> None:
    cluster = Cluster()
    cluster.broken_events.add("Broken")
    service = service_on(cluster)
    about = make_pod("p")

    service._carry_out(
        [RecordEvent("default-scheduler", about, "Normal", reason, "A", "n") for reason in ("Broken", "Fine")]
    )

    assert cluster.events == ["Fine"]


async def test_a_cancelled_call_of_an_extender_is_answered() -> None:
    """Otherwise the attempt would wait for ever, and with it every other pod."""
    service = service_on(Cluster())
    extender: Any = type("Slow", (), {"filter": lambda *_: asyncio.sleep(60)})()
    answered: list[Any] = []
    service.core._suspended = cast(
        "Any", type("Attempt", (), {"send": lambda _, results: answered.append(results)})()
    )

    question = AskExtenders([ExtenderCall(extender, "filter", make_pod("p"), None)])
    asking = asyncio.create_task(service._ask_extenders(question))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])

    assert [str(each) for each in answered[0]] == ["the call was cancelled"]


async def test_a_status_is_written_as_a_patch() -> None:
    """The nomination is cleared with the condition."""
    cluster = Cluster()
    condition = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
    pod = make_pod("p", status={"nominatedNodeName": "a"})

    await service_on(cluster)._write_status(WriteStatus(pod, condition, ""))

    (patch,) = cluster.patches
    assert patch["status"]["nominatedNodeName"] is None
    assert patch["status"]["conditions"][0]["message"] == "no"


async def test_a_stop_leaves_waiting_pods_alone() -> None:
    """Pods that wait at Permit are not failed: the next leader tries them again."""
    cluster, registry = Cluster(), default_registry()
    waiting = type("Gate", (Gate,), {"log": [], "answers": {"permit": Status.wait(timeout_seconds=600)}})
    registry.add(waiting)
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: default-scheduler, plugins: {permit: {enabled: [{name: Gate}]}}}]\n"
    )
    service = SchedulerService(
        config.load(text, source="test", catalogue=registry),
        registry,
        cast("KubeClient", cluster),
        cast("EventBroadcaster", cluster),
        clock=SystemClock(),
    )
    stop = asyncio.Event()
    service.feed.object_changed(None, make_node("a"))
    service.feed.object_changed(None, make_pod("p"))
    scheduling = asyncio.create_task(service.schedule(stop))
    await until(lambda: len(service.core.waiting_pods))
    stop.set()
    await scheduling

    assert (cluster.binds, cluster.events, cluster.patches) == ([], [], [])
