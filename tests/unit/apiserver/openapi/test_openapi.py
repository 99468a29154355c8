"""OpenAPI: what kubectl looks for exists, and every reference resolves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.apiserver.openapi import OpenApi
from bayplan.apiserver.registry.api_resources import ApiResource, ResourceTable
from bayplan.apiserver.registry.builtin_resources import built_in
from bayplan.apiserver.schema.schemas import published
from bayplan.apiserver.transport.api_messages import ApiRequest


def _custom_schema(resource: ApiResource) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object"}}}


def _openapi(table: ResourceTable | None = None) -> OpenApi:
    return OpenApi(table or built_in(), published(), _custom_schema)


def _get(openapi: OpenApi, path: str, **query: list[str]) -> Any:
    response = openapi.respond(ApiRequest("GET", path, query=query))
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
    """A dangling reference breaks generators and `kubectl explain --recursive`."""
    document = _get(_openapi(), f"/openapi/v3/{place}")
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(_references(document)) <= known


def test_every_group_version_has_a_document() -> None:
    """And the index says where."""
    assert sorted(_urls(_openapi())) == _PLACES


def test_second_version_is_one_document() -> None:
    """For clients without support for v3."""
    document = _get(_openapi(), "/openapi/v2")
    known = {f"#/definitions/{name}" for name in document["definitions"]}
    assert set(_references(document)) <= known
    assert "io.k8s.api.apps.v1.Deployment" in document["definitions"]


def test_patches_tell_their_parameters_and_kind() -> None:
    """kubectl requests server-side field validation only if the patch operation of the kind has the parameter."""
    document = _get(_openapi(), "/openapi/v3/apis/apps/v1")
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} == {each["name"] for each in patch["parameters"]}


def test_schemas_have_what_merging_needs() -> None:
    """Descriptions, merge keys, list types, defaults and enums; no traces of the package they come from."""
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
    """A document requested by its hash may be cached forever; an outdated hash is redirected to the new one."""
    table = built_in()
    openapi = _openapi(table)
    before = _urls(openapi)
    table.add(ApiResource("example.com", "v1", "Lamp", "lamps", "lamp", True, custom=True))
    after = _urls(openapi)
    assert after.keys() - before.keys() == {"apis/example.com/v1"}
    assert {place: after[place] for place in before} == before
    path, _, hash_ = after["apis/example.com/v1"].partition("?hash=")
    response = openapi.respond(ApiRequest("GET", path, query={"hash": [hash_]}))
    assert response is not None
    assert response.headers["Cache-Control"] == "public, immutable"
    moved = openapi.respond(ApiRequest("GET", path, query={"hash": ["old"]}))
    assert moved is not None
    assert (moved.status, moved.headers["Location"]) == (301, after["apis/example.com/v1"])


def test_other_paths_are_not_its_own() -> None:
    """None passes the request on to the next handler."""
    openapi = _openapi()
    assert openapi.respond(ApiRequest("GET", "/openapi/v3/apis/nothing/v1")) is None
    assert openapi.respond(ApiRequest("GET", "/api/v1/pods")) is None
