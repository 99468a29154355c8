"""Extenders of a Policy: field names in any case, the timeout in nanoseconds."""

from __future__ import annotations

from typing import Any

from bayplan.config.duration import Duration
from bayplan.config.field_path import ROOT
from bayplan.config.migrate.drafts import DraftList, DraftMap
from bayplan.config.migrate.notes import Note
from bayplan.config.schema import fields_of
from bayplan.config.tree import Scalar
from bayplan.config.types import Extender


def migrate_extenders(extenders: Any, notes: list[Note]) -> Any:
    """The extenders in v1 form; unknown values are kept, for the decoder to report."""
    if not isinstance(extenders, DraftList):
        return extenders
    by_fold = {name.casefold(): name for name in fields_of(Extender)}
    for i, extender in extenders.maps():
        path = ROOT / "extenders" / i
        for key in list(extender):
            name = by_fold.get(key.casefold(), key)
            if name != key:
                notes.append(Note(path / name, f"{key} is written {name} now", extender.mark_of(key)))
            extender.move(key, extender, name)
        _timeout(extender, notes, path / "httpTimeout")
    return extenders


def _timeout(extender: DraftMap, notes: list[Note], path: Any) -> None:
    value = extender.get("httpTimeout")
    if isinstance(value, Scalar) and isinstance(value.value, int) and not isinstance(value.value, bool):
        duration = str(Duration(value.value))
        extender["httpTimeout"] = Scalar(duration, value.mark)
        message = f"the timeout of {value.value} nanoseconds is written {duration} now"
        notes.append(Note(path, message, extender.mark_of("httpTimeout")))
