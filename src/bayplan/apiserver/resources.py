"""The kinds that the server knows, from one table; CustomResourceDefinitions add to it while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

#: Kinds that etcd knows by an older name.
_OLD_NAMES: Final = {
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
#: What can be done with a kind unless its entry says otherwise.
ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Resource(msgspec.Struct, frozen=True):
    """One kind in one version, as discovery tells of it."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    #: Names of subresources: "status", "scale", "binding", "eviction", …
    subresources: tuple[str, ...] = ()
    #: Two resources with one storage name share their objects (core and events.k8s.io events).
    storage: str = ""
    #: Of a CustomResourceDefinition.
    custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> str:
        """Where in the URL space: `/api/v1` or `/apis/apps/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def stored_as(self) -> str:
        """The name that the store files the objects under."""
        return self.storage or (f"{self.group}/{self.plural}" if self.group else self.plural)

    def etcd_key(self, namespace: str, name: str) -> str:
        """Where kube-apiserver has an object; texts of conflicts tell it."""
        in_group = self.custom or self.group == "apiextensions.k8s.io"
        place = f"{self.group}/{self.plural}" if in_group else _OLD_NAMES.get(self.plural, self.plural)
        return "/".join(filter(None, ("/registry", place, namespace, name)))


class ResourceTable:
    """Finds resources by where they stand in a URL, or by kind."""

    def __init__(self, resources: Iterator[Resource] | tuple[Resource, ...] = ()) -> None:
        self._by_place: dict[tuple[str, str, str], Resource] = {}
        #: Rises with every change: what is derived from the table (discovery, OpenAPI) is made anew.
        self.generation = 0
        for resource in resources:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        self._by_place[(resource.group, resource.version, resource.plural)] = resource
        self.generation += 1

    def remove(self, group: str, version: str, plural: str) -> None:
        self._by_place.pop((group, version, plural), None)
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_place.get((group, version, plural))

    def has_group(self, group: str) -> bool:
        """Whether any resource is served in a group."""
        return any(place[0] == group for place in self._by_place)

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        return next((r for r in self if r.api_version == api_version and r.kind == kind), None)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_place.values())
