"""The kinds that an API server serves, custom resources included, from discovery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.client import KubeClient, NotFoundError
from bayplan.controllers.api_objects import path_of


class ServedKind(NamedTuple):
    """A kind in one version."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    def path(self, namespace: str, name: str = "") -> str:
        return path_of(self.api_version, self.plural, namespace if self.namespaced else "", name)


class ServedKinds:
    """Iterates over one version of each kind: the first that serves it, in the order of discovery."""

    def __init__(self, kinds: Iterable[ServedKind] = ()) -> None:
        self._by_kind: dict[tuple[str, str], ServedKind] = {}
        self._preferred: dict[tuple[str, str], ServedKind] = {}
        for kind in kinds:
            self._by_kind[kind.api_version, kind.kind] = kind
            self._preferred.setdefault((kind.group, kind.plural), kind)

    def __iter__(self) -> Iterator[ServedKind]:
        return iter(self._preferred.values())

    def find(self, api_version: str, kind: str) -> ServedKind | None:
        return self._by_kind.get((api_version, kind))

    def with_verbs(self, *verbs: str) -> list[ServedKind]:
        return [kind for kind in self if kind.verbs.issuperset(verbs)]


async def served_kinds(client: KubeClient) -> ServedKinds:
    """Ask the server."""
    found = await _of_version(client, "v1")
    for group in (await client.request("GET", "/apis")).get("groups") or []:
        for version in _preferred_first(group):
            found += await _of_version(client, version)
    return ServedKinds(found)


def _preferred_first(group: Mapping[str, Any]) -> list[str]:
    preferred = group["preferredVersion"]["groupVersion"]
    return sorted((each["groupVersion"] for each in group["versions"]), key=lambda version: version != preferred)


async def _of_version(client: KubeClient, api_version: str) -> list[ServedKind]:
    try:
        response = await client.request("GET", path_of(api_version, ""))
    except NotFoundError:
        return []  # The last definition of the group has just gone.
    return [
        ServedKind(api_version, each["kind"], each["name"], each["namespaced"], frozenset(each["verbs"]))
        for each in response.get("resources") or []
        if "/" not in each["name"]
    ]
