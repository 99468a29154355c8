"""The result of a migration: the v1 tree, and a note for everything that changed or has no equivalent."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError, Mark
from bayplan.config.tree import Mapping


class Note(NamedTuple):
    """One change: its path in the v1 configuration, and its position in the old file."""

    path: Path
    message: str
    mark: Mark


class Migration(msgspec.Struct):
    """The result of a migration. Errors are those of the old file in its own version."""

    root: Mapping
    notes: list[Note]
    errors: list[FieldError] = []

    def warnings(self) -> list[FieldError]:
        """The notes as warnings, for when the old file is loaded directly."""
        return [FieldError(note.path, note.message, mark=note.mark) for note in self.notes]
