"""Objects as rows of a Table, which `kubectl get` requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.object_views import bookmark_metadata, error_event, list_metadata
from bayplan.apiserver.storage.history import CompactedError
from bayplan.apiserver.storage.pagination import Page
from bayplan.apiserver.storage.versioned_store import StoredObject
from bayplan.apiserver.tables import TablePrinter, table
from bayplan.framework import Clock

_encode = msgspec.json.Encoder().encode


class TableView:
    """The table of one request. In a watch, only the first event has the columns."""

    def __init__(
        self,
        resource: ApiResource,
        registry: ResourceRegistry,
        printer: TablePrinter,
        clock: Clock,
        include_object: str,
    ) -> None:
        self._resource = resource
        self._registry = registry
        self._printer = printer
        self._clock = clock
        self._include_object = include_object or "Metadata"
        self._with_columns = True

    def one(self, entry: StoredObject) -> bytes:
        return _encode(self._table([entry], {"resourceVersion": str(entry.version)}))

    def many(self, page: Page) -> bytes:
        return _encode(self._table(page.entries, list_metadata(page)))

    def event(self, type_: str, entry: StoredObject, data: bytes) -> bytes:
        shown = msgspec.structs.replace(entry, data=data)
        rows = self._table([shown], {"resourceVersion": _version(data)})
        self._with_columns = False
        return _encode({"type": type_, "object": rows}) + b"\n"

    def bookmark(self, version: int, *, initial_events_end: bool) -> bytes:
        metadata = bookmark_metadata(version, initial_events_end=initial_events_end)
        rows = self._table([], metadata)
        obj: Object = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        rows["rows"] = [{"cells": [None] * len(self._printer.columns), "object": obj}]
        self._with_columns = False
        return _encode({"type": "BOOKMARK", "object": rows}) + b"\n"

    def expired(self, error: CompactedError) -> bytes:
        return error_event(error)

    def _table(self, entries: Iterable[StoredObject], metadata: dict[str, Any]) -> dict[str, Any]:
        return table(
            self._printer,
            [self._registry.decoded(self._resource, entry) for entry in entries],
            now=self._clock.now(),
            metadata=metadata,
            include_object=self._include_object,
            with_columns=self._with_columns,
        )


def _version(data: bytes) -> str:
    metadata: dict[str, Any] = msgspec.json.decode(data)["metadata"]
    return str(metadata["resourceVersion"])
