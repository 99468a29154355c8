"""The table of node objects that an extender returned.

An extender that is sent whole nodes returns whole nodes, and these replace the scheduler's own for scoring, as in
kube-scheduler: without pods and without images. In: the returned nodes and the snapshot's table. Out: a node table
of its own; cluster-wide facts and row numbers are still those of the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cache.node_store import NodeStore
from bayplan.cache.table import CacheNodeTable

if TYPE_CHECKING:
    from bayplan.framework import IntArray, NodeTable
    from bayplan.model import Node


class ExtenderNodeTable(CacheNodeTable):
    """A table over a node store of its own; `rows` are those of the snapshot."""

    def __init__(self, whole: NodeTable, store: NodeStore, positions: IntArray | None = None) -> None:
        super().__init__(store, positions)
        self._whole = whole
        self._snapshot_rows = np.array([_row(whole, name) for name in self.names], dtype=np.int64)

    @classmethod
    def of(cls, nodes: Iterable[Node], whole: NodeTable) -> ExtenderNodeTable:
        """The table of *nodes*; *whole* is the snapshot's. Raises ObjectError if amounts cannot be parsed."""
        store = NodeStore()
        names = []
        for node in nodes:
            _ = node.allocatable
            store.set_node(node)
            names.append(node.name)
        if len(names) == len(store.nodes):
            return cls(whole, store)
        # A node that is there twice is two feasible nodes, as in kube-scheduler.
        return cls(whole, store, np.array([store.row_of[name] for name in names], dtype=np.int64))

    @property
    def rows(self) -> IntArray:
        return self._snapshot_rows

    @property
    def is_whole(self) -> bool:
        return False

    @property
    def has_pods(self) -> bool:
        return False

    def select(self, positions: IntArray) -> ExtenderNodeTable:
        own = positions if self._is_full else self._rows[positions]
        return ExtenderNodeTable(self._whole, self._store, own)

    @property
    def has_affinity_terms(self) -> bool:
        return self._whole.has_affinity_terms

    def image_size(self, image: str) -> IntArray:
        return np.zeros(len(self), dtype=np.int64)

    def image_spread(self, image: str) -> int:
        return 0


def _row(whole: NodeTable, name: str) -> int:
    """The node's row in the snapshot; 0 for a node that is not in it."""
    position = whole.position(name)
    return 0 if position is None else position
