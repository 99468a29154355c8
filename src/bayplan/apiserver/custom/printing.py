"""Columns of custom resources: `additionalPrinterColumns`, or the age."""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.custom import jsonpath
from bayplan.apiserver.schemas import Json
from bayplan.apiserver.tables import Column, Printer
from bayplan.apiserver.tables.cells import Cells, since

_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def printer_of_version(version: Json) -> Printer:
    """The printer of one version of a CustomResourceDefinition."""
    told = version.get("additionalPrinterColumns") or [_AGE]
    columns = [Column("Name", format="name"), *map(_column, told)]

    def cells(obj: Json, now: float) -> Cells:
        return [obj["metadata"]["name"], *(_cell(each, obj, now) for each in told)]

    return Printer(tuple(columns), cells)


def _column(told: Json) -> Column:
    return Column(
        told["name"],
        type=told["type"],
        format=told.get("format", ""),
        description=told.get("description", ""),
        priority=told.get("priority", 0),
    )


def _cell(told: Json, obj: Json, now: float) -> Any:
    found = jsonpath.find(told["jsonPath"], obj)
    if not found:
        return None
    value = found[0]
    match told["type"]:
        case "string":
            return jsonpath.as_text(value)
        case "date":
            return _age(value, now) if isinstance(value, str) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "integer":
            return int(value) if _is_number(value) else None
        case _:
            return value if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _age(value: str, now: float) -> str:
    try:
        return since(value, now)
    except ValueError:
        return "<invalid>"
