"""Parses YAML text into a tree with positions. Safe: tags create no objects, and alias expansion is limited.

Only the first document counts, as in kube-scheduler; duplicate keys and the like are reported, not fatal.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any

import msgspec
import yaml

from bayplan.config import scalars
from bayplan.config.field_path import ROOT, Path
from bayplan.config.problems import FieldError, Mark
from bayplan.config.tree import Mapping, MappingEntry, Node, Scalar, ScalarValue, Sequence

#: A text whose aliases stand for more values than this is refused (kube-scheduler: "excessive aliasing").
MAX_VALUES = 1_000_000
MAX_DEPTH = 200
_TAG = "tag:yaml.org,2002:"

#: kube-scheduler's parser supports YAML 1.1 and refuses any other declared version.
_OTHER_YAML = re.compile(r"(?:\s|#.*\n)*%YAML[ \t]+(?!1\.1\s)")
_PLAIN = "plain"  # our own tag: an unquoted scalar without a tag, to be resolved as Go does
_QUOTED = "quoted"


class _GoScalarLoader(yaml.CSafeLoader):
    """Does not resolve scalars: PyYAML resolves some of them differently than Go."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _QUOTED
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]


class SyntaxProblem(Exception):
    """The text cannot be parsed."""

    def __init__(self, mark: Mark, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.mark = mark
        self.message = message
        self.hint = hint


class ParsedText(msgspec.Struct):
    """A parsed text: its tree (None for an empty text), errors, and whether more documents follow."""

    root: Node | None
    errors: list[FieldError]
    more_documents: bool = False
    is_json: bool = False


def parse_yaml(text: str) -> ParsedText:
    """Read the first document of `text`."""
    if _OTHER_YAML.match(text):
        raise SyntaxProblem(Mark(1, 1), "the %YAML line declares another version than 1.1", "remove the line")
    loader = _GoScalarLoader(text)
    try:
        _check_depth(text)
        first = loader.get_node() if loader.check_node() else None
        more = _has_more(loader)
        converter = _Converter()
        root = converter.convert(first, ROOT) if first is not None else None
        return ParsedText(root, converter.errors, more)
    except yaml.MarkedYAMLError as error:
        raise _explain(error, text) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"the character {chr(error.character)!r} is not allowed in YAML"
        raise SyntaxProblem(Mark(line, 1), message) from None
    finally:
        loader.dispose()


def _check_depth(text: str) -> None:
    """Refuse deeply nested text: composing nodes is recursive, in C."""
    loader = _GoScalarLoader(text)
    try:
        depth = 0
        while loader.check_event() and not loader.check_event(yaml.DocumentEndEvent):
            event: Any = loader.get_event()
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                raise SyntaxProblem(Mark(event.start_mark.line + 1, 1), "the text is nested too deeply")
    finally:
        loader.dispose()


def _has_more(loader: _GoScalarLoader) -> bool:
    try:
        return bool(loader.check_node())
    except yaml.YAMLError:
        return True  # the rest is never parsed, so it may be invalid


def _explain(error: yaml.MarkedYAMLError, text: str) -> SyntaxProblem:
    where = error.problem_mark or error.context_mark
    if error.context == "while scanning a simple key" and error.context_mark:
        where = error.context_mark  # the key without a colon; the other mark is where the parser stopped
    mark = Mark(where.line + 1, where.column + 1) if where else Mark(1, 1)
    problem = error.problem or "cannot be read"
    if error.context:
        problem = f"{error.context}: {problem}"
    return SyntaxProblem(mark, f"not valid YAML: {problem}", _syntax_hint(text, mark, problem))


def _syntax_hint(text: str, mark: Mark, problem: str) -> str:
    lines = text.splitlines()
    line = lines[mark.line - 1] if mark.line <= len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())] or "found a tab" in problem:
        return "the line is indented with a tab; YAML wants spaces"
    if line.lstrip().startswith("//"):
        return "comments start with # in YAML, not with //"
    if any(words in problem for words in ("flow", "end of stream", "quoted scalar")):
        return "a bracket, a brace or a quote may be left open"
    return ""


class _Converter:
    """Converts PyYAML's nodes: resolves scalars, merge keys and aliases, reports duplicate keys."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self._values = 0
        self._open: set[int] = set()

    def convert(self, node: yaml.Node, path: Path) -> Node:
        mark = _mark(node)
        self._values += 1
        if self._values > MAX_VALUES:
            raise SyntaxProblem(mark, "the aliases in this text stand for too many values")
        if id(node) in self._open:
            raise SyntaxProblem(mark, "an anchor contains itself")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path, mark)
            if isinstance(node, yaml.SequenceNode):
                items = (self.convert(item, path / i) for i, item in enumerate(node.value))
                return Sequence(tuple(items), mark)
            assert isinstance(node, yaml.ScalarNode)  # noqa: S101 - there is no fourth kind
            return Scalar(self._number_checked(_scalar(node), path), mark)
        finally:
            self._open.discard(id(node))

    def _number_checked(self, value: ScalarValue, path: Path) -> ScalarValue:
        if isinstance(value, float) and not math.isfinite(value):
            self.errors.append(FieldError(path, f"{value} is not a number that a configuration can hold"))
            return None
        return value

    def _mapping(self, node: yaml.MappingNode, path: Path, mark: Mark) -> Mapping:
        entries: list[MappingEntry] = []
        seen: dict[str, Mark] = {}
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                merged = self._merged(value_node, path)
            else:
                key = self._key(key_node)
                merged = [MappingEntry(key, self.convert(value_node, path / key), _mark(key_node))]
            for entry in merged:
                if entry.key in seen:
                    self.errors.append(duplicate(path / entry.key, seen[entry.key], entry.mark))
                seen[entry.key] = entry.mark
                entries.append(entry)
        return Mapping(tuple(entries), mark)

    def _merged(self, node: yaml.Node, path: Path) -> list[MappingEntry]:
        """The entries that `<<` merges. A list of mappings is processed from its end, so that the first one
        wins."""
        sources = list(reversed(node.value)) if isinstance(node, yaml.SequenceNode) else [node]
        entries: list[MappingEntry] = []
        for source in sources:
            converted = self.convert(source, path)
            if not isinstance(converted, Mapping):
                raise SyntaxProblem(_mark(node), "a merge (<<) takes a mapping or a list of mappings")
            entries.extend(converted.entries)
        return entries

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise SyntaxProblem(_mark(node), "a key must be a string, not a list or a mapping")
        value = _scalar(node)
        if isinstance(value, str):
            return value
        if value is None:
            raise SyntaxProblem(_mark(node), "a key must be a string, not null")
        if isinstance(value, bool):
            return str(value).lower()
        return str(value)


def duplicate(path: Path, first: Mark, second: Mark) -> FieldError:
    key = path[-1]
    return FieldError(
        path,
        f'the key "{key}" is a duplicate; the first is in line {first.line}',
        f'a mapping has each key once: merge the two into one "{key}"',
        mark=second,
    )


def _scalar(node: yaml.ScalarNode) -> ScalarValue:
    tag, text = node.tag, node.value
    if tag == _TAG + "binary":
        try:
            return base64.b64decode(text).decode("utf-8", "surrogateescape")
        except binascii.Error:
            raise SyntaxProblem(_mark(node), "!!binary is not followed by base64 text") from None
    if tag == _QUOTED or tag == _TAG + "str":
        return str(text)
    # `!!int "5"` and the like are resolved; an unknown tag leaves a string.
    return scalars.resolve(text) if tag == _PLAIN or tag.startswith(_TAG) else str(text)


def _is_merge(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value == "<<" and node.tag in (_PLAIN, _TAG + "merge")


def _mark(node: yaml.Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)
