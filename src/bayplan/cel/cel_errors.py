"""What can go wrong with an expression: when it is compiled, and when it is evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

#: A line of source that is longer is not repeated under an error.
_MAX_SNIPPET_BYTES = 16384
#: More errors than these are counted, not shown.
_MAX_ISSUES = 100


class CelCompileError(Exception):
    """An expression that does not compile; the text is what cel-go writes."""


class CelRuntimeError(Exception):
    """An evaluation that failed; the text is what cel-go writes."""

    #: What it had cost by then, where that is known.
    cost = 0


class EvaluationError(CelRuntimeError):
    """An error value: `&&`, `||` and the macros made of them may absorb it."""


class CancelledError(CelRuntimeError):
    """The evaluation was given up: too costly, or a defect of the original that ends it. Nothing absorbs it."""


def no_such_overload() -> EvaluationError:
    """An operator that does not know the types of its operands."""
    return EvaluationError("no such overload")


class Issue(NamedTuple):
    """An error of compilation at a place of the source, counted in code points; -1 is nowhere."""

    offset: int
    message: str


def describe_issues(source: str, issues: Iterable[Issue]) -> str:
    """All issues in the order of the source, each with its line and a marker under it."""
    lines = _Lines(source)
    ordered = sorted(issues, key=lambda issue: lines.position(issue.offset))
    shown = [lines.describe(issue) for issue in ordered[:_MAX_ISSUES]]
    if len(ordered) > _MAX_ISSUES:
        shown.append(f"{len(ordered) - _MAX_ISSUES} more errors were truncated")
    return "\n".join(shown)


class _Lines:
    def __init__(self, source: str) -> None:
        self._lines = source.split("\n")

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, the line from 1 and the column from 0; both -1 for nowhere."""
        if offset < 0:
            return -1, -1
        for number, line in enumerate(self._lines, 1):
            if offset <= len(line):
                return number, offset
            offset -= len(line) + 1
        return len(self._lines), len(self._lines[-1])

    def describe(self, issue: Issue) -> str:
        line, column = self.position(issue.offset)
        if self._lines == [""] and line > 0:
            return f"ERROR: <input>:1:0: {issue.message}"
        header = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
        if line < 0:
            return header
        snippet = self._lines[line - 1].replace("\t", " ")
        if len(snippet.encode(errors="replace")) > _MAX_SNIPPET_BYTES:
            return header
        return f"{header}\n | {snippet}\n | {_marker(snippet, column)}"


def _marker(snippet: str, column: int) -> str:
    """Dots up to the column and a caret; wide ones under characters that are not ASCII."""
    dots = "".join("．" if char > "\x7f" else "." for char in snippet[:column])
    return dots + ("＾" if snippet[column : column + 1] > "\x7f" else "^")
