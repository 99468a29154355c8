"""The OpenAPI documents of the served resources: v3 by group and version, with hashes for caches, and v2 as one.

For `kubectl explain`, for clients that look up merge keys or supported parameters, and for model generators. JSON;
v2 also as protobuf, which kubectl requests when v3 does not have a kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from bayplan.apiserver.openapi.components import PLACES, OpenApiComponents, custom_definition
from bayplan.apiserver.openapi.openapi_paths import OpenApiPaths
from bayplan.apiserver.openapi.openapi_protobuf import CONTENT_TYPE, encode_swagger
from bayplan.apiserver.registry.api_resources import ApiResource, ResourceTable
from bayplan.apiserver.schema.schemas import Json, Schemas
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse
from bayplan.release import DEFAULT, Release

_PREFIX: Final = "/openapi/"
_INDEX: Final = "/openapi/v3"
_V2: Final = "/openapi/v2"
_V2_PROTOBUF: Final = f"{_V2} as protobuf"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Bodies that requests and responses of every resource may have.
_COMMON: Final = tuple(_META + name for name in ("DeleteOptions", "Patch", "Status", "ListMeta", "ObjectMeta"))
#: The schema of a custom resource, by its API resource.
CustomSchema = Callable[[ApiResource], Json]


class OpenApi:
    """Serves `/openapi/v2`, `/openapi/v3` and the paths below it."""

    def __init__(
        self,
        table: ResourceTable,
        schemas: Schemas,
        custom_schema: CustomSchema,
        release: Release = DEFAULT,
    ) -> None:
        self._table = table
        self._info = {"title": "Kubernetes", "version": release.minor}
        self._schemas = schemas
        self._custom_schema = custom_schema
        self._components = {version: OpenApiComponents(schemas, version) for version in PLACES}
        self._generation = -1
        self._hashes: dict[str, str] = {}
        self._documents: dict[str, bytes] = {}

    def respond(self, request: ApiRequest) -> ApiResponse | None:
        """The response, or None if there is no such document."""
        if not request.path.startswith(_PREFIX):
            return None
        self._renew()
        path = request.path.rstrip("/")
        if path == _INDEX:
            return ApiResponse(200, self._document(path, self._index))
        if path == _V2:
            return self._second_version(request)
        place = path.removeprefix(f"{_INDEX}/")
        if place not in self._hashes:
            return None
        body = self._document(place, lambda: self._group_version(place))
        requested = request.first("hash")
        if requested and requested != self._hashes[place]:
            return ApiResponse(301, headers={"Location": self._url(place)})
        return ApiResponse(200, body, headers={"Cache-Control": "public, immutable"} if requested else {})

    def _second_version(self, request: ApiRequest) -> ApiResponse:
        if "protobuf" in request.accept and "json" not in request.accept:
            body = self._documents.get(_V2_PROTOBUF)
            if body is None:
                body = self._documents[_V2_PROTOBUF] = encode_swagger(self._swagger())
            return ApiResponse(200, body, content_type=CONTENT_TYPE)
        return ApiResponse(200, self._document(_V2, self._swagger))

    def _renew(self) -> None:
        if self._generation == self._table.generation:
            return
        self._generation = self._table.generation
        self._documents.clear()
        self._hashes = {place: self._hash(resources) for place, resources in self._places().items()}

    def _places(self) -> dict[str, list[ApiResource]]:
        places: dict[str, list[ApiResource]] = {}
        for resource in self._table:
            places.setdefault(resource.prefix.removeprefix("/"), []).append(resource)
        return places

    def _hash(self, resources: list[ApiResource]) -> str:
        described = [
            (resource, self._custom_schema(resource) if resource.custom else None) for resource in resources
        ]
        return hashlib.sha512(msgspec.json.encode(described)).hexdigest().upper()

    def _document(self, path: str, make: Callable[[], Json]) -> bytes:
        body = self._documents.get(path)
        if body is None:
            body = self._documents[path] = msgspec.json.encode(make())
        return body

    def _url(self, place: str) -> str:
        return f"{_INDEX}/{place}?hash={self._hashes[place]}"

    def _index(self) -> Json:
        return {"paths": {place: {"serverRelativeURL": self._url(place)} for place in sorted(self._hashes)}}

    def _group_version(self, place: str) -> Json:
        paths, definitions = self._described(self._places()[place], 3)
        return {"openapi": "3.0.0", "info": self._info, "paths": paths, "components": {"schemas": definitions}}

    def _swagger(self) -> Json:
        # Operations have another form in v2; its readers only look for definitions.
        _, definitions = self._described(list(self._table), 2)
        return {"swagger": "2.0", "info": self._info, "paths": {}, "definitions": definitions}

    def _described(self, resources: list[ApiResource], version: int) -> tuple[Json, Json]:
        paths: Json = {}
        definitions: Json = {}
        wanted = list(_COMMON)
        for resource in resources:
            name, list_name = self._names(resource)
            if resource.custom:
                definitions |= self._custom(resource, name, list_name, version)
            else:
                wanted += [each for each in (name, list_name) if each in self._schemas.definitions]
            paths |= dict(OpenApiPaths(resource, name, list_name, PLACES[version]).all())
        return dict(sorted(paths.items())), definitions | self._components[version].closure(wanted)

    def _names(self, resource: ApiResource) -> tuple[str, str]:
        published = self._schemas.definition_of(resource.group, resource.version, resource.kind)
        name = published or ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
        return name, f"{name}List"

    def _custom(self, resource: ApiResource, name: str, list_name: str, version: int) -> Json:
        place = PLACES[version]
        published = self._schemas.definitions[self._schemas.definition_of("", "v1", "ConfigMap") or ""]
        listed = self._schemas.definitions[self._schemas.definition_of("", "v1", "ConfigMapList") or ""]
        kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        own = custom_definition(self._custom_schema(resource), place, kind, published)
        whole = custom_definition({"type": "object"}, place, {**kind, "kind": f"{resource.kind}List"}, listed)
        whole["properties"]["metadata"]["allOf"] = [{"$ref": f"{place}{_META}ListMeta"}]
        whole["properties"]["items"] = {"type": "array", "items": {"$ref": place + name}}
        return {name: own, list_name: {**whole, "required": ["items"]}}
