"""OpenAPI of what is served: v3 by group and version, with hashes for caches, and v2 in one document.

Made for `kubectl explain`, for clients that look up how lists merge or whether a parameter is known, and for
generators of models. JSON only: kubectl asks for nothing else since it reads v3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from bayplan.apiserver.exchange import Request, Response
from bayplan.apiserver.openapi.components import PLACES, Components, custom_definition
from bayplan.apiserver.openapi.paths import Paths
from bayplan.apiserver.resources import Resource, ResourceTable
from bayplan.apiserver.schemas import Json, Schemas

_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
_PREFIX: Final = "/openapi/"
_INDEX: Final = "/openapi/v3"
_V2: Final = "/openapi/v2"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: What requests and answers of every resource may be.
_COMMON: Final = tuple(_META + name for name in ("DeleteOptions", "Patch", "Status", "ListMeta", "ObjectMeta"))
#: The schema of a custom resource, by its row of the table.
CustomSchema = Callable[[Resource], Json]


class OpenApi:
    """Answers `/openapi/v2`, `/openapi/v3` and what is below it."""

    def __init__(self, table: ResourceTable, schemas: Schemas, custom_schema: CustomSchema) -> None:
        self._table = table
        self._schemas = schemas
        self._custom_schema = custom_schema
        self._components = {version: Components(schemas, version) for version in PLACES}
        self._generation = -1
        self._hashes: dict[str, str] = {}
        self._documents: dict[str, bytes] = {}

    def respond(self, request: Request) -> Response | None:
        """The answer, or None if there is no such document."""
        if not request.path.startswith(_PREFIX):
            return None
        self._renew()
        path = request.path.rstrip("/")
        if path == _INDEX:
            return Response(200, self._document(path, self._index))
        if path == _V2:
            return self._second_version(request)
        place = path.removeprefix(f"{_INDEX}/")
        if place not in self._hashes:
            return None
        body = self._document(place, lambda: self._group_version(place))
        asked = request.first("hash")
        if asked and asked != self._hashes[place]:
            return Response(301, headers={"Location": self._url(place)})
        return Response(200, body, headers={"Cache-Control": "public, immutable"} if asked else {})

    def _second_version(self, request: Request) -> Response:
        if "protobuf" in request.accept and "json" not in request.accept:
            return Response(406, b"this server writes OpenAPI as JSON only\n", content_type="text/plain")
        return Response(200, self._document(_V2, self._swagger))

    def _renew(self) -> None:
        if self._generation == self._table.generation:
            return
        self._generation = self._table.generation
        self._documents.clear()
        self._hashes = {place: self._hash(resources) for place, resources in self._places().items()}

    def _places(self) -> dict[str, list[Resource]]:
        places: dict[str, list[Resource]] = {}
        for resource in self._table:
            places.setdefault(resource.prefix.removeprefix("/"), []).append(resource)
        return places

    def _hash(self, resources: list[Resource]) -> str:
        told = [(resource, self._custom_schema(resource) if resource.custom else None) for resource in resources]
        return hashlib.sha512(msgspec.json.encode(told)).hexdigest().upper()

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
        return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": definitions}}

    def _swagger(self) -> Json:
        # Operations of v2 have another form; the definitions are what its readers look for.
        _, definitions = self._described(list(self._table), 2)
        return {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": definitions}

    def _described(self, resources: list[Resource], version: int) -> tuple[Json, Json]:
        paths: Json = {}
        definitions: Json = {}
        wanted = list(_COMMON)
        for resource in resources:
            name, list_name = self._names(resource)
            if resource.custom:
                definitions |= self._custom(resource, name, list_name, version)
            else:
                wanted += [each for each in (name, list_name) if each in self._schemas.definitions]
            paths |= dict(Paths(resource, name, list_name, PLACES[version]).all())
        return dict(sorted(paths.items())), definitions | self._components[version].closure(wanted)

    def _names(self, resource: Resource) -> tuple[str, str]:
        published = self._schemas.definition_of(resource.group, resource.version, resource.kind)
        name = published or ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
        return name, f"{name}List"

    def _custom(self, resource: Resource, name: str, list_name: str, version: int) -> Json:
        place = PLACES[version]
        published = self._schemas.definitions[self._schemas.definition_of("", "v1", "ConfigMap") or ""]
        listed = self._schemas.definitions[self._schemas.definition_of("", "v1", "ConfigMapList") or ""]
        kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        own = custom_definition(self._custom_schema(resource), place, kind, published)
        whole = custom_definition({"type": "object"}, place, {**kind, "kind": f"{resource.kind}List"}, listed)
        whole["properties"]["metadata"]["allOf"] = [{"$ref": f"{place}{_META}ListMeta"}]
        whole["properties"]["items"] = {"type": "array", "items": {"$ref": place + name}}
        return {name: own, list_name: {**whole, "required": ["items"]}}
