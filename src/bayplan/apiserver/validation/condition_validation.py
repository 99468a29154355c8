"""Validation of conditions that have the common form (`metav1.Condition`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import (
    duplicate,
    each,
    invalid,
    not_supported,
    required,
    too_long,
)
from bayplan.apiserver.validation.name_validation import qualified_name_errors

_STATUSES: Final = ("False", "True", "Unknown")
_MAX_REASON_BYTES: Final = 1024
_MAX_MESSAGE_BYTES: Final = 32 * 1024
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_TEXT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  "
    f"or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)


def condition_causes(
    conditions: Sequence[Mapping[str, Any]], path: str, *, duplicate_entries: bool = False
) -> Iterator[StatusCause]:
    """Errors of a list of conditions, of which no two have the same type.

    Since 1.37 it is the entry that is reported as a duplicate, not its type (`duplicate_entries`).
    """
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            yield duplicate(f"{path}[{i}]" if duplicate_entries else f"{path}[{i}].type", kind)
        seen.add(kind)
        yield from _one_condition_causes(condition, f"{path}[{i}]")


def _one_condition_causes(condition: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    kind, status, reason = (condition.get(key, "") for key in ("type", "status", "reason"))
    yield from each(f"{path}.type", kind, qualified_name_errors(kind))
    if status not in _STATUSES:
        yield not_supported(f"{path}.status", status, _STATUSES)
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        yield invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero")
    if not condition.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime")
    if not reason:
        yield required(f"{path}.reason")
    elif not re.fullmatch(_REASON, reason):
        yield invalid(f"{path}.reason", reason, _REASON_TEXT)
    for key, limit in (("reason", _MAX_REASON_BYTES), ("message", _MAX_MESSAGE_BYTES)):
        if len(condition.get(key, "").encode()) > limit:
            yield too_long(f"{path}.{key}", limit)
