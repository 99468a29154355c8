"""Values of custom resources as CEL sees them: typed by their schema, and nothing that it does not describe."""

from __future__ import annotations

import base64
from typing import Any

from bayplan.cel.functions.time_text import parse_duration, parse_timestamp
from bayplan.cel.runtime.cel_values import Duration
from bayplan.cel.schemas.field_names import escaped
from bayplan.cel.schemas.schema_types import EMBEDDED, INT_OR_STRING, Schema, with_object_fields


def schema_value(schema: Schema, value: Any, beside: Any = None) -> Any:
    """A value that its schema has been found to describe.

    *beside* is the value that it may be compared with. The order of a list of type set or map does not count, so
    one with the same elements takes on the order of that.
    """
    if value is None or schema.get(INT_OR_STRING):
        return value
    kind = schema.get("type")
    if kind == "object":
        return _object_value(schema, value, beside if isinstance(beside, dict) else {})
    if kind == "array":
        return _list_value(schema, value, beside if isinstance(beside, list) else [])
    if kind == "string":
        return _text_value(schema.get("format"), value)
    return float(value) if kind == "number" else value


def _object_value(schema: Schema, value: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    if schema.get(EMBEDDED):
        schema = with_object_fields(schema)
    properties = schema.get("properties")
    found: dict[str, Any] = {}
    if properties is None:
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            found = {key: schema_value(values, each, beside.get(key)) for key, each in value.items()}
        return found
    for key, each in value.items():
        name = escaped(key) if key in properties else None
        if name is not None:
            found[name] = schema_value(properties[key], each, beside.get(key))
    return found


def _list_value(schema: Schema, value: list[Any], beside: list[Any]) -> list[Any]:
    if schema.get("x-kubernetes-list-type") in ("set", "map") and _are_same_elements(value, beside):
        value = beside
    return [schema_value(schema.get("items") or {}, each) for each in value]


def _are_same_elements(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(each in second for each in first)


def _text_value(kind: str | None, text: str) -> Any:
    if kind == "duration":
        nanos = parse_duration(text.replace(" ", ""))
        return text if nanos is None else Duration(nanos)
    if kind in ("date", "date-time"):
        time = parse_timestamp(text if kind == "date-time" else f"{text}T00:00:00Z")
        return text if time is None else time
    return base64.b64decode(text) if kind == "byte" else text
