"""How stored objects look in responses and in watch events: whole, or metadata only.

Works on bytes: a response is assembled from what the store has, without decoding it. Tables are in `table_view`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.storage.history import CompactedError
from bayplan.apiserver.storage.pagination import Page, expired
from bayplan.apiserver.storage.versioned_store import StoredObject
from bayplan.apiserver.tables import INTERNAL_ANNOTATION, shown_metadata

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
_encode = msgspec.json.Encoder().encode


class ObjectView(Protocol):
    """A representation of the objects of one resource; also the `EventEncoder` of a watch."""

    def one(self, entry: StoredObject) -> bytes: ...

    def many(self, page: Page) -> bytes: ...

    def event(self, type_: str, entry: StoredObject, data: bytes) -> bytes: ...

    def bookmark(self, version: int, *, initial_events_end: bool) -> bytes: ...

    def expired(self, error: CompactedError) -> bytes: ...


def error_event(error: CompactedError) -> bytes:
    return b'{"type":"ERROR","object":%b}\n' % _encode(expired(str(error)).body)


def list_metadata(page: Page) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(page.version)}
    if page.continue_:
        metadata["continue"] = page.continue_
    if page.remaining:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def bookmark_metadata(version: int, *, initial_events_end: bool) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if initial_events_end:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return metadata


class WholeView:
    """Whole objects."""

    def __init__(self, resource: ApiResource, empty: dict[str, Any]) -> None:
        """*empty* holds the fields, besides metadata, of an empty object, which bookmarks have."""
        self.resource = resource
        self._empty = empty
        types = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'
        self._head = types.encode()
        self._list_head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}",'.encode()
        self._event_heads = {
            type_: f'{{"type":"{type_}","object":{types}'.encode() for type_ in ("ADDED", "MODIFIED", "DELETED")
        }

    def data(self, entry: StoredObject, data: bytes) -> bytes:
        """The object without kind and apiVersion, in the form of the resource."""
        return data

    def one(self, entry: StoredObject) -> bytes:
        return self._head + self.data(entry, entry.data)[1:]

    def many(self, page: Page) -> bytes:
        items = b",".join(self._items(page.entries))
        return b'%b"metadata":%b,"items":[%b]}' % (self._list_head, _encode(self._metadata(page)), items)

    def _metadata(self, page: Page) -> dict[str, Any]:
        metadata = list_metadata(page)
        if self.resource.custom:
            metadata.setdefault("continue", "")
        return metadata

    def _items(self, entries: Iterable[StoredObject]) -> Iterable[bytes]:
        if self.resource.custom:  # in lists these have their types as well
            return [self.one(entry) for entry in entries]
        return [entry.data for entry in entries]

    def event(self, type_: str, entry: StoredObject, data: bytes) -> bytes:
        return self._event_heads[type_] + self.data(entry, data)[1:] + b"}\n"

    def bookmark(self, version: int, *, initial_events_end: bool) -> bytes:
        metadata = bookmark_metadata(version, initial_events_end=initial_events_end)
        types = {"kind": self.resource.kind, "apiVersion": self.resource.api_version}
        obj = {**types, "metadata": metadata, **self._empty}
        return b'{"type":"BOOKMARK","object":%b}\n' % _encode(obj)

    def expired(self, error: CompactedError) -> bytes:
        return error_event(error)


class ConvertedView(WholeView):
    """Objects that are stored in another resource's form."""

    def __init__(self, resource: ApiResource, empty: dict[str, Any], registry: ResourceRegistry) -> None:
        super().__init__(resource, empty)
        self._registry = registry

    def data(self, entry: StoredObject, data: bytes) -> bytes:
        obj = self._registry.decoded(self.resource, msgspec.structs.replace(entry, data=data))
        return _encode({field: value for field, value in obj.items() if field not in ("kind", "apiVersion")})

    def _items(self, entries: Iterable[StoredObject]) -> Iterable[bytes]:
        return [self.data(entry, entry.data) for entry in entries]


class _MetadataOf(msgspec.Struct):
    metadata: msgspec.Raw


_metadata_of = msgspec.json.Decoder(_MetadataOf).decode


class MetadataView:
    """PartialObjectMetadata."""

    def __init__(self, version: str) -> None:
        types = f'"apiVersion":"meta.k8s.io/{version}",'
        self._head = f'{{"kind":"PartialObjectMetadata",{types}"metadata":'.encode()
        self._list_head = f'{{"kind":"PartialObjectMetadataList",{types}"metadata":'.encode()

    def one(self, entry: StoredObject) -> bytes:
        return self._whole(entry.data)

    def _whole(self, data: bytes) -> bytes:
        if INTERNAL_ANNOTATION.encode() in data:
            return b"%b%b}" % (self._head, _encode(shown_metadata(msgspec.json.decode(data))))
        return b"%b%b}" % (self._head, bytes(_metadata_of(data).metadata))

    def many(self, page: Page) -> bytes:
        items = b"[%b]" % b",".join([self._whole(entry.data) for entry in page.entries])
        # Go's empty slice, in this list only.
        return b'%b%b,"items":%b}' % (
            self._list_head,
            _encode(list_metadata(page)),
            items if page.entries else b"null",
        )

    def event(self, type_: str, entry: StoredObject, data: bytes) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (type_.encode(), self._whole(data))

    def bookmark(self, version: int, *, initial_events_end: bool) -> bytes:
        metadata = bookmark_metadata(version, initial_events_end=initial_events_end)
        return b'{"type":"BOOKMARK","object":%b%b}}\n' % (self._head, _encode(metadata))

    def expired(self, error: CompactedError) -> bytes:
        return error_event(error)


class RefusingView:
    """A representation that is not supported; errors and Status can still be written."""

    def __init__(self, error: StatusError) -> None:
        self._error = error

    def one(self, entry: StoredObject) -> bytes:
        raise self._error

    def many(self, page: Page) -> bytes:
        raise self._error

    def event(self, type_: str, entry: StoredObject, data: bytes) -> bytes:
        raise self._error

    def bookmark(self, version: int, *, initial_events_end: bool) -> bytes:
        raise self._error

    def expired(self, error: CompactedError) -> bytes:
        return error_event(error)
