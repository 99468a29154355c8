"""Claims, slices and classes: what the server fills in, drops and keeps. The recordings have the refusals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.direct_client import DirectClient

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
MERGE = "application/merge-patch+json"
RESULT = {"request": "r", "driver": "gpu.example.com", "pool": "a", "device": "d"}


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


def claim(client: DirectClient, **request: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", **request}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    status, made = client.request("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    assert status == 201, made
    return dict(made)


def patched(client: DirectClient, path: str, change: dict[str, Any]) -> dict[str, Any]:
    status, changed = client.request("PATCH", path, change, content_type=MERGE)
    assert status == 200, changed
    return dict(changed)


def test_a_request_asks_for_one_device(client: DirectClient) -> None:
    """And a toleration compares values, unless it says otherwise."""
    made = claim(client, tolerations=[{"key": "a", "value": "b"}])

    exactly = made["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)
    assert exactly["tolerations"] == [{"key": "a", "value": "b", "operator": "Equal"}]


def test_reports_end_with_the_allocation(client: DirectClient) -> None:
    """A driver's report about a device that is taken back is dropped."""
    claim(client)
    patched(client, f"{CLAIMS}/c/status", {"status": {"allocation": {"devices": {"results": [RESULT]}}}})
    report = {"driver": "gpu.example.com", "pool": "a", "device": "d", "data": {"x": 1}}
    assert patched(client, f"{CLAIMS}/c/status", {"status": {"devices": [report]}})["status"]["devices"]

    assert patched(client, f"{CLAIMS}/c/status", {"status": {"allocation": None}})["status"] == {}


def test_the_status_endpoint_changes_no_metadata(client: DirectClient) -> None:
    claim(client)

    changed = patched(client, f"{CLAIMS}/c/status", {"metadata": {"labels": {"a": "b"}, "finalizers": ["x/y"]}})

    assert {"labels", "finalizers"}.isdisjoint(changed["metadata"])


def _slice(**device: Any) -> dict[str, Any]:
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "a", "pool": pool, "devices": [{"name": "d", **device}]}
    return {"metadata": {"name": "a"}, "spec": spec}


def test_a_taint_knows_when_it_was_added(client: DirectClient) -> None:
    status, made = client.request(
        "POST", f"{GROUP}/resourceslices", _slice(taints=[{"key": "k", "effect": "None"}])
    )

    assert status == 201
    assert made["spec"]["devices"][0]["taints"][0]["timeAdded"] == made["metadata"]["creationTimestamp"]


def test_fields_behind_gates_are_dropped(client: DirectClient) -> None:
    """Lists as attributes and mappings to node resources are off in 1.36."""
    attributes = {"a": {"int": 1, "ints": [1]}}
    body = _slice(attributes=attributes, nodeAllocatableResourceMappings={"cpu": {"capacityKey": "c"}})

    status, made = client.request("POST", f"{GROUP}/resourceslices", body)

    assert status == 201
    assert made["spec"]["devices"] == [{"name": "d", "attributes": {"a": {"int": 1}}}]


def test_a_driver_in_capitals_is_worth_a_warning(client: DirectClient) -> None:
    body = _slice()
    body["spec"]["driver"] = "GPU.example.com"

    response = client.response("POST", f"{GROUP}/resourceslices", body)

    text = 'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters'
    assert (response.status, response.warnings) == (201, (text,))


def test_parameters_that_are_there_may_stay_long(client: DirectClient) -> None:
    """The limit is for new ones: an unrelated change of a class goes through."""
    parameters = {"a": "b" * 9_000}
    config = [{"opaque": {"driver": "d", "parameters": parameters}}]
    body = {"metadata": {"name": "gpu"}, "spec": {"config": config}}
    assert client.request("POST", f"{GROUP}/deviceclasses", body)[0] == 201

    changed = patched(client, f"{GROUP}/deviceclasses/gpu", {"spec": {"extendedResourceName": "example.com/gpu"}})

    assert changed["metadata"]["generation"] == 2
    assert changed["spec"]["config"] == config
