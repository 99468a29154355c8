"""Mutable trees for migrations. Positions are kept, so that errors refer to lines of the old file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.config.problems import Mark
from bayplan.config.tree import Mapping, MappingEntry, Node, Scalar, Sequence, positioned


class DraftMap(dict[str, Any]):
    """A mapping; values are drafts, scalars of the tree, or plain values that a migration added."""

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark
        self.key_marks: dict[str, Mark] = {}

    def map(self, key: str) -> DraftMap:
        """The mapping at `key`, created if missing. A value that is no mapping is kept, for the decoder to
        report."""
        value = self.get(key)
        if isinstance(value, DraftMap):
            return value
        made = DraftMap(self.mark)
        if value is None or (isinstance(value, Scalar) and value.value is None):
            self[key] = made
        return made

    def list(self, key: str) -> DraftList:
        """The list at `key`, likewise."""
        value = self.get(key)
        if isinstance(value, DraftList):
            return value
        made = DraftList(self.mark)
        if value is None or (isinstance(value, Scalar) and value.value is None):
            self[key] = made
        return made

    def text(self, key: str) -> str:
        """The string at `key`; "" if it is not a string."""
        value = self.get(key)
        value = value.value if isinstance(value, Scalar) else value
        return value if isinstance(value, str) else ""

    def mark_of(self, key: str) -> Mark:
        return self.key_marks.get(key, self.mark)

    def move(self, key: str, target: DraftMap, new_key: str = "") -> None:
        """Move `key` to `target`."""
        if key in self:
            target[new_key or key] = self.pop(key)
            target.key_marks[new_key or key] = self.mark_of(key)


class DraftList(list[Any]):
    """A list of drafts."""

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark

    def maps(self) -> Iterator[tuple[int, DraftMap]]:
        """The items that are mappings, with their positions."""
        return ((i, item) for i, item in enumerate(self) if isinstance(item, DraftMap))


def new_map(mark: Mark, /, **values: Any) -> DraftMap:
    """A mapping that a migration adds because of the value at `mark`."""
    draft = DraftMap(mark)
    draft.update(values)
    return draft


def to_draft(node: Node) -> Any:
    if isinstance(node, Mapping):
        draft = DraftMap(node.mark)
        for entry in node.effective_entries():
            draft[entry.key] = to_draft(entry.value)
            draft.key_marks[entry.key] = entry.mark
        return draft
    if isinstance(node, Sequence):
        items = DraftList(node.mark)
        items.extend(to_draft(item) for item in node.items)
        return items
    return node


def to_tree(draft: Any, mark: Mark) -> Node:
    """The finished tree; plain values get the position of their parent."""
    if isinstance(draft, DraftMap):
        entries = (
            MappingEntry(k, to_tree(value, draft.mark_of(k)), draft.mark_of(k)) for k, value in draft.items()
        )
        return Mapping(tuple(entries), draft.mark)
    if isinstance(draft, DraftList):
        return Sequence(tuple(to_tree(item, draft.mark) for item in draft), draft.mark)
    return positioned(draft, mark)
