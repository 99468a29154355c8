"""Discovery of groups, versions and resources, legacy and aggregated (which kubectl uses)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from bayplan.apiserver.registry.api_resources import ApiResource, ResourceTable
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse
from bayplan.release import DEFAULT, Release

Json = dict[str, Any]

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_READ_WRITE: Final = ("get", "patch", "update")
_CREATE: Final = ("create",)
#: For each subresource: group, version and kind (empty: those of its resource), and verbs.
_SUBRESOURCES: Final[dict[str, tuple[str, str, str, tuple[str, ...]]]] = {
    "binding": ("", "", "Binding", _CREATE),
    "ephemeralcontainers": ("", "", "", _READ_WRITE),
    "eviction": ("policy", "v1", "Eviction", _CREATE),
    "finalize": ("", "", "", ("update",)),
    "scale": ("autoscaling", "v1", "Scale", _READ_WRITE),
    "status": ("", "", "", _READ_WRITE),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", _CREATE),
}
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES: Final = {"alpha": 0, "beta": 1, None: 2}


class Discovery:
    """Serves `/api`, `/apis` and the paths below them down to the resources, and `/version`."""

    def __init__(self, table: ResourceTable, release: Release = DEFAULT) -> None:
        self._table = table
        self._release = release
        self._generation = -1
        self._documents: dict[str, bytes] = {}

    def respond(self, request: ApiRequest) -> ApiResponse | None:
        """The response, or None if the path is unknown or belongs to another handler."""
        if self._generation != self._table.generation:
            self._generation = self._table.generation
            self._documents = {path: msgspec.json.encode(document) for path, document in self._all()}
        path = request.path.rstrip("/")
        if path in ("/api", "/apis") and _wants_aggregated(request.accept):
            return ApiResponse(200, self._documents[f"{path} {_AGGREGATED}"], content_type=_AGGREGATED)
        body = self._documents.get(path)
        return None if body is None else ApiResponse(200, body)

    def _all(self) -> Iterator[tuple[str, Json]]:
        groups = self._groups()
        core, named = groups.pop("", {}), groups
        yield "/version", _version(self._release)
        yield "/api", {"kind": "APIVersions", "versions": [*core], "serverAddressByClientCIDRs": []}
        yield f"/api {_AGGREGATED}", _aggregated({"": core} if core else {})
        yield (
            "/apis",
            {"kind": "APIGroupList", "apiVersion": "v1", "groups": [*map(_group, named, named.values())]},
        )
        yield f"/apis {_AGGREGATED}", _aggregated(named)
        for name, versions in named.items():
            yield f"/apis/{name}", {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}
        for versions in (core, *named.values()):
            for resources in versions.values():
                yield resources[0].prefix, _resource_list(resources)

    def _groups(self) -> dict[str, dict[str, list[ApiResource]]]:
        """Group → version → resources; the preferred version first."""
        groups: dict[str, dict[str, list[ApiResource]]] = {}
        for resource in sorted(self._table, key=lambda resource: resource.plural):
            groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
        order = list(dict.fromkeys(resource.group for resource in self._table if not resource.custom))
        names = order + sorted(groups.keys() - set(order))
        return {name: dict(sorted(groups[name].items(), key=_rank, reverse=True)) for name in names}


def _rank(item: tuple[str, object]) -> tuple[bool, int, int, int]:
    """Stable before beta before alpha, high numbers first; other names last."""
    found = _VERSION.fullmatch(item[0])
    if found is None:
        return (False, 0, 0, 0)
    major, stage, minor = found.groups()
    return (True, _STAGES[stage], int(major), int(minor or 0))


def _wants_aggregated(accept: str) -> bool:
    for media_type in accept.split(","):
        parts = {part.strip() for part in media_type.split(";")}
        if {"application/json", "g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"} <= parts:
            return True
    return False


def _group(name: str, versions: dict[str, list[ApiResource]]) -> Json:
    described = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": described, "preferredVersion": described[0]}


def _resource_list(resources: list[ApiResource]) -> Json:
    described = [each for resource in resources for each in (_legacy(resource), *_legacy_subresources(resource))]
    first = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if resources[0].group else {})
    return {**first, "groupVersion": resources[0].api_version, "resources": described}


def _legacy(resource: ApiResource) -> Json:
    described: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    }
    return described | _names(resource)


def _legacy_subresources(resource: ApiResource) -> Iterator[Json]:
    for name in resource.subresources:
        group, version, kind, verbs = _SUBRESOURCES[name]
        place = {"group": group, "version": version} if group else {}
        described = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
        yield {**described, **place, "kind": kind or resource.kind, "verbs": verbs}


def _names(resource: ApiResource) -> Json:
    names = {"shortNames": resource.short_names, "categories": resource.categories}
    return {key: value for key, value in names.items() if value}


def _aggregated(groups: dict[str, dict[str, list[ApiResource]]]) -> Json:
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {"version": version, "resources": [*map(_aggregated_resource, resources)], "freshness": "Current"}
                for version, resources in versions.items()
            ],
        }
        for name, versions in groups.items()
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated_resource(resource: ApiResource) -> Json:
    described: Json = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, "", "", ""),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": resource.verbs,
        **_names(resource),
    }
    subresources = [
        {"subresource": name, "responseKind": _response_kind(resource, *described_kind), "verbs": verbs}
        for name in resource.subresources
        for *described_kind, verbs in (_SUBRESOURCES[name],)
    ]
    return described | ({"subresources": subresources} if subresources else {})


def _response_kind(resource: ApiResource, group: str, version: str, kind: str) -> Json:
    if resource.custom and not group:
        group, version = resource.group, resource.version
    return {"group": group, "version": version, "kind": kind or resource.kind}


def _version(release: Release) -> Json:
    major, minor = release.minor.split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{release.version}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }
