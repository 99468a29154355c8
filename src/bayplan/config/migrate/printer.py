"""Prints a migrated configuration as YAML, with each note as a comment."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import yaml

from bayplan.config.field_path import ROOT, Path
from bayplan.config.migrate.notes import Note
from bayplan.config.tree import Mapping, Node, Sequence

_WIDTH = 100


def print_yaml(root: Mapping, notes: list[Note]) -> str:
    """The v1 configuration; a note about a removed field is printed at its nearest existing parent."""
    comments: dict[Path, list[str]] = {}
    for note in notes:
        comments.setdefault(_nearest(root, note.path), []).append(note.message)
    lines = list(_comment(comments.get(ROOT, []), 0))
    lines += _mapping(root, ROOT, 0, comments)
    return "\n".join(lines) + "\n"


def _nearest(root: Node, path: Path) -> Path:
    """The longest part of `path` that exists."""
    node: Node = root
    for depth, step in enumerate(path):
        if isinstance(node, Mapping) and isinstance(step, str) and (entry := node.entry(step)):
            node = entry.value
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
        else:
            return Path(path[:depth])
    return path


def _mapping(node: Mapping, path: Path, indent: int, comments: dict[Path, list[str]]) -> Iterator[str]:
    pad = " " * indent
    for entry in node.entries:
        where = path / entry.key
        yield from _comment(comments.get(where, []), indent)
        key = f"{pad}{_scalar(entry.key)}:"
        if isinstance(entry.value, Mapping) and entry.value.entries:
            yield key
            yield from _mapping(entry.value, where, indent + 2, comments)
        elif isinstance(entry.value, Sequence) and entry.value.items:
            yield key
            yield from _sequence(entry.value, where, indent, comments)
        else:
            yield f"{key} {_leaf(entry.value)}"


def _sequence(node: Sequence, path: Path, indent: int, comments: dict[Path, list[str]]) -> Iterator[str]:
    pad = " " * indent
    for i, item in enumerate(node.items):
        yield from _comment(comments.get(path / i, []), indent)
        if isinstance(item, Mapping) and item.entries:
            lines = list(_mapping(item, path / i, indent + 2, comments))
            # The dash goes before the first line that is not a comment.
            first = next(n for n, line in enumerate(lines) if not line.lstrip().startswith("#"))
            yield from (line.replace("  ", "", 1) for line in lines[:first])
            yield f"{pad}- {lines[first].lstrip()}"
            yield from lines[first + 1 :]
        elif isinstance(item, Sequence) and item.items:
            yield f"{pad}-"
            yield from _sequence(item, path / i, indent + 2, comments)
        else:
            yield f"{pad}- {_leaf(item)}"


def _leaf(node: Node) -> str:
    if isinstance(node, Mapping):
        return "{}"
    return "[]" if isinstance(node, Sequence) else _scalar(node.value)


def _scalar(value: object) -> str:
    text: str = yaml.safe_dump(value, width=10**6, allow_unicode=True, default_flow_style=True)
    return text.removesuffix("...\n").strip()


def _comment(messages: list[str], indent: int) -> Iterator[str]:
    pad = " " * indent + "# "
    for message in messages:
        yield from textwrap.wrap(message, _WIDTH, initial_indent=pad, subsequent_indent=pad)
