"""What a reflector watches: a collection of the API, how its objects are decoded, and which of them are wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from bayplan.model import KubeObject, ObjectError, kind_of
from bayplan.watch.decoder import read_head
from bayplan.watch.identity import Identity

T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)

#: Pods that have ended take nothing of their node; kube-scheduler does not watch them either.
LIVE_PODS = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class WatchedResource(Generic[T]):
    """A collection over all namespaces, or of cluster-scoped objects."""

    #: For messages: Pod, foos.example.com/v1.
    name: str
    #: /api/v1/pods
    path: str
    #: Raises ObjectError.
    decode: Callable[[bytes], T]
    #: Which object it is.
    identify: Callable[[T], Identity]
    field_selector: str = ""
    label_selector: str = ""

    @property
    def selectors(self) -> dict[str, str]:
        """As query parameters."""
        query = {}
        if self.field_selector:
            query["fieldSelector"] = self.field_selector
        if self.label_selector:
            query["labelSelector"] = self.label_selector
        return query


def _identify(value: KubeObject) -> Identity:
    meta = value.metadata
    return Identity(value.key, meta.resource_version, meta.uid)


def _identify_custom(value: dict[str, Any]) -> Identity:
    meta = value["metadata"]
    namespace, name = meta.get("namespace"), meta["name"]
    key = f"{namespace}/{name}" if namespace else name
    return Identity(key, str(meta.get("resourceVersion", "")), str(meta.get("uid", "")))


def resource_of(kind: type[K], *, field_selector: str = "", label_selector: str = "") -> WatchedResource[K]:
    """The collection of a kind of `bayplan.model`."""
    known = kind_of(kind)
    return WatchedResource(known.name, known.path, kind.from_json, _identify, field_selector, label_selector)


def custom_resource(
    api_version: str, plural: str, *, field_selector: str = "", label_selector: str = ""
) -> WatchedResource[dict[str, Any]]:
    """The collection of any other resource, as dictionaries."""
    root = "apis" if "/" in api_version else "api"
    name = f"{plural}.{api_version}"

    def decode(data: bytes) -> dict[str, Any]:
        try:
            decoded: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise ObjectError(name, read_head(data).key, "", str(error)) from None
        if not isinstance(decoded.get("metadata"), dict) or not decoded["metadata"].get("name"):
            raise ObjectError(name, "", "metadata.name", "is missing")
        return decoded

    return WatchedResource(
        name, f"/{root}/{api_version}/{plural}", decode, _identify_custom, field_selector, label_selector
    )
