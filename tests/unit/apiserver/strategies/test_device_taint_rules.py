"""Rules that taint devices: what the server fills in. The recordings have the refusals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.direct_client import DirectClient

from bayplan.release import NEWEST, release_named

RULES = "/apis/resource.k8s.io/v1/devicetaintrules"
MERGE = "application/merge-patch+json"
RULE = {"metadata": {"name": "a"}, "spec": {"taint": {"key": "k", "effect": "NoSchedule"}}}


@pytest.fixture
def client() -> DirectClient:
    """With one rule, made five seconds ago."""
    client = DirectClient(release=NEWEST)
    assert client.request("POST", RULES, RULE)[0] == 201
    client.clock.advance(5)
    return client


def patched(client: DirectClient, **taint: Any) -> dict[str, Any]:
    change = {"spec": {"taint": taint}}
    status, changed = client.request("PATCH", f"{RULES}/a", change, content_type=MERGE)
    assert status == 200, changed
    return dict(changed)


def test_the_time_is_that_of_the_effect(client: DirectClient) -> None:
    """Another value leaves it; another effect begins now, unless the client says when."""
    made = client.request("GET", f"{RULES}/a")[1]
    created = made["metadata"]["creationTimestamp"]

    assert patched(client, value="v")["spec"]["taint"]["timeAdded"] == created
    assert patched(client, effect="NoExecute")["spec"]["taint"]["timeAdded"] > created
    changed = patched(client, effect="None", timeAdded="2020-01-01T00:00:00Z")
    assert changed["spec"]["taint"]["timeAdded"] == "2020-01-01T00:00:00Z"
    assert changed["metadata"]["generation"] == 4


def test_an_older_release_does_not_serve_rules() -> None:
    client = DirectClient(release=release_named("1.36"))

    assert client.request("POST", RULES, RULE)[0] == 404
