"""Which groups, versions and resources there are: discovery, legacy and aggregated (the one kubectl asks for)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from bayplan.apiserver.exchange import Request, Response
from bayplan.apiserver.resources import Resource, ResourceTable

Json = dict[str, Any]

#: The release whose API this is.
KUBERNETES_VERSION: Final = "v1.36.4"
_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_READ_WRITE: Final = ("get", "patch", "update")
_CREATE: Final = ("create",)
#: Of each subresource: group, version and kind (empty: those of its resource), and verbs.
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
    """Answers `/api`, `/apis` and what is below them up to the resources, and `/version`."""

    def __init__(self, table: ResourceTable) -> None:
        self._table = table
        self._generation = -1
        self._answers: dict[str, bytes] = {}

    def respond(self, request: Request) -> Response | None:
        """The answer, or None if the path is not one of discovery's, or unknown."""
        if self._generation != self._table.generation:
            self._generation = self._table.generation
            self._answers = {path: msgspec.json.encode(answer) for path, answer in self._all()}
        path = request.path.rstrip("/")
        if path in ("/api", "/apis") and _wants_aggregated(request.accept):
            return Response(200, self._answers[f"{path} {_AGGREGATED}"], content_type=_AGGREGATED)
        body = self._answers.get(path)
        return None if body is None else Response(200, body)

    def _all(self) -> Iterator[tuple[str, Json]]:
        groups = self._groups()
        core, named = groups.pop("", {}), groups
        yield "/version", _version()
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

    def _groups(self) -> dict[str, dict[str, list[Resource]]]:
        """Group → version → resources; the best version first."""
        groups: dict[str, dict[str, list[Resource]]] = {}
        for resource in sorted(self._table, key=lambda resource: resource.plural):
            groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
        order = list(dict.fromkeys(resource.group for resource in self._table if not resource.custom))
        names = order + sorted(groups.keys() - set(order))
        return {name: dict(sorted(groups[name].items(), key=_rank, reverse=True)) for name in names}


def _rank(item: tuple[str, object]) -> tuple[bool, int, int, int]:
    """Stable before beta before alpha, high numbers first; names of another form last."""
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


def _group(name: str, versions: dict[str, list[Resource]]) -> Json:
    told = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def _resource_list(resources: list[Resource]) -> Json:
    told = [each for resource in resources for each in (_legacy(resource), *_legacy_subresources(resource))]
    first = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if resources[0].group else {})
    return {**first, "groupVersion": resources[0].api_version, "resources": told}


def _legacy(resource: Resource) -> Json:
    told: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    }
    return told | _names(resource)


def _legacy_subresources(resource: Resource) -> Iterator[Json]:
    for name in resource.subresources:
        group, version, kind, verbs = _SUBRESOURCES[name]
        place = {"group": group, "version": version} if group else {}
        told = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
        yield {**told, **place, "kind": kind or resource.kind, "verbs": verbs}


def _names(resource: Resource) -> Json:
    names = {"shortNames": resource.short_names, "categories": resource.categories}
    return {key: value for key, value in names.items() if value}


def _aggregated(groups: dict[str, dict[str, list[Resource]]]) -> Json:
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


def _aggregated_resource(resource: Resource) -> Json:
    told: Json = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, "", "", ""),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": resource.verbs,
        **_names(resource),
    }
    subresources = [
        {"subresource": name, "responseKind": _response_kind(resource, *told_kind), "verbs": verbs}
        for name in resource.subresources
        for *told_kind, verbs in (_SUBRESOURCES[name],)
    ]
    return told | ({"subresources": subresources} if subresources else {})


def _response_kind(resource: Resource, group: str, version: str, kind: str) -> Json:
    if resource.custom and not group:
        group, version = resource.group, resource.version
    return {"group": group, "version": version, "kind": kind or resource.kind}


def _version() -> Json:
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": KUBERNETES_VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }
