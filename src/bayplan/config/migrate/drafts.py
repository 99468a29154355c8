"""A tree that can be edited, for migrations. Positions stay: errors still name lines of the old file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.config.problems import Mark
from bayplan.config.tree import Entry, Mapping, Node, Scalar, Sequence, positioned


class DraftMap(dict[str, Any]):
    """A mapping; values are drafts, scalars of the tree, or plain values that a migration put in."""

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark
        self.key_marks: dict[str, Mark] = {}

    def map(self, key: str) -> DraftMap:
        """The mapping at `key`; made if there is none (what is no mapping stays, for the decoder to refuse)."""
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
        """The string at `key`; "" if it is none."""
        value = self.get(key)
        value = value.value if isinstance(value, Scalar) else value
        return value if isinstance(value, str) else ""

    def mark_of(self, key: str) -> Mark:
        return self.key_marks.get(key, self.mark)

    def move(self, key: str, target: DraftMap, new_key: str = "") -> None:
        """Take `key` out and put it into `target`."""
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
    """A mapping that a migration adds because of what stands at `mark`."""
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
    """The finished tree; plain values get the place of what they stand in."""
    if isinstance(draft, DraftMap):
        entries = (Entry(k, to_tree(value, draft.mark_of(k)), draft.mark_of(k)) for k, value in draft.items())
        return Mapping(tuple(entries), draft.mark)
    if isinstance(draft, DraftList):
        return Sequence(tuple(to_tree(item, draft.mark) for item in draft), draft.mark)
    return positioned(draft, mark)
