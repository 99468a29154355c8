"""The paths of a resource, with what clients read: the parameters and kinds of each operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.schema.schemas import Json

_SELECTING: Final = (
    "continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch timeoutSeconds"
)
_LIST: Final = f"allowWatchBookmarks {_SELECTING} sendInitialEvents watch".split()
_WRITE: Final = ["dryRun", "fieldManager", "fieldValidation"]
_DELETE: Final = ["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"]
_TYPES: Final = {
    "boolean": {"allowWatchBookmarks", "force", "orphanDependents", "sendInitialEvents", "watch"},
    "integer": {"gracePeriodSeconds", "limit", "timeoutSeconds"},
}
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_PATCHES: Final = ("apply-patch+yaml", "json-patch+json", "merge-patch+json", "strategic-merge-patch+json")
_BODIES: Final = ("application/json", "application/yaml")


class OpenApiPaths:
    """Builds the paths of one resource; `definition` and `list_definition` are the schemas of its objects."""

    def __init__(self, resource: ApiResource, definition: str, list_definition: str, place: str) -> None:
        self._resource = resource
        self._definition = definition
        self._list = list_definition
        self._place = place

    def all(self) -> Iterator[tuple[str, Json]]:
        resource = self._resource
        base = f"{resource.prefix}/{resource.plural}"
        scoped = f"{resource.prefix}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else base
        if resource.namespaced and "list" in resource.verbs:
            yield base, {"get": self._operation("list", _LIST, self._list)}
        if collection := self._collection():
            yield scoped, self._with_parameters(collection, scoped)
        item = f"{scoped}/{{name}}"
        if operations := self._item():
            yield item, self._with_parameters(operations, item)
        if "status" in resource.subresources:
            status = {method: self._item()[method] for method in ("get", "put", "patch")}
            yield f"{item}/status", self._with_parameters(status, item)

    def _collection(self) -> Json:
        operations = {
            "get": ("list", _LIST, self._list),
            "post": ("create", _WRITE, self._definition),
            "delete": ("deletecollection", [*_SELECTING.split(), *_DELETE], _META + "Status"),
        }
        return self._served(operations)

    def _item(self) -> Json:
        operations = {
            "get": ("get", [], self._definition),
            "put": ("update", _WRITE, self._definition),
            "delete": ("delete", _DELETE, _META + "Status"),
            "patch": ("patch", [*_WRITE, "force"], self._definition),
        }
        return self._served(operations)

    def _served(self, operations: dict[str, tuple[str, list[str], str]]) -> Json:
        return {
            method: self._operation(verb, parameters, response)
            for method, (verb, parameters, response) in operations.items()
            if verb in self._resource.verbs
        }

    def _operation(self, verb: str, parameters: list[str], response: str) -> Json:
        resource = self._resource
        action = {"create": "post", "update": "put"}.get(verb, verb)
        operation: Json = {
            "tags": ["_".join((resource.group.partition(".")[0] or "core", resource.version))],
            "description": f"{verb} {resource.plural}",
            "operationId": f"{verb}_{resource.api_version}_{resource.plural}",
            "parameters": [_parameter(name) for name in parameters],
            "responses": {"200": {"description": "OK", "content": self._content(_BODIES, response)}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _group_version_kind(resource),
        }
        if verb in ("create", "update"):
            operation["requestBody"] = {"content": self._content(("*/*",), self._definition), "required": True}
        if verb == "patch":
            operation["requestBody"] = {
                "content": self._content(self._patches(), _META + "Patch"),
                "required": True,
            }
        return operation

    def _patches(self) -> tuple[str, ...]:
        accepted = _PATCHES[:3] if self._resource.custom else _PATCHES
        return tuple(f"application/{name}" for name in accepted)

    def _content(self, media_types: tuple[str, ...], definition: str) -> Json:
        return {media_type: {"schema": {"$ref": self._place + definition}} for media_type in media_types}

    def _with_parameters(self, operations: Json, path: str) -> Json:
        named = [name for name in ("name", "namespace") if f"{{{name}}}" in path]
        parameters = [{"name": name, "in": "path", "required": True, "schema": _typed("string")} for name in named]
        return operations | ({"parameters": parameters} if parameters else {})


def _group_version_kind(resource: ApiResource) -> Json:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _parameter(name: str) -> Json:
    kind = next((kind for kind, names in _TYPES.items() if name in names), "string")
    return {"name": name, "in": "query", "schema": _typed(kind)}


def _typed(kind: str) -> Json:
    return {"type": kind, "uniqueItems": True}
