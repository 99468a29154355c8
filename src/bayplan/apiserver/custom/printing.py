"""Table columns of custom resources: `additionalPrinterColumns`, or the age."""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.custom import jsonpath
from bayplan.apiserver.schema.schemas import Json
from bayplan.apiserver.tables import TableColumn, TablePrinter
from bayplan.apiserver.tables.cells import Cells, since

_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def printer_of_version(version: Json) -> TablePrinter:
    """The printer of one version of a CustomResourceDefinition."""
    definition = version.get("additionalPrinterColumns") or [_AGE]
    columns = [TableColumn("Name", format="name"), *map(_column, definition)]

    def cells(obj: Json, now: float) -> Cells:
        return [obj["metadata"]["name"], *(_cell(each, obj, now) for each in definition)]

    return TablePrinter(tuple(columns), cells)


def _column(definition: Json) -> TableColumn:
    return TableColumn(
        definition["name"],
        type=definition["type"],
        format=definition.get("format", ""),
        description=definition.get("description", ""),
        priority=definition.get("priority", 0),
    )


def _cell(definition: Json, obj: Json, now: float) -> Any:
    found = jsonpath.find(definition["jsonPath"], obj)
    if not found:
        return None
    value = found[0]
    match definition["type"]:
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
