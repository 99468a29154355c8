"""What a schema of a CustomResourceDefinition must be: structural, or pruning has no clear meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.causes import forbidden, invalid, not_supported, required
from bayplan.apiserver.custom.formats import RECOGNIZED
from bayplan.apiserver.custom.structure import conformed
from bayplan.apiserver.custom.validation import check, compiled
from bayplan.apiserver.schemas import Json
from bayplan.apiserver.status import Cause

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("granular", "atomic")
_RULES: Final = "x-kubernetes-validations"
#: Where a schema may stand, and what it is then missing without a type.
_ROOT, _FIELD, _ITEM = "at the root", "for specified object fields", "for specified array items"


def schema_causes(schema: Json, place: str, level: str = _ROOT) -> Iterator[Cause]:
    """Everything that is wrong with a schema and those inside it."""
    yield from _type_causes(schema, place, level)
    yield from _unsupported_causes(schema, place, level)
    yield from _list_causes(schema, place)
    yield from _default_causes(schema, place)
    for inner, inner_place, inner_level in _inner(schema, place):
        yield from schema_causes(inner, inner_place, inner_level)


def _inner(schema: Json, place: str) -> Iterator[tuple[Json, str, str]]:
    for name, child in (schema.get("properties") or {}).items():
        yield child, f"{place}.properties[{name}]", _FIELD
    for key, level in (("items", _ITEM), ("additionalProperties", _FIELD)):
        if isinstance(schema.get(key), dict):
            yield schema[key], f"{place}.{key}", level


def _type_causes(schema: Json, place: str, level: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if not kind:
        any_type = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
        if not any_type and "$ref" not in schema:
            yield required(f"{place}.type", f"must not be empty {level}")
    elif kind not in _TYPES:
        yield not_supported(f"{place}.type", kind, _TYPES)
    elif level == _ROOT and kind != "object":
        yield invalid(f"{place}.type", kind, "must be object at the root")
    if kind == "array" and not schema.get("items"):
        yield required(f"{place}.items", "must be specified")


def _unsupported_causes(schema: Json, place: str, level: str) -> Iterator[Cause]:
    if "$ref" in schema:
        yield forbidden(f"{place}.$ref", "$ref is not supported")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{place}.uniqueItems", why)
    if schema.get("properties") and schema.get("additionalProperties") is not None:
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{place}.additionalProperties", why)
    elif level == _ROOT and schema.get("additionalProperties") is not None:
        yield forbidden(f"{place}.additionalProperties", "must not be used at the root")
    if "pattern" in schema:
        yield from _pattern_causes(schema["pattern"], f"{place}.pattern")


def _pattern_causes(pattern: str, place: str) -> Iterator[Cause]:
    try:
        compiled(pattern)
    except re.error as error:
        text = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
        yield invalid(place, pattern, text)


def _list_causes(schema: Json, place: str) -> Iterator[Cause]:
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
    if list_type and list_type not in _LIST_TYPES:
        yield not_supported(f"{place}.x-kubernetes-list-type", list_type, _LIST_TYPES)
    map_type = schema.get("x-kubernetes-map-type")
    if map_type and map_type not in _MAP_TYPES:
        yield not_supported(f"{place}.x-kubernetes-map-type", map_type, _MAP_TYPES)
    if list_type != "map":
        return
    if not keys:
        yield required(f"{place}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map")
    items = schema.get("items") or {}
    for key in keys:
        yield from _key_causes(items, key, f"{place}.items.properties[{key}]")


def _key_causes(items: Json, key: str, place: str) -> Iterator[Cause]:
    found = (items.get("properties") or {}).get(key, {})
    if key not in (items.get("required") or ()) and "default" not in found:
        why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
        yield required(f"{place}.default", why)


def _default_causes(schema: Json, place: str) -> Iterator[Cause]:
    if "default" not in schema:
        return
    value = conformed(schema, schema["default"], [], "default")
    for cause in check(schema, value, ""):
        yield Cause(f"{place}.default{cause.field}", cause.reason, cause.message)


def schema_warnings(schema: Json, place: str) -> Iterator[str]:
    """What is accepted although it will not be looked at."""
    if schema.get("format") and schema["format"] not in RECOGNIZED:
        yield f'unrecognized format "{schema["format"]}"'
    if schema.get(_RULES):
        yield f"{place}.{_RULES}: rules in the Common Expression Language are not evaluated by this server"
    for inner, inner_place, _ in _inner(schema, place):
        yield from schema_warnings(inner, inner_place)
