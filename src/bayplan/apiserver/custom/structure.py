"""Conforms custom objects to their schema: pruned, without nulls, with defaults."""

from __future__ import annotations

import copy
from typing import Any, Final

from bayplan.apiserver.codec.values import number
from bayplan.apiserver.schema.schemas import Json

#: Fields that every object has, embedded ones included, whatever the schema says.
OBJECT_FIELDS: Final = ("apiVersion", "kind", "metadata")
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"


def conformed(schema: Json, value: Any, unknown: list[str], field_path: str = "") -> Any:
    """The value with only the fields of the schema; paths of unknown fields are added to `unknown`."""
    if isinstance(value, dict):
        return _conformed_object(schema, value, unknown, field_path)
    if isinstance(value, list):
        items = schema.get("items") or {_PRESERVES: True}
        return [conformed(items, each, unknown, f"{field_path}[{i}]") for i, each in enumerate(value)]
    # JSON has one number type; Go writes 4.0 as 4.
    return number(value) if isinstance(value, float) else value


def _conformed_object(schema: Json, value: Json, unknown: list[str], field_path: str) -> Json:
    is_object = not field_path or schema.get(_EMBEDDED)
    out: Json = {}
    for key, item in value.items():
        inner = f"{field_path}.{key}" if field_path else key
        if is_object and key in OBJECT_FIELDS:
            out[key] = item
            continue
        child = _child(schema, key)
        if child is None:
            unknown.append(inner)
        elif item is not None or child.get("nullable") or child.get(_PRESERVES):
            out[key] = conformed(child, item, unknown, inner)
    _fill(schema, out)
    return out


def _child(schema: Json, key: str) -> Json | None:
    properties: Json = schema.get("properties") or {}
    if key in properties:
        found: Json = properties[key]
        return found
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return values
    return {_PRESERVES: True} if values is True or schema.get(_PRESERVES) else None


def _fill(schema: Json, out: Json) -> None:
    for key, child in (schema.get("properties") or {}).items():
        if key not in out and "default" in child:
            out[key] = conformed(child, copy.deepcopy(child["default"]), [], key)
