"""Normalises responses of an API server: replaces random and time-dependent values by placeholders.

The placeholders are those of the recordings (`UID`, `RV`, `TIME`, `AGE`, `CONTINUE`, `SUFFIX`). Normalisation is
idempotent, so recorded responses can be normalised too.
"""

from __future__ import annotations

import re
from typing import Any

_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
#: A uid that a request contains on purpose.
_MADE_UP_UID = "11111111-1111-1111-1111-111111111111"
_TIME = re.compile(r"\b(?!2001-|2026-01-01)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
#: How tables print a duration: 5s, 2m30s, 318d, 2y10d.
_AGE = re.compile(r"(?:\d+[smhdy]){1,2}")
_VERSION_IN_TEXT = re.compile(r"((?:precondition|record) \(|in object meta: |current: )\d+(?![-\d])")


def normalised(value: Any) -> Any:
    """Normalise a response, or any part of it."""
    if isinstance(value, dict):
        return _normalised_object(value)
    if isinstance(value, list):
        return [normalised(item) for item in value]
    return normalised_text(value) if isinstance(value, str) else value


def normalised_events(events: list[Any]) -> list[Any]:
    """The events of a watch, without bookmarks other than the end of the initial events."""
    return [normalised(event) for event in events if not _is_plain_bookmark(event)]


def normalised_text(text: str) -> str:
    text = _UID.sub(lambda found: found[0] if found[0] == _MADE_UP_UID else "UID", text)
    return _VERSION_IN_TEXT.sub(r"\1RV", _TIME.sub("TIME", text))


def _normalised_object(value: dict[str, Any]) -> dict[str, Any]:
    result = {key: normalised(item) for key, item in value.items() if key != "managedFields"}
    for key, word in (("resourceVersion", "RV"), ("uid", "UID"), ("continue", "CONTINUE")):
        if isinstance(result.get(key), str) and result[key] not in ("", _MADE_UP_UID):
            result[key] = word
    prefix, name = value.get("generateName"), value.get("name")
    if isinstance(prefix, str) and isinstance(name, str) and name.startswith(prefix):
        result["name"] = f"{prefix}SUFFIX"
    if "columnDefinitions" in result:
        _normalise_table(result)
    return result


def _normalise_table(table: dict[str, Any]) -> None:
    for column in table["columnDefinitions"] or ():
        column.pop("description", None)
    for row in table.get("rows") or ():
        row["cells"] = [_cell(cell) for cell in row.get("cells", ())]


def _cell(cell: Any) -> Any:
    return "AGE" if isinstance(cell, str) and _AGE.fullmatch(cell) else cell


def _is_plain_bookmark(event: Any) -> bool:
    if event.get("type") != "BOOKMARK":
        return False
    annotations = event.get("object", {}).get("metadata", {}).get("annotations") or {}
    return "k8s.io/initial-events-end" not in annotations
