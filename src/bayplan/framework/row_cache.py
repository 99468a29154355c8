"""RowCache: results for single nodes, dropped when the node or the pods on it change."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from bayplan.framework.handle import Changes

T = TypeVar("T")


class RowCache(Generic[T]):
    """Values by row of the snapshot."""

    __slots__ = ("_by_row", "_changes", "_position")

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._position = changes.position
        self._by_row: dict[int, T] = {}

    def current(self) -> dict[int, T]:
        """The values that are still valid. Callers add theirs to the same dictionary."""
        position = self._changes.position
        if position != self._position:
            changed = self._changes.since(self._position)
            if changed is None:
                self._by_row.clear()
            else:
                for row in changed.tolist():
                    self._by_row.pop(row, None)
            self._position = position
        return self._by_row


def are_same_objects(pods: Sequence[object], others: Sequence[object]) -> bool:
    """Whether both contain the same objects, by identity."""
    return pods is others or (len(pods) == len(others) and all(map(operator.is_, pods, others)))
