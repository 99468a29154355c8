"""What admission asks the store."""

from __future__ import annotations

from typing import Any, Protocol

from bayplan.apiserver.attributes import Attributes
from bayplan.apiserver.status import StatusError, forbidden
from bayplan.apiserver.store import Key, Store
from bayplan.apiserver.strategy import Object


class Plugin(Protocol):
    """One admission plugin, called by the name that --disable-admission-plugins knows."""

    name: str

    def admit(self, attributes: Attributes) -> None:
        """Change the object, or refuse with a StatusError."""

    def check(self, attributes: Attributes) -> None:
        """Refuse with a StatusError; the object is what will be stored."""


class Lookup:
    """Objects by where they are stored."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        entry = self.store.get(Key(resource, namespace, name))
        return entry.decode() if entry is not None else None

    def list(self, resource: str, namespace: str = "") -> list[dict[str, Any]]:
        return [entry.decode() for entry in self.store.list(resource, namespace)]

    def any(self, resource: str) -> bool:
        """Whether there are any; cheaper than listing them."""
        return self.store.count(resource) > 0


def is_pod(attributes: Attributes) -> bool:
    """Whether it is about a pod itself, not one of its subresources."""
    resource = attributes.resource
    return resource.plural == "pods" and not resource.group and not attributes.subresource


def refusal(attributes: Attributes, why: str) -> StatusError:
    return forbidden(attributes.resource.group, attributes.resource.plural, attributes.name or "Unknown", why)
