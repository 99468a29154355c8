"""What a migration hands back: the v1 tree, and a note for everything that changed or has no equivalent."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from bayplan.config.paths import Path
from bayplan.config.problems import FieldError, Mark
from bayplan.config.tree import Mapping


class Note(NamedTuple):
    """One change: where it shows in the v1 configuration, and where it comes from in the old file."""

    path: Path
    message: str
    mark: Mark


class Migration(msgspec.Struct):
    """The result. Errors are about the old file: what it holds is wrong in its own version."""

    root: Mapping
    notes: list[Note]
    errors: list[FieldError] = []

    def warnings(self) -> list[FieldError]:
        """The notes, as warnings for somebody who loads the old file directly."""
        return [FieldError(note.path, note.message, mark=note.mark) for note in self.notes]
