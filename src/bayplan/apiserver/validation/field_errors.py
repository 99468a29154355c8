"""Field errors of validation, in the words of Kubernetes (`field.Error` upstream)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from bayplan.apiserver.api_errors import StatusCause

IMMUTABLE = "field is immutable"
#: How Go writes these in JSON; a text that is shown on its own is only quoted.
_IN_JSON = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def required(field: str, detail: str = "") -> StatusCause:
    return StatusCause(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def forbidden(field: str, detail: str) -> StatusCause:
    return StatusCause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def invalid(field: str, value: object, detail: str) -> StatusCause:
    return StatusCause(field, "FieldValueInvalid", f"Invalid value: {_shown(value)}: {detail}")


def duplicate(field: str, value: object) -> StatusCause:
    return StatusCause(field, "FieldValueDuplicate", f"Duplicate value: {_shown(value)}")


def not_supported(field: str, value: object, supported: Iterable[str]) -> StatusCause:
    names = ", ".join(f'"{name}"' for name in supported)
    return StatusCause(
        field, "FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {names}"
    )


def not_found(field: str, value: object) -> StatusCause:
    return StatusCause(field, "FieldValueNotFound", f"Not found: {_shown(value)}")


def too_long(field: str, limit: int) -> StatusCause:
    return StatusCause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> StatusCause:
    items = "item" if limit == 1 else "items"
    return StatusCause(field, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} {items}")


def each(field: str, value: object, complaints: Iterable[str]) -> list[StatusCause]:
    """One error for each complaint about a value."""
    return [invalid(field, value, complaint) for complaint in complaints]


def one_of(field: str, value: str | None, supported: Iterable[str]) -> list[StatusCause]:
    """A required value out of a fixed set."""
    if not value:
        return [required(field)]
    supported = tuple(supported)
    return [] if value in supported else [not_supported(field, value, supported)]


def non_negative(field: str, value: int | None) -> list[StatusCause]:
    if value is None or value >= 0:
        return []
    return [invalid(field, value, "must be greater than or equal to 0")]


def immutable(field: str, new: object, old: object) -> list[StatusCause]:
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def duplicates(values: Iterable[Any], field_path: Callable[[int], str]) -> list[StatusCause]:
    """An error for each repeated value; missing or empty ones do not count."""
    seen: set[Any] = set()
    found = []
    for i, value in enumerate(values):
        if value in seen:
            found.append(duplicate(field_path(i), value))
        elif value:
            seen.add(value)
    return found


def _shown(value: object) -> str:
    if value is None:
        return "null"
    text = msgspec.json.encode(value).decode()
    return text if isinstance(value, str) else text.translate(_IN_JSON)
