"""Facts of the node objects themselves: cordoned or not, sets of taints as numbers, images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from bayplan.cache.part import Column, Part

if TYPE_CHECKING:
    from bayplan.model import Node, Taint


class TaintPart(Part):
    """Each distinct set of taints has a number, so that a rule is worked out once per set."""

    def __init__(self, capacity: int) -> None:
        self.codes = Column(capacity, np.int32)
        self.sets: list[tuple[Taint, ...]] = [()]
        self._numbers: dict[tuple[Taint, ...], int] = {(): 0}
        self.unschedulable = Column(capacity, np.bool_)

    def grow(self, capacity: int) -> None:
        self.codes.grow(capacity)
        self.unschedulable.grow(capacity)

    def move_row(self, source: int, target: int) -> None:
        self.codes.move(source, target)
        self.unschedulable.move(source, target)

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        taints = tuple(_untimed(taint) for taint in node.spec.taints)
        number = self._numbers.get(taints)
        if number is None:
            number = self._numbers[taints] = len(self.sets)
            self.sets.append(taints)
        self.codes.data[row] = number
        self.unschedulable.data[row] = node.spec.unschedulable

    def clear_node(self, row: int, node: Node) -> None:
        self.codes.data[row] = 0
        self.unschedulable.data[row] = False


def _untimed(taint: Taint) -> Taint:
    """When a taint was added is no part of what it means."""
    return taint if taint.time_added is None else msgspec.structs.replace(taint, time_added=None)


class _Image:
    """An image that some node has. Its size is what the first node reported, as in kube-scheduler."""

    __slots__ = ("column", "rows", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: set[int] = set()
        self.column: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None


class ImagePart(Part):
    """Which nodes have which image; a column of sizes is made when an image is first asked for."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._images: dict[str, _Image] = {}

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        if old is not None:
            if old.status.images == node.status.images:
                return
            self._drop(row, old)
        for image in node.status.images:
            for name in image.names:
                entry = self._images.get(name)
                if entry is None:
                    entry = self._images[name] = _Image(image.size_bytes)
                entry.rows.add(row)
                entry.column = None

    def clear_node(self, row: int, node: Node) -> None:
        self._drop(row, node)

    def _drop(self, row: int, node: Node) -> None:
        for image in node.status.images:
            for name in image.names:
                entry = self._images.get(name)
                if entry is None:
                    continue
                entry.rows.discard(row)
                entry.column = None
                if not entry.rows:
                    del self._images[name]

    def move_row(self, source: int, target: int) -> None:
        for entry in self._images.values():
            entry.column = None
            if source in entry.rows:
                entry.rows.remove(source)
                entry.rows.add(target)

    def spread(self, name: str) -> int:
        """On how many nodes the image is."""
        entry = self._images.get(name)
        return len(entry.rows) if entry is not None else 0

    def sizes(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Bytes where the image is, 0 elsewhere; read-only, shape (n_nodes,)."""
        entry = self._images.get(name)
        n_nodes = len(self._nodes)
        if entry is None:
            return np.zeros(n_nodes, dtype=np.int64)
        if entry.column is None or len(entry.column) != n_nodes:
            column = np.zeros(n_nodes, dtype=np.int64)
            column[list(entry.rows)] = entry.size
            column.flags.writeable = False
            entry.column = column
        return entry.column
