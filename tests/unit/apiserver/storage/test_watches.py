"""Watches over REST: where they begin, what they report, and how they end."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.apiserver.direct_client import CONFIG_MAPS, DirectClient

from bayplan.apiserver.rest.object_views import MetadataView
from bayplan.apiserver.storage.selection import select
from bayplan.apiserver.storage.watches import BOOKMARK_SECONDS, Watch

METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
pytestmark = pytest.mark.asyncio


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


def told(events: list[tuple[str, dict]]) -> list[tuple[str, str]]:  # type: ignore[type-arg]
    return [(type_, obj["metadata"].get("name", "")) for type_, obj in events]


@pytest.mark.parametrize("query", ["watch=1", "watch=1&resourceVersion=0", "watch=true&resourceVersion="], ids=str)
async def test_without_a_version_a_watch_begins_with_what_is_there(client: DirectClient, query: str) -> None:
    client.create("a")
    client.create("b")

    events = await client.events(f"{CONFIG_MAPS}?{query}&timeoutSeconds=1")

    assert told(events) == [("ADDED", "a"), ("ADDED", "b")]


async def test_changes_before_the_first_read_are_reported(client: DirectClient) -> None:
    """A change between the response headers and the first event of an empty list."""
    response = client.response("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")
    client.create("a")
    assert response.stream is not None
    lines = [line async for line in response.stream]

    assert [json.loads(line)["object"]["metadata"]["name"] for line in lines] == ["a"]


async def test_with_a_version_a_watch_goes_on_from_there(client: DirectClient) -> None:
    version = client.create("a")["metadata"]["resourceVersion"]
    client.create("b")
    client.request("DELETE", f"{CONFIG_MAPS}/a")

    events = await client.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={version}")

    assert told(events) == [("ADDED", "b"), ("DELETED", "a")]
    assert int(events[1][1]["metadata"]["resourceVersion"]) == client.server.store.version


async def test_a_compacted_version_ends_the_watch(client: DirectClient) -> None:
    """One event, 410 Expired, then the end: the client lists again."""
    version = client.create("a")["metadata"]["resourceVersion"]
    client.create("b")
    client.server.store.compact(client.server.store.version)

    ((type_, status),) = await client.events(f"{CONFIG_MAPS}?watch=1&resourceVersion={version}")

    assert (type_, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert status["message"] == f"too old resource version: {version} ({client.server.store.version})"


async def test_a_future_version_ends_a_watch_with_initial_events(client: DirectClient) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9999"
    ((type_, status),) = await client.events(f"{CONFIG_MAPS}?{query}")

    assert (type_, status["code"], status["reason"]) == ("ERROR", 504, "Timeout")


async def test_initial_events_end_with_a_bookmark(client: DirectClient) -> None:
    """Requested by parameter, or as older clients do: bookmarks allowed and no version."""
    client.create("a")
    new = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    for query in (new, "allowWatchBookmarks=true"):
        events = await client.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&{query}")
        assert told(events) == [("ADDED", "a"), ("BOOKMARK", "")]
        assert events[1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_initial_events_may_be_left_out(client: DirectClient) -> None:
    client.create("a")
    query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan"

    assert await client.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&{query}") == []


async def test_bookmarks_come_before_the_end_if_there_is_news(client: DirectClient) -> None:
    """Two seconds before the end, for a client whose version would otherwise be old by then."""
    version = client.create("a")["metadata"]["resourceVersion"]
    client.create("b", labels={"of": "others"})
    query = f"watch=1&timeoutSeconds=10&allowWatchBookmarks=true&labelSelector=mine&resourceVersion={version}"
    started = client.clock.monotonic()

    ((type_, bookmark),) = await client.events(f"{CONFIG_MAPS}?{query}")

    assert (type_, bookmark["metadata"]) == ("BOOKMARK", {"resourceVersion": str(client.server.store.version)})
    assert client.clock.monotonic() - started == 10


async def test_without_changes_there_is_no_bookmark(client: DirectClient) -> None:
    client.create("a")
    query = f"watch=1&timeoutSeconds={int(BOOKMARK_SECONDS) * 3}&allowWatchBookmarks=true"

    assert await client.events(f"{CONFIG_MAPS}?{query}&resourceVersion={client.server.store.version}") == []


async def test_a_watch_of_one_object(client: DirectClient) -> None:
    """By the deprecated path, which has its name; a field selector with another name is refused."""
    client.create("a")
    client.create("b")
    path = "/api/v1/watch/namespaces/default/configmaps/a"

    assert told(await client.events(f"{path}?timeoutSeconds=1")) == [("ADDED", "a")]
    assert client.request("GET", f"{path}?fieldSelector=metadata.name%3Db")[0] == 400


async def test_metadata_only(client: DirectClient) -> None:
    client.create("a")
    ((_, obj),) = await client.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1", accept=METADATA)

    assert (obj["kind"], obj["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert obj["metadata"]["name"] == "a"


async def test_only_the_first_table_has_columns(client: DirectClient) -> None:
    client.create("a")
    client.create("b")
    events = await client.events(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1", accept=TABLE)

    assert [obj["kind"] for _, obj in events] == ["Table", "Table"]
    assert [bool(obj["columnDefinitions"]) for _, obj in events] == [True, False]


async def test_a_closed_watch_ends_and_unsubscribes(client: DirectClient) -> None:
    """Its reader sees the end, and the store has no subscriber left."""
    store = client.server.store
    watch = Watch(
        store, "configmaps", select("", "", ""), MetadataView("v1"), _Patient(), since=1, timeout_seconds=60
    )
    waiting = asyncio.create_task(anext(watch, None))
    await asyncio.sleep(0)
    watch.close()

    assert await waiting is None
    assert not store._collection("configmaps").subscribers


class _Patient:
    """A clock whose sleeps never end."""

    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()
