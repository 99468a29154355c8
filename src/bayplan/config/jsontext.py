"""Parses JSON text into a tree with positions.

A text that begins with `{` is read as JSON and nothing else, as kube-scheduler does: what YAML would
forgive there (a trailing comma, a bare word, a comment) is an error. Unlike YAML, `4.0` is not a whole number.
"""

from __future__ import annotations

import json
import re

from bayplan.config.field_path import ROOT, Path
from bayplan.config.problems import FieldError, Mark
from bayplan.config.tree import Mapping, MappingEntry, Node, Scalar, ScalarValue, Sequence
from bayplan.config.yamltext import ParsedText, SyntaxProblem, duplicate

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_STRINGS = json.JSONDecoder()
_WORDS: dict[str, ScalarValue] = {"true": True, "false": False, "null": None}


def looks_like_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def parse_json(text: str) -> ParsedText:
    """Parse `text`, which must contain one JSON value."""
    reader = _Reader(text)
    root = reader.value(ROOT)
    reader.skip_blank()
    if reader.at < len(text):
        raise reader.problem("text follows after the end of the JSON value")
    return ParsedText(root, reader.errors, is_json=True)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.errors: list[FieldError] = []

    def value(self, path: Path) -> Node:
        self.skip_blank()
        mark, char = self._mark(), self._peek()
        if char == "{":
            return self._object(path, mark)
        if char == "[":
            return self._array(path, mark)
        if char == '"':
            return Scalar(self._string(), mark)
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return Scalar(value, mark)
        return Scalar(self._number(), mark)

    def _object(self, path: Path, mark: Mark) -> Mapping:
        entries: list[MappingEntry] = []
        seen: dict[str, Mark] = {}
        while self._more("}", path, first=not entries):
            key_mark = self._mark()
            if self._peek() != '"':
                raise self.problem("a key in double quotes is expected here")
            key = self._string()
            self.skip_blank()
            if self._peek() != ":":
                raise self.problem(f'a colon is expected after the key "{key}"')
            self.at += 1
            if key in seen:
                self.errors.append(duplicate(path / key, seen[key], key_mark))
            seen[key] = key_mark
            entries.append(MappingEntry(key, self.value(path / key), key_mark))
        return Mapping(tuple(entries), mark)

    def _array(self, path: Path, mark: Mark) -> Sequence:
        items: list[Node] = []
        while self._more("]", path, first=not items):
            items.append(self.value(path / len(items)))
        return Sequence(tuple(items), mark)

    def _more(self, end: str, path: Path, *, first: bool) -> bool:
        """Skip the opening bracket or a comma; False at the closing bracket, which is skipped too."""
        if first:
            self.at += 1
            self.skip_blank()
            if self._peek() != end:
                return True
        else:
            self.skip_blank()
            if self._peek() == ",":
                comma = self._mark()
                self.at += 1
                self.skip_blank()
                if self._peek() != end:
                    return True
                message = f'not valid JSON: a comma before "{end}"'
                self.errors.append(FieldError(path, message, "remove the comma", mark=comma))
        if self._peek() != end:
            raise self.problem(f'a comma or "{end}" is expected here')
        self.at += 1
        return False

    def _string(self) -> str:
        try:
            value, self.at = _STRINGS.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self.at = error.pos
            raise self.problem(error.msg[0].lower() + error.msg[1:]) from None
        return str(value)

    def _number(self) -> int | float:
        match = _NUMBER.match(self.text, self.at)
        if not match:
            at_end = self.at >= len(self.text)
            raise self.problem("the text ends too early" if at_end else "a value is expected here")
        self.at = match.end()
        return float(match[0]) if match[1] or match[2] else int(match[0])

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip_blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _mark(self) -> Mark:
        line_start = self.text.rfind("\n", 0, self.at) + 1
        return Mark(self.text.count("\n", 0, self.at) + 1, self.at - line_start + 1)

    def problem(self, message: str, hint: str = "") -> SyntaxProblem:
        if self.text.startswith(("//", "/*", "#"), self.at):
            hint = "JSON has no comments"
        return SyntaxProblem(self._mark(), f"not valid JSON: {message}", hint)
