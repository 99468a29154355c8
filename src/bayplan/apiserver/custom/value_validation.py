"""Validates values of custom resources against their schemas, in the words of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.custom.formats import fits_format
from bayplan.apiserver.schema.schemas import Json
from bayplan.apiserver.validation import field_errors
from bayplan.cel.regex.linear_regex import compile_regex

#: Errors about a value as a whole name no field.
_NOWHERE: Final = "<nil>"
_TYPES: Final = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_BITS: Final = {"int32": 32, "int64": 64}


def check(schema: Json, value: Any, field_path: str) -> Iterator[StatusCause]:
    """All errors of a value and its parts."""
    if value is None and schema.get("nullable"):
        return
    yield from _type(schema, value, field_path)
    yield from _enum(schema, value, field_path)
    yield from _combinations(schema, value, field_path)
    if isinstance(value, str):
        yield from _text(schema, value, field_path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(schema, value, field_path)
    elif isinstance(value, list):
        yield from _list(schema, value, field_path)
    elif isinstance(value, dict):
        yield from _object(schema, value, field_path)


def _invalid(field_path: str, value: Any, rule: str) -> StatusCause:
    return field_errors.invalid(field_path, value, f"{field_path} in body {rule}")


def _of_whole(field_path: str, rule: str) -> StatusCause:
    return StatusCause(_NOWHERE, "FieldValueInvalid", f'Invalid value: "": "{field_path}" {rule}')


def _type(schema: Json, value: Any, field_path: str) -> Iterator[StatusCause]:
    expected = ("integer", "string") if schema.get("x-kubernetes-int-or-string") else (schema.get("type"),)
    found = _TYPES.get(type(value), "null")
    if expected == (None,) or found in expected or (found == "integer" and "number" in expected):
        return
    yield _type_invalid(field_path, found, ",".join(str(each) for each in expected), found)


def _type_invalid(field_path: str, shown: str, expected: str, found: str) -> StatusCause:
    text = f'Invalid value: "{shown}": {field_path} in body must be of type {expected}: "{found}"'
    return StatusCause(field_path, "FieldValueTypeInvalid", text)


def _enum(schema: Json, value: Any, field_path: str) -> Iterator[StatusCause]:
    allowed = schema.get("enum")
    if allowed is None or any(value == each and type(value) is type(each) for each in allowed):
        return
    words = [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in allowed]
    yield field_errors.not_supported(field_path, value, words)


def _combinations(schema: Json, value: Any, field_path: str) -> Iterator[StatusCause]:
    all_of = [cause for each in schema.get("allOf") or () for cause in check(each, value, field_path)]
    if all_of:
        yield from all_of
        yield _of_whole(field_path, "must validate all the schemas (allOf)")
    any_of = [list(check(each, value, field_path)) for each in schema.get("anyOf") or ()]
    if any_of and all(any_of):
        yield _of_whole(field_path, "must validate at least one schema (anyOf)")
        yield from any_of[0]
    yield from _one_of([list(check(each, value, field_path)) for each in schema.get("oneOf") or ()], field_path)
    if "not" in schema and not list(check(schema["not"], value, field_path)):
        yield _of_whole(field_path, "must not validate the schema (not)")


def _one_of(findings: list[list[StatusCause]], field_path: str) -> Iterator[StatusCause]:
    valid = sum(not found for found in findings)
    if not findings or valid == 1:
        return
    how_many = f"{valid} valid alternatives" if valid else "none valid"
    yield _of_whole(field_path, f"must validate one and only one schema (oneOf). Found {how_many}")
    if not valid:
        yield from findings[0]


def _text(schema: Json, value: str, field_path: str) -> Iterator[StatusCause]:
    if len(value) < schema.get("minLength", 0):
        yield _invalid(field_path, value, f"should be at least {schema['minLength']} chars long")
        return
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield field_errors.too_long(field_path, schema["maxLength"])
        return
    if "pattern" in schema and not compile_regex(schema["pattern"]).search(value):
        yield _invalid(field_path, value, f"should match '{schema['pattern']}'")
    if not fits_format(value, schema.get("format", "")):
        shown = msgspec.json.encode(value).decode().strip('"')
        yield _type_invalid(field_path, shown, schema["format"], shown)


def _number(schema: Json, value: float, field_path: str) -> Iterator[StatusCause]:
    yield from _number_format(schema, value, field_path)
    multiple, low, high = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    if multiple and (value / multiple) % 1:
        yield _invalid(field_path, value, f"should be a multiple of {multiple}")
    if high is not None and (value >= high if schema.get("exclusiveMaximum") else value > high):
        yield _invalid(field_path, value, f"should be less than {_or_equal(schema, 'exclusiveMaximum')}{high}")
    if low is not None and (value <= low if schema.get("exclusiveMinimum") else value < low):
        yield _invalid(field_path, value, f"should be greater than {_or_equal(schema, 'exclusiveMinimum')}{low}")


def _or_equal(schema: Json, exclusive: str) -> str:
    return "" if schema.get(exclusive) else "or equal to "


def _number_format(schema: Json, value: float, field_path: str) -> Iterator[StatusCause]:
    if schema.get("type") != "integer":
        return
    bits = _BITS.get(schema.get("format", ""), 64)
    if isinstance(value, int) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        return
    which = (
        f"integer with format {schema['format']}" if schema.get("format") in _BITS else "integer (default format)"
    )
    text = f'Invalid value: "": Checked value must be of type {which} in {field_path}'
    yield StatusCause(_NOWHERE, "FieldValueInvalid", text)


def _list(schema: Json, value: list[Any], field_path: str) -> Iterator[StatusCause]:
    for i, each in enumerate(value):
        yield from check(schema.get("items") or {}, each, f"{field_path}[{i}]")
    if len(value) < schema.get("minItems", 0):
        yield _invalid(field_path, len(value), f"should have at least {schema['minItems']} items")
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        yield field_errors.too_many(field_path, len(value), schema["maxItems"])
    yield from _repeated(schema, value, field_path)


def _repeated(schema: Json, value: list[Any], field_path: str) -> Iterator[StatusCause]:
    """Elements of sets, and keys of maps, must be unique."""
    match schema.get("x-kubernetes-list-type"):
        case "set":
            yield from _second_times(value, field_path)
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys") or ()
            found = ({key: each[key] for key in keys if key in each} for each in value if isinstance(each, dict))
            yield from _second_times(found, field_path)


def _second_times(values: Iterable[Any], field_path: str) -> Iterator[StatusCause]:
    seen: dict[bytes, int] = {}
    for i, each in enumerate(values):
        identity = msgspec.json.encode(each, order="sorted")
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            yield field_errors.duplicate(f"{field_path}[{i}]", each)


def _object(schema: Json, value: Json, field_path: str) -> Iterator[StatusCause]:
    if len(value) < schema.get("minProperties", 0):
        yield _invalid(field_path, len(value), f"should have at least {schema['minProperties']} properties")
    if "maxProperties" in schema and len(value) > schema["maxProperties"]:
        yield field_errors.too_many(field_path, len(value), schema["maxProperties"])
    needed = schema.get("required") or ()
    if schema.get("x-kubernetes-embedded-resource"):
        needed = [*needed, "apiVersion", "kind"]
    for key in needed:
        if key not in value:
            yield field_errors.required(_below(field_path, key))
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for key, each in value.items():
        child = properties.get(key, others)
        if isinstance(child, dict):
            yield from check(child, each, _below(field_path, key))


def _below(field_path: str, key: str) -> str:
    return f"{field_path}.{key}" if field_path else key
