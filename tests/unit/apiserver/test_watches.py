"""Watches over REST: where they begin, what they say, and how they end."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.apiserver.asking import CONFIG_MAPS, Asker

from bayplan.apiserver.rest.views import MetadataView
from bayplan.apiserver.selection import select
from bayplan.apiserver.watches import BOOKMARK_SECONDS, Watch

METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
pytestmark = pytest.mark.asyncio


@pytest.fixture
def asker() -> Asker:
    return Asker()


def told(events: list[tuple[str, dict]]) -> list[tuple[str, str]]:  # type: ignore[type-arg]
    return [(type_, obj["metadata"].get("name", "")) for type_, obj in events]


@pytest.mark.parametrize("query", ["watch=1", "watch=1&resourceVersion=0", "watch=true&resourceVersion="], ids=str)
async def test_without_a_version_a_watch_begins_with_what_is_there(asker: Asker, query: str) -> None:
    asker.create("a")
    asker.create("b")

    events = await asker.events(f"{CONFIG_MAPS}?{query}&timeoutSeconds=1")

    assert told(events) == [("ADDED", "a"), ("ADDED", "b")]


async def test_what_happens_before_the_first_read_is_told(asker: Asker) -> None:
    """A change between the answer's head and its first event, when there was nothing at first."""
    response = asker.response("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")
    asker.create("a")
    assert response.stream is not None
    lines = [line async for line in response.stream]

    assert [json.loads(line)["object"]["metadata"]["name"] for line in lines] == ["a"]


async def test_with_a_version_a_watch_goes_on_from_there(asker: Asker) -> None:
    version = asker.create("a")["metadata"]["resourceVersion"]
    asker.create("b")
    asker.ask("DELETE", f"{CONFIG_MAPS}/a")

    events = await asker.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={version}")

    assert told(events) == [("ADDED", "b"), ("DELETED", "a")]
    assert int(events[1][1]["metadata"]["resourceVersion"]) == asker.server.store.version


async def test_a_forgotten_version_ends_the_watch(asker: Asker) -> None:
    """One event, 410 Expired, then the end: the client lists again."""
    version = asker.create("a")["metadata"]["resourceVersion"]
    asker.create("b")
    asker.server.store.compact(asker.server.store.version)

    ((type_, status),) = await asker.events(f"{CONFIG_MAPS}?watch=1&resourceVersion={version}")

    assert (type_, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert status["message"] == f"too old resource version: {version} ({asker.server.store.version})"


async def test_a_version_of_the_future_ends_a_watch_with_initial_events(asker: Asker) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9999"
    ((type_, status),) = await asker.events(f"{CONFIG_MAPS}?{query}")

    assert (type_, status["code"], status["reason"]) == ("ERROR", 504, "Timeout")


async def test_initial_events_end_with_a_bookmark(asker: Asker) -> None:
    """Asked for by name, or as old clients do: bookmarks allowed and no version."""
    asker.create("a")
    new = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    for query in (new, "allowWatchBookmarks=true"):
        events = await asker.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&{query}")
        assert told(events) == [("ADDED", "a"), ("BOOKMARK", "")]
        assert events[1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_initial_events_may_be_left_out(asker: Asker) -> None:
    asker.create("a")
    query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan"

    assert await asker.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&{query}") == []


async def test_bookmarks_come_before_the_end_if_there_is_news(asker: Asker) -> None:
    """Two seconds before the time is up, for a client that saw nothing since a version that is old by then."""
    version = asker.create("a")["metadata"]["resourceVersion"]
    asker.create("b", labels={"of": "others"})
    query = f"watch=1&timeoutSeconds=10&allowWatchBookmarks=true&labelSelector=mine&resourceVersion={version}"
    started = asker.clock.monotonic()

    ((type_, bookmark),) = await asker.events(f"{CONFIG_MAPS}?{query}")

    assert (type_, bookmark["metadata"]) == ("BOOKMARK", {"resourceVersion": str(asker.server.store.version)})
    assert asker.clock.monotonic() - started == 10


async def test_no_news_is_no_bookmark(asker: Asker) -> None:
    asker.create("a")
    query = f"watch=1&timeoutSeconds={int(BOOKMARK_SECONDS) * 3}&allowWatchBookmarks=true"

    assert await asker.events(f"{CONFIG_MAPS}?{query}&resourceVersion={asker.server.store.version}") == []


async def test_a_watch_of_one_object(asker: Asker) -> None:
    """By the old path, which has its name; a field selector that says another name is refused."""
    asker.create("a")
    asker.create("b")
    path = "/api/v1/watch/namespaces/default/configmaps/a"

    assert told(await asker.events(f"{path}?timeoutSeconds=1")) == [("ADDED", "a")]
    assert asker.ask("GET", f"{path}?fieldSelector=metadata.name%3Db")[0] == 400


async def test_metadata_only(asker: Asker) -> None:
    asker.create("a")
    ((_, obj),) = await asker.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1", accept=METADATA)

    assert (obj["kind"], obj["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert obj["metadata"]["name"] == "a"


async def test_only_the_first_table_has_columns(asker: Asker) -> None:
    asker.create("a")
    asker.create("b")
    events = await asker.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1", accept=TABLE)

    assert [obj["kind"] for _, obj in events] == ["Table", "Table"]
    assert [bool(obj["columnDefinitions"]) for _, obj in events] == [True, False]


async def test_a_closed_watch_ends_and_lets_go(asker: Asker) -> None:
    """Whoever waits for it sees the end, and the store has forgotten it."""
    store = asker.server.store
    watch = Watch(
        store, "configmaps", select("", "", ""), MetadataView("v1"), _Patient(), since=1, timeout_seconds=60
    )
    waiting = asyncio.create_task(anext(watch, None))
    await asyncio.sleep(0)
    watch.close()

    assert await waiting is None
    assert not store._shelf("configmaps").subscribers


class _Patient:
    """A clock that never comes to the end of a sleep."""

    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()
