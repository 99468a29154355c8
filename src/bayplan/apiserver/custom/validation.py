"""Values of custom resources against their schemas, found wrong in the words of kube-apiserver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec

from bayplan.apiserver import causes
from bayplan.apiserver.custom.formats import fits_format
from bayplan.apiserver.schemas import Json
from bayplan.apiserver.status import Cause

#: Findings about a value as a whole name no field.
_NOWHERE: Final = "<nil>"
_TYPES: Final = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_BITS: Final = {"int32": 32, "int64": 64}


def check(schema: Json, value: Any, place: str) -> Iterator[Cause]:
    """Everything that is wrong with a value, from its type to its parts."""
    if value is None and schema.get("nullable"):
        return
    yield from _type(schema, value, place)
    yield from _enum(schema, value, place)
    yield from _combinations(schema, value, place)
    if isinstance(value, str):
        yield from _text(schema, value, place)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(schema, value, place)
    elif isinstance(value, list):
        yield from _list(schema, value, place)
    elif isinstance(value, dict):
        yield from _object(schema, value, place)


def _invalid(place: str, value: Any, rule: str) -> Cause:
    return causes.invalid(place, value, f"{place} in body {rule}")


def _of_whole(place: str, rule: str) -> Cause:
    return Cause(_NOWHERE, "FieldValueInvalid", f'Invalid value: "": "{place}" {rule}')


def _type(schema: Json, value: Any, place: str) -> Iterator[Cause]:
    expected = ("integer", "string") if schema.get("x-kubernetes-int-or-string") else (schema.get("type"),)
    found = _TYPES.get(type(value), "null")
    if expected == (None,) or found in expected or (found == "integer" and "number" in expected):
        return
    yield _type_invalid(place, found, ",".join(str(each) for each in expected), found)


def _type_invalid(place: str, shown: str, expected: str, found: str) -> Cause:
    text = f'Invalid value: "{shown}": {place} in body must be of type {expected}: "{found}"'
    return Cause(place, "FieldValueTypeInvalid", text)


def _enum(schema: Json, value: Any, place: str) -> Iterator[Cause]:
    allowed = schema.get("enum")
    if allowed is None or any(value == each and type(value) is type(each) for each in allowed):
        return
    words = [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in allowed]
    yield causes.not_supported(place, value, words)


def _combinations(schema: Json, value: Any, place: str) -> Iterator[Cause]:
    all_of = [cause for each in schema.get("allOf") or () for cause in check(each, value, place)]
    if all_of:
        yield from all_of
        yield _of_whole(place, "must validate all the schemas (allOf)")
    any_of = [list(check(each, value, place)) for each in schema.get("anyOf") or ()]
    if any_of and all(any_of):
        yield _of_whole(place, "must validate at least one schema (anyOf)")
        yield from any_of[0]
    yield from _one_of([list(check(each, value, place)) for each in schema.get("oneOf") or ()], place)
    if "not" in schema and not list(check(schema["not"], value, place)):
        yield _of_whole(place, "must not validate the schema (not)")


def _one_of(findings: list[list[Cause]], place: str) -> Iterator[Cause]:
    valid = sum(not found for found in findings)
    if not findings or valid == 1:
        return
    how_many = f"{valid} valid alternatives" if valid else "none valid"
    yield _of_whole(place, f"must validate one and only one schema (oneOf). Found {how_many}")
    if not valid:
        yield from findings[0]


def _text(schema: Json, value: str, place: str) -> Iterator[Cause]:
    if len(value) < schema.get("minLength", 0):
        yield _invalid(place, value, f"should be at least {schema['minLength']} chars long")
        return
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield causes.too_long(place, schema["maxLength"])
        return
    if "pattern" in schema and not compiled(schema["pattern"]).search(value):
        yield _invalid(place, value, f"should match '{schema['pattern']}'")
    if not fits_format(value, schema.get("format", "")):
        shown = msgspec.json.encode(value).decode().strip('"')
        yield _type_invalid(place, shown, schema["format"], shown)


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Go's regular expressions are Python's, nearly; raises `re.error` for those that are not."""
    return re.compile(pattern)


def _number(schema: Json, value: float, place: str) -> Iterator[Cause]:
    yield from _number_format(schema, value, place)
    multiple, low, high = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    if multiple and (value / multiple) % 1:
        yield _invalid(place, value, f"should be a multiple of {multiple}")
    if high is not None and (value >= high if schema.get("exclusiveMaximum") else value > high):
        yield _invalid(place, value, f"should be less than {_or_equal(schema, 'exclusiveMaximum')}{high}")
    if low is not None and (value <= low if schema.get("exclusiveMinimum") else value < low):
        yield _invalid(place, value, f"should be greater than {_or_equal(schema, 'exclusiveMinimum')}{low}")


def _or_equal(schema: Json, exclusive: str) -> str:
    return "" if schema.get(exclusive) else "or equal to "


def _number_format(schema: Json, value: float, place: str) -> Iterator[Cause]:
    if schema.get("type") != "integer":
        return
    bits = _BITS.get(schema.get("format", ""), 64)
    if isinstance(value, int) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        return
    which = (
        f"integer with format {schema['format']}" if schema.get("format") in _BITS else "integer (default format)"
    )
    text = f'Invalid value: "": Checked value must be of type {which} in {place}'
    yield Cause(_NOWHERE, "FieldValueInvalid", text)


def _list(schema: Json, value: list[Any], place: str) -> Iterator[Cause]:
    for i, each in enumerate(value):
        yield from check(schema.get("items") or {}, each, f"{place}[{i}]")
    if len(value) < schema.get("minItems", 0):
        yield _invalid(place, len(value), f"should have at least {schema['minItems']} items")
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        yield causes.too_many(place, len(value), schema["maxItems"])
    yield from _repeated(schema, value, place)


def _repeated(schema: Json, value: list[Any], place: str) -> Iterator[Cause]:
    """Elements of sets, and keys of maps, may occur once."""
    match schema.get("x-kubernetes-list-type"):
        case "set":
            yield from _second_times(value, place)
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys") or ()
            found = ({key: each[key] for key in keys if key in each} for each in value if isinstance(each, dict))
            yield from _second_times(found, place)


def _second_times(values: Iterable[Any], place: str) -> Iterator[Cause]:
    seen: dict[bytes, int] = {}
    for i, each in enumerate(values):
        identity = msgspec.json.encode(each, order="sorted")
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            yield causes.duplicate(f"{place}[{i}]", each)


def _object(schema: Json, value: Json, place: str) -> Iterator[Cause]:
    if len(value) < schema.get("minProperties", 0):
        yield _invalid(place, len(value), f"should have at least {schema['minProperties']} properties")
    if "maxProperties" in schema and len(value) > schema["maxProperties"]:
        yield causes.too_many(place, len(value), schema["maxProperties"])
    needed = schema.get("required") or ()
    if schema.get("x-kubernetes-embedded-resource"):
        needed = [*needed, "apiVersion", "kind"]
    for key in needed:
        if key not in value:
            yield causes.required(_below(place, key))
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for key, each in value.items():
        child = properties.get(key, others)
        if isinstance(child, dict):
            yield from check(child, each, _below(place, key))


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key
