"""A parsed text with positions: what the YAML and JSON readers produce and everything else reads.

Values are what JSON knows: null, booleans, numbers, strings, sequences and mappings with string keys.
Equal keys stay, in their order; the last one counts, and the reader reports the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from bayplan.config.paths import Path
from bayplan.config.problems import Mark

ScalarValue: TypeAlias = "str | int | float | bool | None"


class Scalar(msgspec.Struct, frozen=True):
    value: ScalarValue
    mark: Mark


class Sequence(msgspec.Struct, frozen=True):
    items: tuple[Node, ...]
    mark: Mark


class Entry(msgspec.Struct, frozen=True):
    key: str
    value: Node
    #: Where the key stands.
    mark: Mark


class Mapping(msgspec.Struct, frozen=True):
    entries: tuple[Entry, ...]
    mark: Mark

    def get(self, key: str) -> Node | None:
        """The value of the last entry with this key."""
        entry = self.entry(key)
        return entry.value if entry else None

    def entry(self, key: str) -> Entry | None:
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)

    def effective_entries(self) -> Iterator[Entry]:
        """The entries that count: the last of each key."""
        last = {entry.key: entry for entry in self.entries}
        return iter(last.values())


Node: TypeAlias = "Scalar | Sequence | Mapping"


def plain(node: Node) -> Any:
    """The bare values, without positions."""
    if isinstance(node, Mapping):
        return {entry.key: plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return node.value


def positioned(value: Any, mark: Mark) -> Node:
    """Bare values as a tree; everything stands at `mark`."""
    if isinstance(value, dict):
        return Mapping(tuple(Entry(key, positioned(item, mark), mark) for key, item in value.items()), mark)
    if isinstance(value, list | tuple):
        return Sequence(tuple(positioned(item, mark) for item in value), mark)
    if isinstance(value, Mapping | Sequence | Scalar):
        return value
    return Scalar(value, mark)


def is_null(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and node.value is None)


def locate(root: Node, path: Path) -> Mark:
    """The place of `path`: the key of a field, the start of a list item; else of the nearest parent there is."""
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
