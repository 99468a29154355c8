"""Objects as `metav1.Table`: the rows that `kubectl get` prints, as kube-apiserver's printers produce them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

# Each registers its printers.
from bayplan.apiserver.tables import cluster_kinds, pods, services, storage, workloads
from bayplan.apiserver.tables.cells import Cells, Json
from bayplan.apiserver.tables.table_columns import PRINTERS, TableColumn, TablePrinter

__all__ = [
    "INTERNAL_ANNOTATION",
    "TableColumn",
    "TablePrinter",
    "cluster_kinds",
    "printer_of",
    "services",
    "shown_metadata",
    "storage",
    "table",
    "workloads",
]

_VERSION: Final = "meta.k8s.io/v1"
#: A field of the internal DaemonSet that the API has as an annotation.
INTERNAL_ANNOTATION: Final = "deprecated.daemonset.template.generation"


def _name_and_creation(obj: Json, now: float) -> Cells:
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")]


#: For kinds without a printer.
_DEFAULT: Final = TablePrinter(
    (TableColumn("Name", format="name"), TableColumn("Created At", type="date")),
    _name_and_creation,
)


def printer_of(group: str, kind: str) -> TablePrinter:
    """The printer of a built-in kind."""
    return PRINTERS.get((group, kind), _DEFAULT)


def table(
    printer: TablePrinter,
    objects: Iterable[Json],
    *,
    now: float,
    metadata: Json,
    include_object: str = "Metadata",
    with_columns: bool = True,
) -> Json:
    """A Table of the objects.

    `metadata` is that of the list, or of a single object (only resourceVersion is shown). `include_object` is
    `None`, `Metadata` or `Object`. Only the first event of a watch has columns.
    """
    shown = ("resourceVersion", "continue", "remainingItemCount")
    return {
        "kind": "Table",
        "apiVersion": _VERSION,
        "metadata": {key: metadata[key] for key in shown if metadata.get(key)},
        "columnDefinitions": msgspec.to_builtins(printer.columns) if with_columns else None,
        # Go's nil slice.
        "rows": [_row(printer, obj, now, include_object) for obj in objects]
        or (None if printer is _DEFAULT else []),
    }


def _row(printer: TablePrinter, obj: Json, now: float, include_object: str) -> Json:
    row: Json = {"cells": printer.cells(obj, now)}
    if obj["kind"] == "Pod" and (conditions := pods.conditions(obj)):
        row["conditions"] = conditions
    row["object"] = _included(obj, include_object)
    return row


def _included(obj: Json, include_object: str) -> Json | None:
    if include_object == "Object":
        return obj
    if include_object == "None":
        return None
    return {"kind": "PartialObjectMetadata", "apiVersion": _VERSION, "metadata": shown_metadata(obj)}


def shown_metadata(obj: Json) -> Json:
    """The metadata in a row or a PartialObjectMetadata, which kube-apiserver converts from its internal type."""
    metadata: Json = obj["metadata"]
    annotations = metadata.get("annotations")
    if not annotations or INTERNAL_ANNOTATION not in annotations:
        return metadata
    rest = {key: value for key, value in annotations.items() if key != INTERNAL_ANNOTATION}
    shown = {**metadata, "annotations": rest}
    return shown if rest else {key: value for key, value in shown.items() if key != "annotations"}
