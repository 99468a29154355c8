"""Informers over real HTTP, against a server that has bad days."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.integration.scripted_server import ScriptedServer, answer, cut, refusal

from bayplan.client import KubeClient
from bayplan.clock import SystemClock
from bayplan.model import Node
from bayplan.watch.informers import InformerFactory

pytestmark = pytest.mark.asyncio


class FakeNodes:
    """A store of nodes with a log of changes, served as lists and watches."""

    def __init__(self) -> None:
        self.version = 10
        self.nodes: dict[str, dict[str, Any]] = {}
        self.log: list[tuple[int, bytes]] = []
        #: Versions up to this one are no longer known.
        self.forgotten = 0
        self._changed = asyncio.Event()
        #: What to do to the next requests instead of answering them.
        self.faults: list[str] = []
        #: Odds that a watch is cut after an event.
        self.cut_odds = 0.0
        self.bookmarks = False

    def put(self, name: str, **more: Any) -> None:
        self.version += 1
        type = "MODIFIED" if name in self.nodes else "ADDED"
        meta = {"name": name, "uid": name, "resourceVersion": str(self.version)}
        self.nodes[name] = {"metadata": meta, **more}
        self._append(type, self.nodes[name])

    def delete(self, name: str) -> None:
        self.version += 1
        node = self.nodes.pop(name)
        self._append("DELETED", {**node, "metadata": {**node["metadata"], "resourceVersion": str(self.version)}})

    def forget(self) -> None:
        """Compact the log."""
        self.forgotten = self.version
        self.log.clear()

    def _append(self, type: str, node: object) -> None:
        self.log.append((self.version, msgspec.json.encode({"type": type, "object": node}) + b"\n"))
        self._changed.set()
        self._changed = asyncio.Event()

    # --- serving ------------------------------------------------------------------------------------------

    async def serve(self, request: web.Request) -> web.StreamResponse:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "cut":
            return cut(request)
        if fault == "429":
            return refusal(429, "TooManyRequests", "later", **{"Retry-After": "0"})
        if fault:
            return refusal(int(fault), "InternalError", "a bad day")
        if "watch" in request.query:
            return await self._watch(request)
        return answer({"metadata": {"resourceVersion": str(self.version)}, "items": list(self.nodes.values())})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        at = int(request.query["resourceVersion"])
        response = web.StreamResponse()
        await response.prepare(request)
        if at < self.forgotten:
            expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
            await response.write(msgspec.json.encode({"type": "ERROR", "object": expired}) + b"\n")
            return response
        while True:
            changed = self._changed
            for version, line in [each for each in self.log if each[0] > at]:
                at = version
                half = len(line) // 2
                await response.write(line[:half])
                if random.random() < self.cut_odds:  # noqa: S311
                    return cut(request)
                await response.write(line[half:])
            if self.bookmarks:
                mark = {"metadata": {"resourceVersion": str(self.version)}}
                await response.write(msgspec.json.encode({"type": "BOOKMARK", "object": mark}) + b"\n")
                return response
            await changed.wait()


class Fast(SystemClock):
    """Pauses between tries are a hundredth of what they are."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)


@asynccontextmanager
async def watching(nodes: FakeNodes) -> AsyncIterator[tuple[InformerFactory, ScriptedServer]]:
    async with ScriptedServer(nodes.serve) as server:
        clock = Fast()
        client = KubeClient(server.transport(), clock)
        informers = InformerFactory(client, clock)
        informers.lister(Node)
        informers.start()
        try:
            yield informers, server
        finally:
            await informers.stop()
            await client.close()


async def settle(informers: InformerFactory, nodes: FakeNodes) -> None:
    """Until the copy equals the store."""
    async with asyncio.timeout(20):
        while {each.name: each.resource_version for each in informers.lister(Node).list()} != {
            name: node["metadata"]["resourceVersion"] for name, node in nodes.nodes.items()
        }:
            await asyncio.sleep(0.01)


def versions_asked(server: ScriptedServer) -> list[str]:
    return [
        f"{'watch' if 'watch' in each.query else 'list'} {each.query.get('resourceVersion', '-')}"
        for each in server.seen
    ]


async def test_changes_arrive() -> None:
    nodes = FakeNodes()
    nodes.put("a")
    async with watching(nodes) as (informers, server):
        await informers.wait_synced()
        nodes.put("b")
        nodes.put("a", spec={"unschedulable": True})
        await settle(informers, nodes)
        found = informers.lister(Node).get("a")
        assert found is not None
        assert found.spec.unschedulable
        nodes.delete("a")
        await settle(informers, nodes)
        assert versions_asked(server) == ["list 0", "watch 11"]


async def test_first_list_outlasts_bad_days() -> None:
    nodes = FakeNodes()
    nodes.put("a")
    nodes.faults = ["cut", "500", "429", "503"]
    async with watching(nodes) as (informers, _):
        async with asyncio.timeout(10):
            await informers.wait_synced()
        await settle(informers, nodes)


async def test_bookmarks_move_the_version_on() -> None:
    nodes = FakeNodes()
    nodes.bookmarks = True
    async with watching(nodes) as (informers, server):
        await informers.wait_synced()
        nodes.version = 500
        async with asyncio.timeout(10):
            while "watch 500" not in versions_asked(server):
                await asyncio.sleep(0.01)
        assert versions_asked(server).count("list 0") == 1


async def test_expired_version_lists_again() -> None:
    nodes = FakeNodes()
    nodes.put("a")
    nodes.put("b")
    async with watching(nodes) as (informers, server):
        await informers.wait_synced()
        nodes.cut_odds = 1.0
        nodes.delete("a")
        nodes.put("c")
        nodes.forget()
        nodes.cut_odds = 0.0
        await settle(informers, nodes)
        assert sum(each.startswith("list") for each in versions_asked(server)) == 2


async def test_cut_watches_lose_nothing() -> None:
    nodes = FakeNodes()
    nodes.cut_odds = 0.2
    told: list[tuple[Node | None, Node | None]] = []
    async with watching(nodes) as (informers, server):
        informers.on_change(Node, lambda old, new: told.append((old, new)))
        await informers.wait_synced()
        for i in range(300):
            name = f"n{random.randrange(20)}"  # noqa: S311
            if name in nodes.nodes and i % 3 == 0:
                nodes.delete(name)
            else:
                nodes.put(name)
            if i % 50 == 25:
                nodes.faults = ["500", "cut", "429"]
            if i % 10 == 0:
                await asyncio.sleep(0.005)
        nodes.cut_odds = 0.0
        await settle(informers, nodes)
        assert len(told) == 300  # every change once: nothing was lost, nothing told twice
        assert sum(each.startswith("list") for each in versions_asked(server)) == 1


async def test_malformed_object_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    nodes = FakeNodes()
    nodes.put("good")
    nodes.put("bad", spec={"taints": "?"})
    async with watching(nodes) as (informers, _):
        with caplog.at_level(logging.ERROR):
            await informers.wait_synced()
        assert [each.name for each in informers.lister(Node).list()] == ["good"]
        assert "Node bad: spec.taints" in caplog.text
        nodes.put("bad")
        await settle(informers, nodes)


async def test_server_that_comes_late() -> None:
    """An unreachable API server is waited for."""
    nodes = FakeNodes()
    nodes.put("a")
    async with ScriptedServer(nodes.serve) as server:
        transport = server.transport()
    client = KubeClient(transport, Fast())
    informers = InformerFactory(client, Fast())
    informers.lister(Node)
    informers.start()
    await asyncio.sleep(0.1)
    assert not informers.is_synced
    async with ScriptedServer(nodes.serve, port=server.port), asyncio.timeout(10):
        await informers.wait_synced()
        await settle(informers, nodes)
    await informers.stop()
    await client.close()
