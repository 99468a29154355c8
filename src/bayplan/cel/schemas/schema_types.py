"""Structural schemas as types of CEL, with the sizes that values may have: costs are estimated from these.

What a schema does not describe is not there: fields that are only preserved cannot be mentioned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from bayplan.cel.checking.cel_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    Kind,
    list_of,
    map_of,
    struct,
)
from bayplan.cel.schemas.field_names import escaped

Schema: TypeAlias = Mapping[str, Any]

MAX_REQUEST_BYTES: Final = 3 * 1024 * 1024
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
EMBEDDED: Final = "x-kubernetes-embedded-resource"
#: The shortest texts of JSON values, and of map entries besides their values.
_MIN_STRING, _MIN_NUMBER, _MIN_BOOL, _MIN_DURATION, _MIN_DATE, _MIN_TIME = 2, 1, 4, 3, 12, 21
_MAX_DURATION, _MAX_TIME, _ENTRY = 32, 32, 6
_BYTES_PER_CHARACTER: Final = 4
_LONGEST: Final = MAX_REQUEST_BYTES - 2
_STRING: Final[Schema] = {"type": "string"}
_OBJECT_FIELDS: Final[Schema] = {
    "kind": _STRING,
    "apiVersion": _STRING,
    "metadata": {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}},
}


@dataclass(slots=True, eq=False)
class SchemaType:
    """The type of the values that a schema describes."""

    cel_type: CelType
    #: Of the shortest text of a value, in bytes.
    min_size: int
    #: Elements, characters or bytes.
    max_elements: int = 0
    fields: dict[str, SchemaType] = field(default_factory=dict)
    element: SchemaType | None = None

    def structs(self) -> dict[str, dict[str, CelType]]:
        """The fields of all structs in it, by name."""
        found = {} if self.element is None else self.element.structs()
        if self.cel_type.kind is Kind.STRUCT:
            found[self.cel_type.name] = {name: each.cel_type for name, each in self.fields.items()}
        for each in self.fields.values():
            found.update(each.structs())
        return found

    @property
    def max_cardinality(self) -> int:
        """How many such values fit into a request."""
        return MAX_REQUEST_BYTES // (self.min_size + 1)


def with_object_fields(schema: Schema) -> Schema:
    """The schema of an object with what every object has."""
    properties = {**(schema.get("properties") or {}), **_OBJECT_FIELDS}
    return {**schema, "properties": properties}


def schema_type(schema: Schema, name: str = "selfType", *, is_root: bool = False) -> SchemaType | None:
    """The type; None if expressions cannot see such values. *is_root* for objects that have a kind."""
    if schema.get(INT_OR_STRING):
        return SchemaType(DYN, 1, _most_characters(schema))
    kind = schema.get("type")
    if kind == "array":
        return _list_type(schema, name)
    if kind == "object":
        return _object_type(with_object_fields(schema) if is_root else schema, name)
    if kind == "string":
        return _string_type(schema)
    if kind == "boolean":
        return SchemaType(BOOL, _MIN_BOOL)
    if kind == "number":
        return SchemaType(DOUBLE, _MIN_NUMBER)
    return SchemaType(INT, _MIN_NUMBER) if kind == "integer" else None


def child_type(schema: Schema, name: str) -> SchemaType | None:
    return schema_type(schema, name, is_root=bool(schema.get(EMBEDDED)))


def _list_type(schema: Schema, name: str) -> SchemaType | None:
    items = child_type(schema.get("items") or {}, f"{name}.@idx")
    if items is None:
        return None
    n_most = schema.get("maxItems")
    most = _LONGEST // (items.min_size + 1) if n_most is None else max(n_most, 0)
    return SchemaType(list_of(items.cel_type), 2, most, element=items)


def _object_type(schema: Schema, name: str) -> SchemaType | None:
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        value = child_type(values, f"{name}.@elem")
        if value is None:
            return None
        n_most = schema.get("maxProperties")
        most = _LONGEST // (value.min_size + _ENTRY) if n_most is None else max(n_most, 0)
        return SchemaType(map_of(STRING, value.cel_type), 2, most, element=value)
    required = schema.get("required") or ()
    found = SchemaType(struct(name), 2)
    for key, child in (schema.get("properties") or {}).items():
        identifier = escaped(key)
        each = child_type(child, f"{name}.{identifier}")
        if each is None:
            continue
        if identifier is not None:
            found.fields[identifier] = each
        if key in required and child.get("default") is None:
            found.min_size += len(key.encode()) + each.min_size + 4
    return found


def _string_type(schema: Schema) -> SchemaType:
    kind = schema.get("format")
    if kind == "byte":
        most = schema.get("maxLength")
        return SchemaType(BYTES, _MIN_STRING, _LONGEST if most is None else max(most, 0))
    if kind == "duration":
        return SchemaType(DURATION, _MIN_DURATION, _MAX_DURATION)
    if kind == "date":
        return SchemaType(TIMESTAMP, _MIN_DATE, _MIN_DATE)
    if kind == "date-time":
        return SchemaType(TIMESTAMP, _MIN_TIME, _MAX_TIME)
    return SchemaType(STRING, _MIN_STRING, _most_characters(schema))


def _most_characters(schema: Schema) -> int:
    most = schema.get("maxLength")
    if most is not None:
        return max(int(most), 0) * _BYTES_PER_CHARACTER
    texts = [each for each in schema.get("enum") or () if isinstance(each, str)]
    if schema.get("enum") and not schema.get(INT_OR_STRING):
        return max((len(each.encode()) for each in texts), default=0)
    return _LONGEST
