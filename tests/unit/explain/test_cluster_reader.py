"""Reading a cluster: in pages, and as far as the rights go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.explain.applied import LOADED, REGISTRY

from bayplan.client import ApiError, NotFoundError
from bayplan.clock import SystemClock
from bayplan.core import SchedulerCore
from bayplan.explain.cluster_reader import ClusterReader
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
