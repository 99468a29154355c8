"""OpenAPI: what kubectl looks for is there, and every reference leads somewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.apiserver.catalogue import built_in
from bayplan.apiserver.exchange import Request
from bayplan.apiserver.openapi import OpenApi
from bayplan.apiserver.resources import Resource, ResourceTable
from bayplan.apiserver.schemas import published


def _custom_schema(resource: Resource) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object"}}}


def _openapi(table: ResourceTable | None = None) -> OpenApi:
    return OpenApi(table or built_in(), published(), _custom_schema)


def _get(openapi: OpenApi, path: str, **query: list[str]) -> Any:
    response = openapi.respond(Request("GET", path, query=query))
    assert response is not None
    assert response.status == 200
    return json.loads(response.body)


def _urls(openapi: OpenApi) -> dict[str, str]:
    paths = _get(openapi, "/openapi/v3")["paths"]
    return {place: told["serverRelativeURL"] for place, told in paths.items()}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "$ref" and isinstance(each, str):
                yield each
            else:
                yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


_PLACES = sorted({resource.prefix.removeprefix("/") for resource in built_in()})


@pytest.mark.parametrize("place", _PLACES)
def test_documents_are_complete(place: str) -> None:
    """A reference that leads nowhere breaks generators and `kubectl explain --recursive`."""
    document = _get(_openapi(), f"/openapi/v3/{place}")
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(_references(document)) <= known


def test_every_group_version_has_a_document() -> None:
    """And the index says where."""
    assert sorted(_urls(_openapi())) == _PLACES


def test_second_version_is_one_document() -> None:
    """For clients that have not heard of v3."""
    document = _get(_openapi(), "/openapi/v2")
    known = {f"#/definitions/{name}" for name in document["definitions"]}
    assert set(_references(document)) <= known
    assert "io.k8s.api.apps.v1.Deployment" in document["definitions"]


def test_patches_tell_their_parameters_and_kind() -> None:
    """kubectl asks for server-side field validation only where the patch of the kind knows it."""
    document = _get(_openapi(), "/openapi/v3/apis/apps/v1")
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} == {each["name"] for each in patch["parameters"]}


def test_schemas_have_what_merging_needs() -> None:
    """Descriptions, merge keys, list types, defaults and enumerations; no mark of the package they come from."""
    schemas = _get(_openapi(), "/openapi/v3/api/v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    protocol = schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]
    assert (protocol["type"], protocol["default"], protocol["enum"]) == ("string", "TCP", ["SCTP", "TCP", "UDP"])
    pod = schemas["io.k8s.api.core.v1.Pod"]
    assert "enum" not in pod["properties"]["kind"]
    spec = pod["properties"]["spec"]
    assert spec["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]
    assert spec["default"] == {}
    assert spec["description"].startswith("Specification of the desired behavior of the pod.")


def test_hashes_change_with_what_they_stand_for() -> None:
    """A document asked for by its hash may be kept for ever; an old hash is told the way to the new one."""
    table = built_in()
    openapi = _openapi(table)
    before = _urls(openapi)
    table.add(Resource("example.com", "v1", "Lamp", "lamps", "lamp", True, custom=True))
    after = _urls(openapi)
    assert after.keys() - before.keys() == {"apis/example.com/v1"}
    assert {place: after[place] for place in before} == before
    path, _, hash_ = after["apis/example.com/v1"].partition("?hash=")
    response = openapi.respond(Request("GET", path, query={"hash": [hash_]}))
    assert response is not None
    assert response.headers["Cache-Control"] == "public, immutable"
    moved = openapi.respond(Request("GET", path, query={"hash": ["old"]}))
    assert moved is not None
    assert (moved.status, moved.headers["Location"]) == (301, after["apis/example.com/v1"])


def test_other_paths_are_not_its_own() -> None:
    """None lets the next station answer."""
    openapi = _openapi()
    assert openapi.respond(Request("GET", "/openapi/v3/apis/nothing/v1")) is None
    assert openapi.respond(Request("GET", "/api/v1/pods")) is None
