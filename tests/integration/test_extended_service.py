"""A service with extenders: while one is asked, the watch goes on and the decision sees nothing of it."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from aiohttp import web

from bayplan import config
from bayplan.client import EventBroadcaster, KubeClient
from bayplan.clock import SystemClock
from bayplan.scheduler import default_registry
from bayplan.shell.service import SchedulerService
from bayplan.testing import make_node, make_pod

pytestmark = pytest.mark.asyncio

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: http://127.0.0.1:{port}
  filterVerb: filter
  nodeCacheCapable: true
"""


class Cluster:
    """Stands for the client and the events of an API server: takes note of binds."""

    def __init__(self) -> None:
        self.binds: list[tuple[str, str]] = []
        self.bound = asyncio.Event()

    async def bind(self, pod: Any, node_name: str) -> None:
        self.binds.append((pod.name, node_name))
        self.bound.set()

    def recorder(self, name: str) -> Cluster:
        return self

    def event(self, *arguments: Any, **fields: Any) -> None: ...

    async def stop(self) -> None: ...

    def __getattr__(self, name: str) -> Any:
        async def nothing(*arguments: Any, **fields: Any) -> dict[str, Any]:
            return {}

        return nothing


async def test_changes_wait_for_the_decision() -> None:
    """Nodes go and come while the extender thinks: its decision is about the nodes it was asked about, and
    afterwards everything has happened."""
    asked, may_answer = asyncio.Event(), asyncio.Event()
    seen: list[list[str]] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        names = (await request.json())["NodeNames"]
        seen.append(names)
        asked.set()
        await may_answer.wait()
        return web.json_response({"NodeNames": names[-1:]})

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    cluster, registry = Cluster(), default_registry()
    text = CONFIGURATION.format(port=runner.addresses[0][1])
    service = SchedulerService(
        config.load(text, source="test", catalogue=registry),
        registry,
        cast("KubeClient", cluster),
        cast("EventBroadcaster", cluster),
        clock=SystemClock(),
    )
    nodes = [make_node(name) for name in "abc"]
    for node in nodes:
        service.feed.object_changed(None, node)
    service.feed.object_changed(None, make_pod("p"))
    stop = asyncio.Event()
    scheduling = asyncio.create_task(service.schedule(stop))

    await asked.wait()
    cache = service.core.cache
    service.feed.object_changed(nodes[0], None)
    service.feed.object_changed(nodes[1], None)
    service.feed.object_changed(None, make_node("d"))
    assert cache.n_nodes == 3
    may_answer.set()
    await asyncio.wait_for(cluster.bound.wait(), 10)
    await asyncio.sleep(0)

    assert (seen, cluster.binds) == ([["a", "b", "c"]], [("p", "c")])
    assert (cache.n_nodes, cache.node("d") is not None) == (2, True)
    stop.set()
    await scheduling
    await service.close()
    await runner.cleanup()
