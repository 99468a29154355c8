"""Informers: asking, listing, being told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.client.doubles import LoopClock
from tests.unit.watch.doubles import ScriptedSource, event, listing, node

from bayplan.model import Node, Pod, StorageClass
from bayplan.watch.informers import InformerFactory

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def test_kinds_asked_for_are_watched_once() -> None:
    source = ScriptedSource()
    source.lists = [listing(5, node("a", 1)), listing(5)]
    informers = InformerFactory(source, LoopClock())
    told: list[tuple[Node | None, Node | None]] = []
    informers.on_change(Node, lambda old, new: told.append((old, new)))
    informers.lister(Pod)
    assert not informers.is_synced
    informers.start()
    await informers.wait_synced()
    assert informers.is_synced
    found = informers.lister(Node).get("a")
    assert found is not None
    assert told == [(None, found)]
    assert {path for _, path, _ in source.asked} == {"/api/v1/nodes", "/api/v1/pods"}
    assert list(informers.store_versions()) == [("/api/v1/nodes", "5"), ("/api/v1/pods", "5")]
    await informers.stop()


async def test_pods_that_ended_are_not_asked_for() -> None:
    source = ScriptedSource()
    source.lists = [listing(5)]
    informers = InformerFactory(source, LoopClock())
    informers.lister(Pod)
    informers.start()
    await asyncio.sleep(1)
    selectors = [query["fieldSelector"] for _, _, query in source.asked]
    assert selectors == ["status.phase!=Succeeded,status.phase!=Failed"] * 2
    await informers.stop()


async def test_custom_resources_are_dictionaries() -> None:
    source = ScriptedSource()
    foo: dict[str, Any] = {"metadata": {"name": "f", "namespace": "ns", "resourceVersion": "1"}, "spec": {"a": 1}}
    source.lists = [listing(5, foo, {"metadata": {}})]
    source.watches = [[event("DELETED", foo), 1e6]]
    informers = InformerFactory(source, LoopClock())
    told: list[tuple[Any, Any]] = []
    informers.on_custom_change("example.com/v1", "foos", lambda old, new: told.append((old, new)))
    informers.start()
    await asyncio.sleep(1)
    assert told == [(None, foo), (foo, None)]
    assert source.asked[0][1] == "/apis/example.com/v1/foos"
    await informers.stop()


async def test_listers_know_namespaces() -> None:
    source = ScriptedSource()
    pods = [
        {"metadata": {"name": name, "namespace": where}} for name, where in (("a", "x"), ("b", "x"), ("a", "y"))
    ]
    source.lists = [listing(5, *pods)]
    informers = InformerFactory(source, LoopClock())
    lister = informers.lister(Pod)
    informers.start()
    await informers.wait_synced()
    assert [pod.key for pod in lister.list("x")] == ["x/a", "x/b"]
    assert len(lister.list()) == 3
    assert lister.list("") == []
    found = lister.get("a", "y")
    assert found is not None
    assert found.key == "y/a"
    assert lister.get("a") is None
    await informers.stop()


async def test_late_questions_are_answered() -> None:
    """A kind asked for while running is watched from then on; a late callback is told what is there."""
    source = ScriptedSource()
    source.lists = [listing(5, node("a", 1)), listing(5)]
    informers = InformerFactory(source, LoopClock())
    informers.lister(Node)
    informers.start()
    await informers.wait_synced()
    told: list[str] = []
    informers.on_change(Node, lambda old, new: told.append(new.name if new else "?"))
    assert told == ["a"]
    informers.lister(StorageClass)
    assert list(informers.unsynced()) == ["StorageClass"]
    await informers.wait_synced()
    await informers.stop()


async def test_failing_callback_does_not_keep_it_from_others(caplog: pytest.LogCaptureFixture) -> None:
    source = ScriptedSource()
    source.lists = [listing(5, node("a", 1))]
    informers = InformerFactory(source, LoopClock())
    told: list[Node | None] = []

    def broken(old: Node | None, new: Node | None) -> None:
        raise RuntimeError("broken")

    informers.on_change(Node, broken)
    informers.on_change(Node, lambda old, new: told.append(new))
    informers.start()
    await informers.wait_synced()
    assert len(told) == 1
    assert "callback on changes of Node failed" in caplog.text
    await informers.stop()


async def test_watch_that_ends_for_good_is_told() -> None:
    """A defect of ours ends one watch: whoever waits for that is told which, also of one asked for late."""

    class BrokenSource(ScriptedSource):
        async def get_bytes(self, path: str, query: Any = None) -> bytes:
            if path.endswith("storageclasses"):
                raise KeyError("a defect")
            return await super().get_bytes(path, query)

    source = BrokenSource()
    source.lists = [listing(5)]
    informers = InformerFactory(source, LoopClock())
    informers.lister(Node)
    informers.start()
    waiting = asyncio.create_task(informers.wait_failed())
    await asyncio.sleep(100)
    assert not waiting.done()
    informers.lister(StorageClass)
    name, error = await waiting
    assert (name, str(error)) == ("StorageClass", "'a defect'")
    await informers.stop()
