"""Nodes that an extender gave back whole: scored as kube-scheduler scores them, as the objects say and empty.

An extender that is sent nodes answers with nodes, and those replace the scheduler's own: no pods are on them, and
their images do not count. What is known of the cluster as a whole, and of a node's place in it, is still the
snapshot's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cache.store import Store
from bayplan.cache.table import Table

if TYPE_CHECKING:
    from bayplan.framework import IntArray, NodeTable
    from bayplan.model import Node


class ReturnedNodes(Table):
    """A table of its own, over a store of its own, whose rows are those of the snapshot."""

    def __init__(self, whole: NodeTable, store: Store, positions: IntArray | None = None) -> None:
        super().__init__(store, positions)
        self._whole = whole
        self._snapshot_rows = np.array([_row(whole, name) for name in self.names], dtype=np.int64)

    @classmethod
    def of(cls, nodes: Iterable[Node], whole: NodeTable) -> ReturnedNodes:
        """The table of *nodes*; *whole* is the snapshot's. Raises ObjectError if amounts cannot be read."""
        store = Store()
        for node in nodes:
            _ = node.allocatable
            store.set_node(node)
        return cls(whole, store)

    @property
    def rows(self) -> IntArray:
        return self._snapshot_rows

    @property
    def is_whole(self) -> bool:
        return False

    @property
    def has_pods(self) -> bool:
        return False

    def select(self, positions: IntArray) -> ReturnedNodes:
        own = positions if self._rows is None else self._rows[positions]
        return ReturnedNodes(self._whole, self._store, own)

    @property
    def has_affinity_terms(self) -> bool:
        return self._whole.has_affinity_terms

    def image_size(self, image: str) -> IntArray:
        return np.zeros(len(self), dtype=np.int64)

    def image_spread(self, image: str) -> int:
        return 0


def _row(whole: NodeTable, name: str) -> int:
    """Where the node stands in the snapshot. One that is not there has no place, and is taken for any."""
    position = whole.position(name)
    return 0 if position is None else position
