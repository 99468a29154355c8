"""Objects as rows of a Table: what `kubectl get` asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bayplan.apiserver.history import ExpiredError
from bayplan.apiserver.listing import Page
from bayplan.apiserver.registry import Registry
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.rest.views import bookmark_metadata, error_event, list_metadata
from bayplan.apiserver.store import Entry
from bayplan.apiserver.strategy import Object
from bayplan.apiserver.tables import Printer, table
from bayplan.framework import Clock

_encode = msgspec.json.Encoder().encode


class TableView:
    """The table of one request. In a watch only the first event has the columns."""

    def __init__(
        self, resource: Resource, registry: Registry, printer: Printer, clock: Clock, include_object: str
    ) -> None:
        self._resource = resource
        self._registry = registry
        self._printer = printer
        self._clock = clock
        self._include_object = include_object or "Metadata"
        self._with_columns = True

    def one(self, entry: Entry) -> bytes:
        return _encode(self._table([entry], {"resourceVersion": str(entry.version)}))

    def many(self, page: Page) -> bytes:
        return _encode(self._table(page.entries, list_metadata(page)))

    def event(self, type_: str, entry: Entry, data: bytes) -> bytes:
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

    def expired(self, error: ExpiredError) -> bytes:
        return error_event(error)

    def _table(self, entries: Iterable[Entry], metadata: dict[str, Any]) -> dict[str, Any]:
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
