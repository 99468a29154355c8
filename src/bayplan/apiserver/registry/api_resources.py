"""The table of API resources that the server serves; CustomResourceDefinitions add to it at run time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

#: Plurals under which etcd stores kinds that have been renamed.
_OLD_NAMES: Final = {
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
#: The verbs of a kind unless its entry lists others.
ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class ApiResource(msgspec.Struct, frozen=True):
    """One kind in one version, as discovery reports it (`metav1.APIResource`)."""

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
    #: Whether a CustomResourceDefinition defines it.
    custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> str:
        """The URL prefix: `/api/v1` or `/apis/apps/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def stored_as(self) -> str:
        """The name under which the store keeps the objects."""
        return self.storage or (f"{self.group}/{self.plural}" if self.group else self.plural)

    def etcd_key(self, namespace: str, name: str) -> str:
        """The object's key in kube-apiserver's storage; messages of conflicts quote it."""
        in_group = self.custom or self.group == "apiextensions.k8s.io"
        place = f"{self.group}/{self.plural}" if in_group else _OLD_NAMES.get(self.plural, self.plural)
        return "/".join(filter(None, ("/registry", place, namespace, name)))


class ResourceTable:
    """Finds API resources by URL or by kind."""

    def __init__(self, resources: Iterator[ApiResource] | tuple[ApiResource, ...] = ()) -> None:
        self._by_place: dict[tuple[str, str, str], ApiResource] = {}
        #: Incremented with every change: discovery and OpenAPI are derived from the table again.
        self.generation = 0
        for resource in resources:
            self.add(resource)

    def add(self, resource: ApiResource) -> None:
        self._by_place[(resource.group, resource.version, resource.plural)] = resource
        self.generation += 1

    def remove(self, group: str, version: str, plural: str) -> None:
        self._by_place.pop((group, version, plural), None)
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> ApiResource | None:
        return self._by_place.get((group, version, plural))

    def has_group(self, group: str) -> bool:
        """Whether the group serves any resource."""
        return any(place[0] == group for place in self._by_place)

    def of_kind(self, api_version: str, kind: str) -> ApiResource | None:
        return next((r for r in self if r.api_version == api_version and r.kind == kind), None)

    def __iter__(self) -> Iterator[ApiResource]:
        return iter(self._by_place.values())
