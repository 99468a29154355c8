"""Part: a family of columns that follows the nodes and the pods on them.

The cache tells every part the same things; a part keeps its own columns right and knows no other part.
Rows are dense: 0 … n−1 are nodes. A node that goes leaves its row to the last one, so `move` is the only
way a row changes its number (docs/decisions/0006-dense-rows.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.model import Node, Pod


class Part:
    """Base of all parts: keeps nothing."""

    def grow(self, capacity: int) -> None:
        """There is room for *capacity* rows now."""

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        """The node at *row* is new (old is None) or changed."""

    def clear_node(self, row: int, node: Node) -> None:
        """The node at *row* is going; its pods have been removed already."""

    def move_row(self, source: int, target: int) -> None:
        """What was at *source* is at *target* now, which had been cleared; *source* is free."""

    def add_pod(self, row: int, pod: Pod) -> None:
        """*pod* is on the node at *row*."""

    def remove_pod(self, row: int, pod: Pod) -> None:
        """*pod* is no longer on the node at *row*."""

    def save_row(self, row: int) -> Any:
        """What a what-if must bring back at *row* where adding and removing the same pods again does not."""
        return None

    def restore_row(self, row: int, saved: Any) -> None:
        """The pods of *row* are what they were when *saved* was taken."""


class Column:
    """One array over the rows, with room to grow."""

    __slots__ = ("_view", "data", "fill")

    def __init__(self, capacity: int, dtype: type[np.generic], fill: object = 0) -> None:
        self.fill = fill
        #: All rows, the free ones behind the nodes included.
        self.data: NDArray[Any] = np.full(capacity, fill, dtype=dtype)
        self._view: NDArray[Any] | None = None

    def grow(self, capacity: int) -> None:
        grown = np.full(capacity, self.fill, dtype=self.data.dtype)
        grown[: len(self.data)] = self.data
        self.data = grown
        self._view = None

    def move(self, source: int, target: int) -> None:
        self.data[target] = self.data[source]
        self.data[source] = self.fill

    def view(self, n_nodes: int) -> NDArray[Any]:
        """The rows of the nodes, read-only; it shows later changes."""
        view = self._view
        if view is None or len(view) != n_nodes:
            view = self.data[:n_nodes]
            view.flags.writeable = False
            self._view = view
        return view
