"""The syntax tree of a configuration, with positions: the output of the YAML and JSON parsers.

Values are what JSON knows: null, booleans, numbers, strings, sequences and mappings with string keys.
Duplicate keys are kept in order; the last one counts, and the parser reports the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from bayplan.config.field_path import Path
from bayplan.config.problems import Mark

ScalarValue: TypeAlias = "str | int | float | bool | None"


class Scalar(msgspec.Struct, frozen=True):
    value: ScalarValue
    mark: Mark


class Sequence(msgspec.Struct, frozen=True):
    items: tuple[Node, ...]
    mark: Mark


class MappingEntry(msgspec.Struct, frozen=True):
    key: str
    value: Node
    #: The position of the key.
    mark: Mark


class Mapping(msgspec.Struct, frozen=True):
    entries: tuple[MappingEntry, ...]
    mark: Mark

    def get(self, key: str) -> Node | None:
        """The value of the last entry with this key."""
        entry = self.entry(key)
        return entry.value if entry else None

    def entry(self, key: str) -> MappingEntry | None:
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)

    def effective_entries(self) -> Iterator[MappingEntry]:
        """The last entry of each key."""
        last = {entry.key: entry for entry in self.entries}
        return iter(last.values())


Node: TypeAlias = "Scalar | Sequence | Mapping"


def plain(node: Node) -> Any:
    """The plain values, without positions."""
    if isinstance(node, Mapping):
        return {entry.key: plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return node.value


def positioned(value: Any, mark: Mark) -> Node:
    """Plain values as a tree; everything has the position `mark`."""
    if isinstance(value, dict):
        return Mapping(tuple(MappingEntry(key, positioned(item, mark), mark) for key, item in value.items()), mark)
    if isinstance(value, list | tuple):
        return Sequence(tuple(positioned(item, mark) for item in value), mark)
    if isinstance(value, Mapping | Sequence | Scalar):
        return value
    return Scalar(value, mark)


def is_null(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and node.value is None)


def locate(root: Node, path: Path) -> Mark:
    """The position of `path`: the key of a field, the start of a list item; otherwise of the nearest parent."""
    node, mark = root, root.mark
    for step in path:
        if isinstance(node, Mapping) and isinstance(step, str) and (entry := node.entry(step)):
            node, mark = entry.value, entry.mark
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            mark = node.mark
        else:
            break
    return mark


def describe(node: Node) -> str:
    """What the node is, for messages: `the string "16"`, `a mapping`."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if node.value is None:
        return "null"
    if isinstance(node.value, bool):
        return f"the boolean {str(node.value).lower()}"
    if isinstance(node.value, str):
        return f'the string "{node.value}"'
    return f"the number {node.value}"
