"""Errors in a configuration: one `Problem` each, and the exception that contains them all.

Decoding, validation and the building of profiles each hand back `FieldError`s (a path and words); the
front turns them into `Problem`s by adding the file and the line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from bayplan.config.field_path import Path


class Mark(NamedTuple):
    """A position in the text, counted from 1."""

    line: int
    column: int


class FieldError(NamedTuple):
    """An error in one field, before its file and line are known."""

    path: Path
    message: str
    #: A suggested fix.
    hint: str = ""
    #: The path in kube-scheduler's message, if it differs from the real path of the field.
    upstream_path: str = ""
    #: Set if the path is ambiguous (the second of two equal keys).
    mark: Mark | None = None


class Problem(NamedTuple):
    """One error or warning with its location in the file; printed as one line."""

    source: str
    line: int
    column: int
    path: str
    message: str
    hint: str = ""
    upstream_path: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}: " if self.line else f"{self.source}: "
        text = place + (f"{self.path}: " if self.path else "") + self.message
        if self.hint:
            text += f"; {self.hint}"
        if self.upstream_path:
            text += f" (kube-scheduler calls this field {self.upstream_path})"
        return text


class ConfigError(Exception):
    """A configuration is invalid. `problems` contains all errors, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names that `name` may be a misspelling of, best first; case does not count as a difference."""
    by_fold: dict[str, str] = {}
    for candidate in known:
        by_fold.setdefault(candidate.casefold(), candidate)
    matches = difflib.get_close_matches(name.casefold(), list(by_fold), n=count, cutoff=0.6)
    return [by_fold[match] for match in matches]


def did_you_mean(name: str, known: Iterable[str], count: int = 1) -> str:
    """`did you mean "score"?`, or empty if no known name is similar."""
    names = nearest(name, known, count)
    return f"did you mean {join_or(names)}?" if names else ""


def join_or(names: Iterable[str]) -> str:
    """`"a", "b" or "c"`."""
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1] if quoted else ""
