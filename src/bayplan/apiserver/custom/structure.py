"""Objects of custom resources brought into the form of their schema: pruned, without nulls, with defaults."""

from __future__ import annotations

import copy
from typing import Any, Final

from bayplan.apiserver.codec.values import number
from bayplan.apiserver.schemas import Json

#: What every object has, and an embedded one too, whatever the schema says.
OBJECT_FIELDS: Final = ("apiVersion", "kind", "metadata")
_PRESERVES: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"


def conformed(schema: Json, value: Any, unknown: list[str], place: str = "") -> Any:
    """The value with only what the schema knows; the places of what it does not know are added to `unknown`."""
    if isinstance(value, dict):
        return _conformed_object(schema, value, unknown, place)
    if isinstance(value, list):
        items = schema.get("items") or {_PRESERVES: True}
        return [conformed(items, each, unknown, f"{place}[{i}]") for i, each in enumerate(value)]
    # JSON has one kind of number; Go writes 4.0 as 4.
    return number(value) if isinstance(value, float) else value


def _conformed_object(schema: Json, value: Json, unknown: list[str], place: str) -> Json:
    is_object = not place or schema.get(_EMBEDDED)
    out: Json = {}
    for key, item in value.items():
        inner = f"{place}.{key}" if place else key
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
