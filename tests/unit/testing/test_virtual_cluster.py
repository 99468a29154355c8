"""A whole cluster in virtual time, and the fixture that starts one."""

from __future__ import annotations

import time
from collections.abc import Callable

from bayplan.framework import Plugin, Status
from bayplan.model import Pod
from bayplan.testing import VirtualCluster, make_node, make_pod

pytest_plugins = ["bayplan.testing.fixtures"]

Start = Callable[..., VirtualCluster]


class Labelled(Plugin):
    name = "Labelled"

    def filter(self, state: object, pod: Pod, node: object) -> Status | None:
        return None if "mine" in node.labels else Status.unresolvable("node(s) were not mine")  # type: ignore[attr-defined]


def test_a_pod_is_placed_and_runs(cluster: Start) -> None:
    """By the plugin given, on the nodes given; the kubelets do their part as time goes by."""
    started = cluster([make_node("a"), make_node("b", labels={"mine": ""})], plugins=[Labelled])
    assert started.schedule(make_pod("p", cpu="1")).node_name == "b"
    started.wait(5)
    assert started.pod("p").status.phase == "Running"
    assert started.events("p") == ["Scheduled: Successfully assigned default/p to b"]


def test_a_pod_that_fits_nowhere_is_told(cluster: Start) -> None:
    """In its condition, in an event, and in the record."""
    started = cluster(2, plugins=[Labelled])
    assert started.schedule(make_pod("p")).node_name == ""
    record = started.record("p")
    assert record is not None
    assert record.message.startswith("0/2 nodes are available: 2 node(s) were not mine.")
    started.wait(1)
    assert started.events("p")[0] == f"FailedScheduling: {record.message}"


def test_an_hour_is_over_in_a_moment(cluster: Start) -> None:
    started = cluster(1)
    start, clock = time.monotonic(), started.cluster.clock

    async def now() -> float:
        return clock.now()

    before = started.run(now())
    started.wait(3600)
    assert started.run(now()) - before >= 3600
    assert time.monotonic() - start < 3600


def test_manifests_are_text_or_objects(cluster: Start) -> None:
    started = cluster(1, manifests="{apiVersion: v1, kind: Namespace, metadata: {name: team}}")
    started.apply(
        make_pod("p", namespace="team"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    )
    assert started.pod("p", "team").name == "p"
    assert started.get("/api/v1/namespaces/other")["metadata"]["name"] == "other"


class Wants(Plugin):
    name = "Wants"

    def __init__(self, args: object, handle: object) -> None:
        super().__init__(args, handle)  # type: ignore[arg-type]
        self.foos = handle.informers.custom("example.com/v1", "foos")  # type: ignore[attr-defined]

    def filter(self, state: object, pod: Pod, node: object) -> None: ...


def test_a_resource_that_is_not_there_holds_nobody_up(cluster: Start) -> None:
    """A plugin that asks for a custom resource without a definition finds nothing of it."""
    assert cluster(1, plugins=[Wants]).schedule(make_pod("p")).node_name == "node-1"
