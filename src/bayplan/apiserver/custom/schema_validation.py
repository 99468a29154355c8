"""Validation of the schemas in a CustomResourceDefinition: they must be structural, or pruning is undefined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.custom.formats import RECOGNIZED
from bayplan.apiserver.custom.rule_validation import rule_causes, rule_text_causes
from bayplan.apiserver.custom.structure import conformed
from bayplan.apiserver.custom.value_validation import check
from bayplan.apiserver.schema.schemas import Json
from bayplan.apiserver.validation.field_errors import forbidden, invalid, not_supported, required
from bayplan.cel.regex.linear_regex import compile_regex
from bayplan.cel.regex.pattern import PatternError

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES: Final = ("atomic", "set", "map")
_MAP_TYPES: Final = ("granular", "atomic")
#: Where a schema may occur, and the message if it has no type there.
_ROOT, _FIELD, _ITEM = "at the root", "for specified object fields", "for specified array items"


def schema_causes(schema: Json, field_path: str) -> Iterator[StatusCause]:
    """All errors of a schema and its subschemas; those of compiled rules if there are no others."""
    causes = list(_level_causes(schema, field_path, _ROOT))
    yield from causes or rule_causes(schema, field_path)


def _level_causes(schema: Json, field_path: str, level: str) -> Iterator[StatusCause]:
    yield from _type_causes(schema, field_path, level)
    yield from _unsupported_causes(schema, field_path, level)
    yield from _list_causes(schema, field_path)
    yield from _default_causes(schema, field_path)
    for inner, inner_path, inner_level in _inner(schema, field_path):
        yield from _level_causes(inner, inner_path, inner_level)
    yield from rule_text_causes(schema, field_path)


def _inner(schema: Json, field_path: str) -> Iterator[tuple[Json, str, str]]:
    for name, child in (schema.get("properties") or {}).items():
        yield child, f"{field_path}.properties[{name}]", _FIELD
    for key, level in (("items", _ITEM), ("additionalProperties", _FIELD)):
        if isinstance(schema.get(key), dict):
            yield schema[key], f"{field_path}.{key}", level


def _type_causes(schema: Json, field_path: str, level: str) -> Iterator[StatusCause]:
    kind = schema.get("type")
    if not kind:
        any_type = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
        if not any_type and "$ref" not in schema:
            yield required(f"{field_path}.type", f"must not be empty {level}")
    elif kind not in _TYPES:
        yield not_supported(f"{field_path}.type", kind, _TYPES)
    elif level == _ROOT and kind != "object":
        yield invalid(f"{field_path}.type", kind, "must be object at the root")
    if kind == "array" and not schema.get("items"):
        yield required(f"{field_path}.items", "must be specified")


def _unsupported_causes(schema: Json, field_path: str, level: str) -> Iterator[StatusCause]:
    if "$ref" in schema:
        yield forbidden(f"{field_path}.$ref", "$ref is not supported")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{field_path}.uniqueItems", why)
    if schema.get("properties") and schema.get("additionalProperties") is not None:
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{field_path}.additionalProperties", why)
    elif level == _ROOT and schema.get("additionalProperties") is not None:
        yield forbidden(f"{field_path}.additionalProperties", "must not be used at the root")
    if "pattern" in schema:
        yield from _pattern_causes(schema["pattern"], f"{field_path}.pattern")


def _pattern_causes(pattern: str, field_path: str) -> Iterator[StatusCause]:
    try:
        compile_regex(pattern)
    except PatternError as error:
        text = f"must be a valid regular expression, but isn't: {error}"
        yield invalid(field_path, pattern, text)


def _list_causes(schema: Json, field_path: str) -> Iterator[StatusCause]:
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
    if list_type and list_type not in _LIST_TYPES:
        yield not_supported(f"{field_path}.x-kubernetes-list-type", list_type, _LIST_TYPES)
    map_type = schema.get("x-kubernetes-map-type")
    if map_type and map_type not in _MAP_TYPES:
        yield not_supported(f"{field_path}.x-kubernetes-map-type", map_type, _MAP_TYPES)
    if list_type != "map":
        return
    if not keys:
        yield required(
            f"{field_path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map"
        )
    items = schema.get("items") or {}
    for key in keys:
        yield from _key_causes(items, key, f"{field_path}.items.properties[{key}]")


def _key_causes(items: Json, key: str, field_path: str) -> Iterator[StatusCause]:
    found = (items.get("properties") or {}).get(key, {})
    if key not in (items.get("required") or ()) and "default" not in found:
        why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
        yield required(f"{field_path}.default", why)


def _default_causes(schema: Json, field_path: str) -> Iterator[StatusCause]:
    if "default" not in schema:
        return
    value = conformed(schema, schema["default"], [], "default")
    for cause in check(schema, value, ""):
        yield StatusCause(f"{field_path}.default{cause.field}", cause.reason, cause.message)


def schema_warnings(schema: Json) -> Iterator[str]:
    """Warnings for what is accepted but ignored."""
    if schema.get("format") and schema["format"] not in RECOGNIZED:
        yield f'unrecognized format "{schema["format"]}"'
    for inner, _, _ in _inner(schema, ""):
        yield from schema_warnings(inner)
