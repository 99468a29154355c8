"""What admission plugins share: their interface, and lookups in the store."""

from __future__ import annotations

from typing import Any, Protocol

from bayplan.apiserver.api_errors import StatusError, forbidden
from bayplan.apiserver.registry.attributes import AdmissionAttributes
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.storage.versioned_store import Key, VersionedStore


class AdmissionPlugin(Protocol):
    """One admission plugin, with the name that --disable-admission-plugins uses."""

    name: str

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Change the object, or refuse with a StatusError."""

    def check(self, attributes: AdmissionAttributes) -> None:
        """Refuse with a StatusError; the object is what will be stored."""


class ObjectLookup:
    """Looks up stored objects."""

    def __init__(self, store: VersionedStore) -> None:
        self.store = store

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        entry = self.store.get(Key(resource, namespace, name))
        return entry.decode() if entry is not None else None

    def list(self, resource: str, namespace: str = "") -> list[dict[str, Any]]:
        return [entry.decode() for entry in self.store.list(resource, namespace)]

    def any(self, resource: str) -> bool:
        """Whether there are any; cheaper than a list."""
        return self.store.count(resource) > 0


def is_pod(attributes: AdmissionAttributes) -> bool:
    """Whether the request is about a pod itself, not about one of its subresources."""
    resource = attributes.resource
    return resource.plural == "pods" and not resource.group and not attributes.subresource


def refusal(attributes: AdmissionAttributes, why: str) -> StatusError:
    return forbidden(attributes.resource.group, attributes.resource.plural, attributes.name or "Unknown", why)
