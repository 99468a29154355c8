"""A reflector in virtual time: list, watch, resume, list again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.unit.client.doubles import LoopClock
from tests.unit.watch.doubles import ScriptedSource, bookmark, event, listing, node, status

from bayplan.client.errors import ApiError, NotFoundError, ResourceExpiredError, TransportError
from bayplan.model import Node
from bayplan.watch.local_store import resource_of
from bayplan.watch.reflector import Reflector

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]
CUT = TransportError("cut", sent=True)


class Run:
    """A reflector of nodes that runs, and the changes it told."""

    def __init__(self) -> None:
        self.source = ScriptedSource()
        self.told: list[str] = []
        self.reflector = Reflector(self.source, resource_of(Node), LoopClock(), rng=lambda: 0.0)
        self.reflector.store.subscribe(self.tell)
        self.task: asyncio.Task[None] | None = None

    def tell(self, old: Node | None, new: Node | None) -> None:
        sign = "+" if old is None else "-" if new is None else "~"
        value = new if new is not None else old
        assert value is not None
        self.told.append(f"{sign}{value.name}@{value.resource_version}")

    async def lasts(self, seconds: float) -> list[str]:
        """What is told within *seconds*."""
        if self.task is None:
            self.task = asyncio.create_task(self.reflector.run())
        before = len(self.told)
        await asyncio.sleep(seconds)
        return self.told[before:]


@pytest_asyncio.fixture
async def run() -> AsyncIterator[Run]:
    run = Run()
    yield run
    if run.task is not None:
        run.task.cancel()
        await asyncio.gather(run.task, return_exceptions=True)


async def test_list_then_watch(run: Run) -> None:
    run.source.lists = [listing(5, node("a", 1), node("b", 2))]
    run.source.watches = [
        [event("ADDED", node("c", 6)), event("MODIFIED", node("a", 7)), event("DELETED", node("b", 8)), 1e6]
    ]
    assert await run.lasts(1) == ["+a@1", "+b@2", "+c@6", "~a@7", "-b@2"]
    assert run.reflector.synced.is_set()
    assert set(run.reflector.store.objects) == {"a", "c"}
    assert run.reflector.resource_version == "8"
    (_, path, query) = run.source.asked[1]
    assert path == "/api/v1/nodes"
    assert query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": 300,
    }


@pytest.mark.parametrize("end", [[], [CUT]], ids=["ended", "cut"])
async def test_resumes_from_the_last_event_or_bookmark(run: Run, end: list[Exception]) -> None:
    run.source.lists = [listing(5)]
    run.source.watches = [[2.0, event("ADDED", node("c", 6)), *end], [2.0, bookmark(40)], [1e6]]
    assert await run.lasts(100) == ["+c@6"]
    assert run.source.versions == ["list 0", "watch 5", "watch 6", "watch 40"]


@pytest.mark.parametrize(
    "expired",
    [[event("ERROR", status(410, "too old"))], [ResourceExpiredError(410)]],
    ids=["in the stream", "as the answer"],
)
async def test_expired_lists_again_and_finds_what_was_missed(
    run: Run, expired: list[bytes | float | Exception]
) -> None:
    run.source.lists = [
        listing(5, node("a", 1), node("b", 2), node("c", 3)),
        listing(90, node("b", 2), node("c", 70), node("d", 80)),
    ]
    run.source.watches = [expired, [1e6]]
    assert await run.lasts(0.01) == ["+a@1", "+b@2", "+c@3", "~c@70", "+d@80", "-a@1"]
    assert run.source.versions == ["list 0", "watch 5", "list 5", "watch 90"]


async def test_expired_list_asks_for_the_newest(run: Run) -> None:
    run.source.lists = [listing(5), ResourceExpiredError(410), listing(9)]
    run.source.watches = [[event("ERROR", status(410))], [1e6]]
    await run.lasts(0.01)
    assert run.source.versions == ["list 0", "watch 5", "list 5", "list -", "watch 9"]


async def test_made_anew_under_the_same_name_is_another(run: Run) -> None:
    run.source.lists = [listing(5, node("a", 1, uid="u1")), listing(9, node("a", 8, uid="u2"))]
    run.source.watches = [[event("ERROR", status(410))], [1e6]]
    assert await run.lasts(0.01) == ["+a@1", "-a@1", "+a@8"]


async def test_errors_back_off_and_never_spin(run: Run) -> None:
    run.source.lists = [CUT, ApiError(500), ApiError(403), ApiError(429, retry_after=20.0), listing(5)]
    await run.lasts(100)
    times = [at for at, _, _ in run.source.asked]
    assert times[:4] == pytest.approx([0, 0.8, 2.4, 5.6])
    assert 25.6 <= times[4] <= 31
    assert run.reflector.synced.is_set()


async def test_watches_that_end_at_once_back_off(run: Run) -> None:
    run.source.lists = [listing(5)]
    run.source.watches = [[] for _ in range(1000)]
    await run.lasts(60)
    assert len(run.source.asked) < 10


async def test_watches_that_bring_only_bookmarks_back_off(run: Run) -> None:
    run.source.lists = [listing(5)]
    run.source.watches = [[bookmark(i), CUT] for i in range(6, 1000)]
    await run.lasts(60)
    assert len(run.source.asked) < 10


async def test_refused_watch_resumes_without_a_list(run: Run) -> None:
    run.source.lists = [listing(5)]
    run.source.watches = [
        [TransportError("refused", sent=False)],
        [ApiError(500)],
        [event("ADDED", node("a", 6)), 1e6],
    ]
    assert await run.lasts(10) == ["+a@6"]
    assert run.source.versions == ["list 0", "watch 5", "watch 5", "watch 5"]


async def test_watch_that_the_server_forgets_is_ended(run: Run) -> None:
    run.source.lists = [listing(5)]
    await run.lasts(331)
    assert run.source.versions == ["list 0", "watch 5", "watch 5"]


async def test_broken_line_resumes(run: Run) -> None:
    run.source.lists = [listing(5)]
    run.source.watches = [[event("ADDED", node("a", 6)) + b'{"type":"ADD', 2.0], [b"garbage\n"], [1e6]]
    assert await run.lasts(10) == ["+a@6"]
    assert run.source.versions == ["list 0", "watch 5", "watch 6", "watch 6"]


async def test_malformed_object_is_named_and_left_out(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    broken = {**node("bad", 3), "spec": {"taints": 7}}
    run.source.lists = [listing(5, node("a", 1), broken)]
    run.source.watches = [
        [event("MODIFIED", {**node("a", 6), "spec": {"taints": "?"}}), event("ADDED", node("b", 7)), 5.0],
        [1e6],
    ]
    with caplog.at_level(logging.ERROR):
        assert await run.lasts(10) == ["+a@1", "-a@1", "+b@7"]
    assert "Node bad: spec.taints" in caplog.text
    assert "Node a: spec.taints" in caplog.text
    assert run.source.versions[-1] == "watch 7"


async def test_resource_that_is_not_served_is_empty(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """A custom resource without its definition: no reason not to start; it may come later."""
    run.source.lists = [NotFoundError(404), NotFoundError(404), listing(5, node("a", 1))]
    assert await run.lasts(1) == []
    assert run.reflector.synced.is_set()
    assert await run.lasts(70) == ["+a@1"]
    assert caplog.text.count("does not serve") == 1


async def test_failing_handler_does_not_stop_the_watch(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    told = run.told
    run.told = None  # type: ignore[assignment]
    run.source.lists = [listing(5, node("a", 1))]
    run.source.watches = [[2.0, event("ADDED", node("b", 6)), 1e6]]
    run.task = asyncio.create_task(run.reflector.run())
    await asyncio.sleep(1)
    run.told = told
    assert await run.lasts(5) == ["+b@6"]
    assert "callback on changes of Node failed" in caplog.text
