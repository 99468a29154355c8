"""Columns of the node objects: taints, unschedulable flags, images.

In: the nodes by row. Out: columns over the nodes. Labels are in `label_columns`, resources in `columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from bayplan.cache.columns import Column, ColumnGroup
from bayplan.framework import IntArray
from bayplan.model.read_only import ReadOnlyList

if TYPE_CHECKING:
    from bayplan.model import Node, Taint


class TaintColumns(ColumnGroup):
    """Each distinct set of taints has a number, so that a rule is evaluated once per set."""

    def __init__(self, capacity: int) -> None:
        self.codes = Column(capacity, np.int32)
        #: Plugins see it, and must not write to it.
        self.sets: list[tuple[Taint, ...]] = ReadOnlyList([()])
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
            list.append(self.sets, taints)
        self.codes.data[row] = number
        self.unschedulable.data[row] = node.spec.unschedulable

    def clear_node(self, row: int, node: Node) -> None:
        self.codes.data[row] = 0
        self.unschedulable.data[row] = False


def _untimed(taint: Taint) -> Taint:
    """The time at which a taint was added has no effect on scheduling."""
    return taint if taint.time_added is None else msgspec.structs.replace(taint, time_added=None)


class Image:
    """An image that some node has. Its size is the one that the first node reported, as in kube-scheduler."""

    __slots__ = ("column", "rows", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: set[int] = set()
        self.column: IntArray | None = None


class ImageColumns(ColumnGroup):
    """Which nodes have which image; the column of sizes is built on first use."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        #: By normalized name.
        self.by_name: dict[str, Image] = {}

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        if old is not None:
            if old.status.images == node.status.images:
                return
            self._drop(row, old)
        for image in node.status.images:
            for name in image.names:
                entry = self.by_name.get(name)
                if entry is None:
                    entry = self.by_name[name] = Image(image.size_bytes)
                entry.rows.add(row)
                entry.column = None

    def clear_node(self, row: int, node: Node) -> None:
        self._drop(row, node)

    def _drop(self, row: int, node: Node) -> None:
        for image in node.status.images:
            for name in image.names:
                entry = self.by_name.get(name)
                if entry is None:
                    continue
                entry.rows.discard(row)
                entry.column = None
                if not entry.rows:
                    del self.by_name[name]

    def move_row(self, source: int, target: int) -> None:
        for entry in self.by_name.values():
            entry.column = None
            if source in entry.rows:
                entry.rows.remove(source)
                entry.rows.add(target)

    def sizes(self, name: str) -> IntArray:
        """The image's bytes on nodes that have it, 0 elsewhere; read-only, shape (n_nodes,)."""
        entry = self.by_name.get(name)
        n_nodes = len(self._nodes)
        if entry is None:
            return np.zeros(n_nodes, dtype=np.int64)
        if entry.column is None or len(entry.column) != n_nodes:
            column = np.zeros(n_nodes, dtype=np.int64)
            column[list(entry.rows)] = entry.size
            column.flags.writeable = False
            entry.column = column
        return entry.column
