"""Reading a cluster: in pages, and as far as the rights go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.explain.applied import LOADED, REGISTRY

from bayplan.client import ApiError, NotFoundError
from bayplan.clock import SystemClock
from bayplan.config import Loaded, load
from bayplan.core import SchedulerCore
from bayplan.explain.cluster_objects import ClusterObjects, new_cluster_core
from bayplan.explain.cluster_reader import ClusterReader
from bayplan.explain.live_copy import LiveCopy
from bayplan.framework import CycleState, Handle, NodeInfo, Plugin, Registry, Status
from bayplan.model import ConfigMap, Pod
from bayplan.scheduler import default_registry
from bayplan.testing import make_node, make_pod

pytestmark = pytest.mark.asyncio


class FakeSource:
    """Implements `Source`: collections by path, two objects to a page; what is not there is an error."""

    def __init__(self, collections: Mapping[str, list[Any]], errors: Mapping[str, ApiError] | None = None) -> None:
        self._collections = collections
        self._errors = errors or {}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def get_bytes(self, path: str, query: Any = None) -> bytes:
        self.asked.append((path, dict(query or {})))
        if path in self._errors:
            raise self._errors[path]
        if path not in self._collections:
            raise NotFoundError(404, message="not found")
        start = int((query or {}).get("continue", 0))
        items = self._collections[path]
        more = {"continue": str(start + 2)} if start + 2 < len(items) else {}
        return json.dumps({"metadata": more, "items": items[start : start + 2]}).encode()

    def stream(self, path: str, query: Any = None) -> Any:
        raise AssertionError("nothing is watched")


def core() -> SchedulerCore:
    return SchedulerCore(LOADED, REGISTRY, clock=SystemClock(), schedules_pods=False)


FORBIDDEN = ApiError(403, reason="Forbidden", message="no")
NODES = [dict(make_node(f"n{i}").raw) for i in range(5)]
PODS = [dict(make_pod(f"p{i}", node_name="n0").raw) for i in range(3)]


async def test_collections_are_read_page_by_page() -> None:
    """Only pods that have not ended; how far it is gets told."""
    source, read = FakeSource({"/api/v1/nodes": NODES, "/api/v1/pods": PODS}), []

    objects = await ClusterReader(source, "x", on_read=lambda name, count: read.append((name, count))).read(core())

    assert (len(objects.nodes), len(objects.pods), objects.not_seen) == (5, 3, [])
    assert [count for name, count in read if name == "nodes"] == [2, 4, 5]
    selectors = {query.get("fieldSelector") for path, query in source.asked if path == "/api/v1/pods"}
    assert selectors == {"status.phase!=Succeeded,status.phase!=Failed"}


async def test_what_may_not_be_read_is_told() -> None:
    """With what follows from that; everything else is there."""
    budgets = "/apis/policy/v1/poddisruptionbudgets"
    source = FakeSource({"/api/v1/nodes": NODES, "/api/v1/pods": PODS}, {budgets: FORBIDDEN})

    objects = await ClusterReader(source, "x", on_read=lambda name, count: None).read(core())

    assert [(each.resource, each.reason) for each in objects.not_seen] == [("poddisruptionbudgets", "no")]
    assert "no budget" in objects.not_seen[0].consequence
    assert len(objects.pods) == 3


async def test_pods_of_one_namespace_are_better_than_none() -> None:
    """Who may not list all pods may often list their own."""
    own = {"/api/v1/nodes": NODES, "/api/v1/namespaces/default/pods": PODS}
    source = FakeSource(own, {"/api/v1/pods": FORBIDDEN})

    objects = await ClusterReader(source, "x", on_read=lambda name, count: None).read(core(), "default")

    assert len(objects.pods) == 3
    assert [each.resource for each in objects.not_seen] == ["pods"]


async def test_another_error_is_an_error() -> None:
    source = FakeSource({}, {"/api/v1/nodes": ApiError(500, message="broken")})

    with pytest.raises(ApiError, match="broken"):
        await ClusterReader(source, "x", on_read=lambda name, count: None).read(core())


async def test_nothing_of_secrets_is_read() -> None:
    """Nor of config maps."""
    source = FakeSource({"/api/v1/nodes": NODES, "/api/v1/pods": PODS})

    await ClusterReader(source, "x", on_read=lambda name, count: None).read(core(), "default", "p0")

    assert not [path for path, _ in source.asked if "secrets" in path or "configmaps" in path]


class Reading(Plugin[None]):
    """Looks at one ConfigMap, and at a custom resource."""

    name = "Reading"

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.limits = handle.informers.lister(ConfigMap, namespace="ci", fields="metadata.name=limits")
        self.foos = handle.informers.lister("foos.v1.example.com", labels="app=web")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        seen = [*self.limits.list(), *self.foos.list()]
        return None if len(seen) == 2 else Status.unresolvable("nothing is known")


def reading() -> tuple[Loaded, Registry]:
    registry = default_registry()
    registry.add(Reading)
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    text += "profiles: [{plugins: {multiPoint: {enabled: [{name: Reading}]}}}]"
    return load(text, source="test", catalogue=registry), registry


def named(kind: str, api_version: str, name: str, namespace: str = "", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


async def test_the_parts_that_plugins_watch_are_read_with_their_selectors() -> None:
    """So the answer is the scheduler's."""
    loaded, registry = reading()
    source = FakeSource(
        {
            "/api/v1/nodes": NODES,
            "/api/v1/namespaces/ci/configmaps": [named("ConfigMap", "v1", "limits", "ci")],
            "/apis/example.com/v1/foos": [named("Foo", "example.com/v1", "f", app="web")],
        }
    )
    asking = SchedulerCore(loaded, registry, clock=SystemClock(), schedules_pods=False)
    objects = await ClusterReader(source, "x", on_read=lambda name, count: None).read(asking)
    queries = dict(source.asked)
    assert queries["/api/v1/namespaces/ci/configmaps"]["fieldSelector"] == "metadata.name=limits"
    assert queries["/apis/example.com/v1/foos"]["labelSelector"] == "app=web"

    decided = new_cluster_core(objects, loaded, registry, SystemClock()).decide(make_pod("p"))
    assert decided.node_name


async def test_objects_of_files_are_selected_here() -> None:
    loaded, registry = reading()
    objects = ClusterObjects("files", "x")
    for each in (
        *NODES,
        named("ConfigMap", "v1", "limits", "ci"),
        named("ConfigMap", "v1", "limits", "prod"),
        named("Foo", "example.com/v1", "f", app="web"),
        named("Foo", "example.com/v1", "g", app="db"),
    ):
        objects.add_mapping(each)
    assert new_cluster_core(objects, loaded, registry, SystemClock()).decide(make_pod("p")).node_name


async def test_a_copy_of_a_running_core_has_them_too() -> None:
    loaded, registry = reading()
    objects = ClusterObjects("files", "x")
    for each in (*NODES, named("ConfigMap", "v1", "limits", "ci"), named("Foo", "example.com/v1", "f", app="web")):
        objects.add_mapping(each)
    live = new_cluster_core(objects, loaded, registry, SystemClock())
    copy = LiveCopy(live, loaded, registry, SystemClock())
    for _ in copy.steps():
        pass
    assert copy.scheduler.decide(make_pod("p")).node_name
