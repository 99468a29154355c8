"""Findings of validation, in the words of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from bayplan.apiserver.status import Cause

IMMUTABLE = "field is immutable"


def required(field: str, detail: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def forbidden(field: str, detail: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def invalid(field: str, value: object, detail: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {_shown(value)}: {detail}")


def duplicate(field: str, value: object) -> Cause:
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {_shown(value)}")


def not_supported(field: str, value: object, supported: Iterable[str]) -> Cause:
    names = ", ".join(f'"{name}"' for name in supported)
    return Cause(field, "FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {names}")


def not_found(field: str, value: object) -> Cause:
    return Cause(field, "FieldValueNotFound", f"Not found: {_shown(value)}")


def too_long(field: str, limit: int) -> Cause:
    return Cause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> Cause:
    items = "item" if limit == 1 else "items"
    return Cause(field, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} {items}")


def each(field: str, value: object, complaints: Iterable[str]) -> list[Cause]:
    """One finding for each complaint about a value."""
    return [invalid(field, value, complaint) for complaint in complaints]


def one_of(field: str, value: str | None, supported: Iterable[str]) -> list[Cause]:
    """Something of a fixed set, that must be given."""
    if not value:
        return [required(field)]
    supported = tuple(supported)
    return [] if value in supported else [not_supported(field, value, supported)]


def non_negative(field: str, value: int | None) -> list[Cause]:
    if value is None or value >= 0:
        return []
    return [invalid(field, value, "must be greater than or equal to 0")]


def immutable(field: str, new: object, old: object) -> list[Cause]:
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def duplicates(values: Iterable[Any], place: Callable[[int], str]) -> list[Cause]:
    """A finding for each value that was there before; values that are missing or empty do not count."""
    seen: set[Any] = set()
    found = []
    for i, value in enumerate(values):
        if value in seen:
            found.append(duplicate(place(i), value))
        elif value:
            seen.add(value)
    return found


def _shown(value: object) -> str:
    return "null" if value is None else msgspec.json.encode(value).decode()
