"""Lists over REST: pages, versions, and contradicting options."""

from __future__ import annotations

import base64
import json

import pytest
from tests.unit.apiserver.direct_client import CONFIG_MAPS, DirectClient


@pytest.fixture
def client() -> DirectClient:
    asked = DirectClient()
    for name in ("a", "b", "c"):
        asked.create(name, labels={"app": name})
    return asked


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


def test_pages_follow_each_other(client: DirectClient) -> None:
    """Each page has the requested size, the number of remaining objects and a token; the last one has neither."""
    names, path = [], f"{CONFIG_MAPS}?limit=2"
    _, first = client.request("GET", path)
    names += [each["metadata"]["name"] for each in first["items"]]
    _, last = client.request("GET", f"{path}&continue={first['metadata']['continue']}")
    names += [each["metadata"]["name"] for each in last["items"]]

    assert names == ["a", "b", "c"]
    assert first["metadata"]["remainingItemCount"] == 1
    assert set(last["metadata"]) == {"resourceVersion"}


def test_a_selection_has_no_remaining_count(client: DirectClient) -> None:
    """They would have to be evaluated; and a page is filled with selected objects only."""
    _, page = client.request("GET", f"{CONFIG_MAPS}?limit=1&labelSelector=app!%3Da")

    assert [each["metadata"]["name"] for each in page["items"]] == ["b"]
    assert set(page["metadata"]) == {"resourceVersion", "continue"}


def test_pages_over_all_namespaces(client: DirectClient) -> None:
    client.create("other", "/api/v1/namespaces")
    client.create("aa", "/api/v1/namespaces/other/configmaps")
    names, query = [], "limit=1"
    while True:
        _, page = client.request("GET", f"/api/v1/configmaps?{query}")
        names += [each["metadata"]["name"] for each in page["items"]]
        if "continue" not in page["metadata"]:
            break
        query = f"limit=1&continue={page['metadata']['continue']}"

    assert names == ["a", "b", "c", "aa"]


def test_version_zero_ignores_the_limit(client: DirectClient) -> None:
    """Any version is acceptable, so the server returns everything."""
    assert client.names(f"{CONFIG_MAPS}?limit=1&resourceVersion=0") == ["a", "b", "c"]


def test_an_exact_version_shows_the_past(client: DirectClient) -> None:
    _, listed = client.request("GET", CONFIG_MAPS)
    then = listed["metadata"]["resourceVersion"]
    client.create("d")

    assert client.names(f"{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact") == ["a", "b", "c"]
    assert client.names(f"{CONFIG_MAPS}?resourceVersion={then}") == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("resourceVersion=abc", 400, 'invalid resource version: resourceVersion: Invalid value: "abc": strconv.'),
        ("resourceVersion=99999999999999999999", 400, "invalid resource version: resourceVersion: Invalid value"),
        ("limit=", 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        ("limit=1.5", 400, 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        (
            "resourceVersionMatch=Exact",
            422,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, 'is forbidden for resourceVersion "0"'),
        ("resourceVersion=1&resourceVersionMatch=Nearly", 422, 'supported values: "Exact", "NotOlderThan", ""'),
        ("continue=x&resourceVersionMatch=Exact&resourceVersion=1", 422, "is forbidden when continue is provided"),
        ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
        ("watch=1&resourceVersionMatch=Exact", 422, "is forbidden for watch unless sendInitialEvents is provided"),
        ("watch=1&sendInitialEvents=true", 422, "requires setting resourceVersionMatch to NotOlderThan"),
        ("watch=1&resourceVersion=abc", 500, 'resourceVersion: Invalid value: "abc"'),
        (
            "resourceVersion=99999&resourceVersionMatch=NotOlderThan",
            504,
            "Too large resource version: 99999, current",
        ),
    ],
    ids=str,
)
def test_contradictions_are_refused(client: DirectClient, query: str, status: int, message: str) -> None:
    answered, answer = client.request("GET", f"{CONFIG_MAPS}?{query}")

    assert answered == status
    assert message in answer["message"]


@pytest.mark.parametrize(
    ("continue_", "message"),
    [
        pytest.param("nonsense", "invalid continue token: continue key is not valid: ", id="no token"),
        pytest.param(token(v="v2", rv=1, start="a"), "does not recognize this encoded version v2", id="version"),
        pytest.param(
            token(v="meta.k8s.io/v1", rv=0, start="a"), "incorrect encoded start resourceVersion", id="rv"
        ),
        pytest.param(token(v="meta.k8s.io/v1", rv=1, start=""), "encoded start key empty", id="no start"),
        pytest.param(token(v="meta.k8s.io/v1", rv=1, start="../a"), "is not valid: ../a", id="a path that climbs"),
    ],
)
def test_bad_tokens_are_refused(client: DirectClient, continue_: str, message: str) -> None:
    status, answer = client.request("GET", f"{CONFIG_MAPS}?limit=1&continue={continue_}")

    assert status == 400
    assert message in answer["message"]


def test_a_page_may_continue_with_the_current_version(client: DirectClient) -> None:
    """After a 410: the remaining objects of the current version."""
    _, first = client.request("GET", f"{CONFIG_MAPS}?limit=1")
    client.request("DELETE", f"{CONFIG_MAPS}/b")
    client.server.store.compact(client.server.store.version)
    status, gone = client.request("GET", f"{CONFIG_MAPS}?limit=5&continue={first['metadata']['continue']}")

    assert (status, gone["reason"]) == (410, "Expired")
    assert client.names(f"{CONFIG_MAPS}?limit=5&continue={gone['metadata']['continue']}") == ["c"]
