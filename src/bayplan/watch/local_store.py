"""The local store of one watched resource: the objects as last seen, by key, and the callbacks on their changes.

In: the JSON of objects, from a list or a watch. Out: every change as *callback(old, new)*; old is None on
creation, new on deletion. An object that cannot be decoded is logged and left out. `WatchedResource` describes the
resource: its path, how its objects are decoded, and which of them are wanted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from bayplan.framework.object_selection import ObjectSelection
from bayplan.model import KubeObject, ObjectError, Pod, kind_of
from bayplan.model.read_only import read_only
from bayplan.watch.decoder import read_head

logger: Final = logging.getLogger("bayplan.watch")

T = TypeVar("T")
K = TypeVar("K", bound=KubeObject)
Callback = Callable[[T | None, T | None], None]
#: Of an object: key (`namespace/name`, or `name` if cluster-scoped), uid, resourceVersion.
ObjectIdentity: TypeAlias = tuple[str, str, str]

#: Pods that have ended take nothing of their node; kube-scheduler does not watch them either.
LIVE_PODS: Final = "status.phase!=Succeeded,status.phase!=Failed"


class LocalStore(Generic[T]):
    """The objects of one resource; see the module's docstring."""

    def __init__(self, resource: WatchedResource[T]) -> None:
        self._name = resource.name
        self._decode = resource.decode
        self._identify = resource.identify
        self._callbacks: list[Callback[T]] = []
        #: Key → the object as last seen.
        self.objects: Final[dict[str, T]] = {}

    def subscribe(self, callback: Callback[T]) -> None:
        """Call *callback* on every change, and now for every object that is already there."""
        self._callbacks.append(callback)
        for value in list(self.objects.values()):
            callback(None, value)

    def update(self, data: bytes, *, only_if_changed: bool = False) -> ObjectIdentity | None:
        """Store an object as it is now; None if it cannot be decoded.

        With *only_if_changed*, an object that equals the stored one is no change.
        """
        try:
            new = self._decode(data)
        except ObjectError as error:
            logger.error("Left out an object that cannot be read: %s", error)
            return None
        identity = self._identify(new)
        key, uid, _ = identity
        old = self.objects.get(key)
        if only_if_changed and new == old:
            return identity
        if old is not None and self._identify(old)[1] != uid:
            # It was deleted and created again, and the watch missed that.
            self.remove(key)
            old = None
        self.objects[key] = new
        self._notify(old, new)
        return identity

    def remove(self, key: str) -> None:
        """Remove the object, if it is there."""
        old = self.objects.pop(key, None)
        if old is not None:
            self._notify(old, None)

    def retain(self, keys: Container[str]) -> None:
        """Remove all objects but those."""
        for key in [key for key in self.objects if key not in keys]:
            self.remove(key)

    def _notify(self, old: T | None, new: T | None) -> None:
        for callback in self._callbacks:
            try:
                callback(old, new)
            except Exception:
                logger.exception("A callback on changes of %s failed", self._name)


# --- resources --------------------------------------------------------------------------------------------


class WatchedResource(Generic[T]):
    """A collection over all namespaces, or of cluster-scoped objects."""

    def __init__(
        self,
        name: str,
        path: str,
        decode: Callable[[bytes], T],
        identify: Callable[[T], ObjectIdentity],
        field_selector: str = "",
        label_selector: str = "",
    ) -> None:
        """*decode* raises ObjectError."""
        #: For messages: Pod, foos.example.com/v1.
        self.name: Final = name
        #: /api/v1/pods
        self.path: Final = path
        self.decode: Final = decode
        self.identify: Final = identify
        self.field_selector: Final = field_selector
        self.label_selector: Final = label_selector

    @property
    def query(self) -> dict[str, str]:
        """The query parameters of lists and watches."""
        selectors = {"fieldSelector": self.field_selector, "labelSelector": self.label_selector}
        return {name: text for name, text in selectors.items() if text}


def resource_of(kind: type[K], *, field_selector: str = "") -> WatchedResource[K]:
    """The collection of a kind of `bayplan.model`."""
    known = kind_of(kind)
    return WatchedResource(known.name, known.path, kind.from_json, _identify, field_selector)


def selected_resource(selection: ObjectSelection) -> WatchedResource[Any]:
    """The part of a collection that somebody has asked for."""
    kind, fields = selection.kind, selection.fields
    if kind is Pod:
        fields = ",".join(part for part in (fields, LIVE_PODS) if part)
    whole = custom_resource(selection.api_version, selection.plural)
    decode: Callable[[bytes], Any] = whole.decode if kind is None else kind.from_json
    identify: Callable[[Any], ObjectIdentity] = whole.identify if kind is None else _identify
    return WatchedResource(str(selection), selection.path, decode, identify, fields, selection.labels)


def custom_resource(api_version: str, plural: str) -> WatchedResource[dict[str, Any]]:
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
        frozen: dict[str, Any] = read_only(decoded)  # plugins see it
        return frozen

    return WatchedResource(name, f"/{root}/{api_version}/{plural}", decode, _identify_custom)


def _identify(value: KubeObject) -> ObjectIdentity:
    meta = value.metadata
    return value.key, meta.uid, meta.resource_version


def _identify_custom(value: dict[str, Any]) -> ObjectIdentity:
    meta = value["metadata"]
    namespace, name = meta.get("namespace"), meta["name"]
    key = f"{namespace}/{name}" if namespace else name
    return key, str(meta.get("uid", "")), str(meta.get("resourceVersion", ""))
