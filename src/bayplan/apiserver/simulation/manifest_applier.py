"""Reads objects from YAML manifests and applies them through the API, dependencies first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

import yaml

from bayplan.client import ApiError, ConflictError, KubeClient, NotFoundError
from bayplan.controllers.api_objects import Object, path_of

#: Kinds that others depend on.
FIRST: Final = ("Namespace", "CustomResourceDefinition", "StorageClass", "PriorityClass", "ServiceAccount")
APPLY: Final = "application/apply-patch+yaml"
FIELD_MANAGER: Final = "bayplan-up"
#: A definition needs a moment until its resource is served.
_TRIES: Final = 50
_WAIT_SECONDS: Final = 0.1


class ManifestError(Exception):
    """An invalid manifest, or one that the server refuses; the message says which and why."""


def read_manifests(text: str, where: str) -> list[Object]:
    """The objects in YAML documents; a List is flattened."""
    try:
        documents = [each for each in yaml.load_all(text, Loader=_ManifestLoader) if each is not None]
    except yaml.YAMLError as error:
        raise ManifestError(f"{where}: not YAML: {_in_a_line(error)}") from error
    found: list[Object] = []
    for position, document in enumerate(documents, start=1):
        if not isinstance(document, dict):
            raise ManifestError(f"{where}: document {position} is not an object")
        found += document.get("items") or [] if str(document.get("kind", "")).endswith("List") else [document]
    for position, obj in enumerate(found, start=1):
        if not isinstance(obj, dict) or not isinstance(obj.get("metadata", {}), dict):
            raise ManifestError(f"{where}: object {position} is not a Kubernetes object")
        missing = [field for field in ("apiVersion", "kind", "metadata") if not obj.get(field)]
        if missing:
            raise ManifestError(f"{where}: object {position} has no {', no '.join(missing)}")
    return found


def _in_a_line(error: yaml.YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    return f"line {mark.line + 1}: {problem}" if mark is not None else str(error)


class _ManifestLoader(yaml.CSafeLoader):
    """Loads timestamps as text."""


_ManifestLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class ManifestApplier:
    """Applies objects of any kind that the server serves."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._served: dict[str, dict[str, Any]] = {}

    async def apply(self, objects: Iterable[Object]) -> list[Object]:
        """Apply all of *objects*, dependencies first; returns the objects as stored."""
        ordered = sorted(objects, key=lambda obj: (obj["kind"] not in FIRST, _first(obj["kind"])))
        return [await self._apply_one(obj) for obj in ordered]

    async def create(self, objects: Iterable[Object]) -> None:
        """Create *objects*, which may have a status; existing ones are left unchanged."""
        for obj in objects:
            try:
                await self.create_one(obj)
            except ConflictError:
                continue
            except ApiError as error:
                raise ManifestError(f"{obj['kind']} {obj['metadata'].get('name')}: {error}") from error

    async def create_one(self, obj: Object) -> Object:
        """Create an object and return it as stored. Raises ApiError."""
        resource = await self.resource(obj["apiVersion"], obj["kind"])
        namespace = (obj["metadata"].get("namespace") or "default") if resource["namespaced"] else ""
        return await self._client.request("POST", path_of(obj["apiVersion"], resource["name"], namespace), obj)

    async def _apply_one(self, obj: Object) -> Object:
        meta = obj["metadata"]
        name = meta.get("name") or f"{meta.get('generateName', '')}…"
        resource = await self.resource(obj["apiVersion"], obj["kind"])
        namespace = (meta.get("namespace") or "default") if resource["namespaced"] else ""
        path = path_of(obj["apiVersion"], resource["name"], namespace)
        try:
            if not meta.get("name"):
                return await self._client.request("POST", path, obj)
            query = {"fieldManager": FIELD_MANAGER, "force": "true"}
            return await self._client.request(
                "PATCH", f"{path}/{meta['name']}", obj, query=query, content_type=APPLY
            )
        except ApiError as error:
            raise ManifestError(f"{obj['kind']} {name}: {error}") from error

    async def resource(self, api_version: str, kind: str) -> Object:
        """The API resource of *kind*; waits for one that was just defined."""
        for _ in range(_TRIES):
            known = self._served.get(api_version) or await self._discover(api_version)
            if kind in known:
                found: Object = known[kind]
                return found
            self._served.pop(api_version, None)
            await asyncio.sleep(_WAIT_SECONDS)
        raise ManifestError(f'the cluster knows no kind "{kind}" in {api_version}')

    async def _discover(self, api_version: str) -> dict[str, Object]:
        root = "apis" if "/" in api_version else "api"
        try:
            response = await self._client.request("GET", f"/{root}/{api_version}")
        except NotFoundError:
            return {}
        kinds = {each["kind"]: each for each in response["resources"] if "/" not in each["name"]}
        self._served[api_version] = kinds
        return kinds


def _first(kind: str) -> int:
    return FIRST.index(kind) if kind in FIRST else 0
