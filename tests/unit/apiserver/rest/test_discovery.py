"""Discovery: legacy and aggregated forms of one table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bayplan.apiserver.registry.api_resources import ApiResource, ResourceTable
from bayplan.apiserver.registry.builtin_resources import built_in
from bayplan.apiserver.rest.discovery import Discovery
from bayplan.apiserver.transport.api_messages import ApiRequest
from bayplan.release import DEFAULT

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_KUBECTL = (
    f"{_AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


def _get(table: ResourceTable, path: str, accept: str = "application/json") -> Any:
    response = Discovery(table).respond(ApiRequest("GET", path, accept=accept))
    assert response is not None
    assert response.status == 200
    return json.loads(response.body)


def _custom(version: str) -> ApiResource:
    return ApiResource("example.com", version, "Lamp", "lamps", "lamp", True, subresources=("scale",), custom=True)


def test_groups_are_in_the_order_of_kube_apiserver() -> None:
    """Clients prefer the first group with a kind; groups of custom resources come last, sorted."""
    table = built_in()
    table.add(_custom("v1"))
    names = [group["name"] for group in _get(table, "/apis")["groups"]]
    assert names[:3] == ["apps", "events.k8s.io", "authentication.k8s.io"]
    assert names[-1] == "example.com"


def test_versions_are_in_order_of_maturity() -> None:
    """Stable before beta before alpha, the higher number first."""
    table = ResourceTable()
    for version in ("v1alpha1", "v1", "v2beta1", "v10", "v1beta2", "v2"):
        table.add(_custom(version))
    group = _get(table, "/apis/example.com")
    assert [each["version"] for each in group["versions"]] == ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1"]
    assert group["preferredVersion"]["version"] == "v10"


def test_resources_of_a_version() -> None:
    """Subresources are separate resources in the legacy form."""
    listed = {each["name"]: each for each in _get(built_in(), "/api/v1")["resources"]}
    assert listed["pods"] == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["po"],
        "categories": ["all"],
    }
    assert listed["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }


@pytest.mark.parametrize("accept", [_AGGREGATED, _KUBECTL], ids=["alone", "as kubectl asks"])
def test_aggregated_form_is_sent_on_request(accept: str) -> None:
    """One document for all groups; `responseKind` has a group only if it differs, or for a custom resource."""
    table = built_in()
    table.add(_custom("v1"))
    answer = _get(table, "/apis", accept)
    assert answer["kind"] == "APIGroupDiscoveryList"
    groups = {group["metadata"]["name"]: group for group in answer["items"]}
    (lamps,) = groups["example.com"]["versions"][0]["resources"]
    assert lamps["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Lamp"}
    assert lamps["subresources"][0]["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    roles = {each["resource"]: each for each in groups["rbac.authorization.k8s.io"]["versions"][0]["resources"]}
    assert roles["roles"]["responseKind"] == {"group": "", "version": "", "kind": "Role"}


def test_discovery_follows_the_table() -> None:
    """Added and removed resources appear in the next response."""
    table = built_in()
    discovery = Discovery(table)
    assert discovery.respond(ApiRequest("GET", "/apis/example.com/v1")) is None
    table.add(_custom("v1"))
    assert discovery.respond(ApiRequest("GET", "/apis/example.com/v1")) is not None
    table.remove("example.com", "v1", "lamps")
    assert discovery.respond(ApiRequest("GET", "/apis/example.com")) is None


def test_version_is_that_of_the_api() -> None:
    """kubectl compares it with its own."""
    assert _get(built_in(), "/version")["gitVersion"] == f"v{DEFAULT.version}"
