"""The snapshot: the cluster as one cycle sees it.

Cycles are synchronous code and the cache changes only between them, so the snapshot is the cache's own columns,
given out read-only. The one thing a cycle may do to it is a what-if, which is undone before it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cache.amounts import AmountsTable
from bayplan.cache.returned import ReturnedNodes
from bayplan.cache.table import Table

if TYPE_CHECKING:
    from bayplan.cache.changes import ChangeLog
    from bayplan.cache.store import Store, WhatIf
    from bayplan.framework import IntArray, NodeInfo
    from bayplan.model import Node, Pod


class CacheSnapshot:
    """Implements `framework.Snapshot`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._table = Table(store)
        self._membership = store.membership
        self._order: IntArray | None = None
        #: The labels' generation that the order is of; it changes with nodes that come and go, too.
        self._order_of = -1

    @property
    def nodes(self) -> Table:
        """Every node; a new table whenever a node came or went."""
        if self._membership != self._store.membership:
            self._table = Table(self._store)
            self._membership = self._store.membership
        return self._table

    @property
    def generation(self) -> int:
        return self._store.generation

    @property
    def membership(self) -> int:
        """Changes when a node comes or goes, and rows with them."""
        return self._store.membership

    @property
    def node_changes(self) -> ChangeLog:
        return self._store.node_changes

    @property
    def usage_changes(self) -> ChangeLog:
        return self._store.usage_changes

    @property
    def amount_changes(self) -> ChangeLog:
        return self._store.amount_changes

    @property
    def lowest_priority(self) -> int | None:
        """The lowest priority of a pod on a node; None if there is none."""
        return self._store.priorities.lowest

    def pods(self) -> Iterator[Pod]:
        """Every pod on a node of the snapshot."""
        return (pod for pods in self._store.pods for pod in pods.values())

    def node(self, name: str) -> NodeInfo | None:
        row = self._store.row_of.get(name)
        return None if row is None else self.nodes[row]

    def row(self, name: str) -> int | None:
        return self._store.row_of.get(name)

    def rows(self, names: Iterable[str]) -> list[int | None]:
        """The row of each name; None where there is no such node."""
        return list(map(self._store.row_of.get, names))

    @contextmanager
    def what_if(self) -> Iterator[WhatIf]:
        """Pods moved within the block are back where they were when it ends."""
        with self._store.what_if() as moves:
            yield moves

    def with_amounts(self, rows: IntArray, kinds: Sequence[Pod]) -> AmountsTable:
        """The nodes at *rows*, with amounts requested that can be changed by what each of *kinds* requests."""
        return AmountsTable(self._store, rows, kinds)

    def returned(self, nodes: Iterable[Node]) -> ReturnedNodes:
        """Nodes as an extender gave them back."""
        return ReturnedNodes.of(nodes, self.nodes)

    @contextmanager
    def without(self, pods: list[Pod]) -> Iterator[None]:
        """The cluster as if *pods*, which are on nodes, were gone."""
        with self._store.what_if() as moves:
            for pod in pods:
                moves.remove(self._store.row_of[pod.spec.node_name], pod)
            yield

    def search_order(self) -> IntArray:
        """Rows in the order in which kube-scheduler looks at nodes: zone by zone in turn."""
        if self._order is not None and self._order_of == self._store.labels.generation:
            return self._order
        zones: dict[str, list[int]] = {}
        for row, node in enumerate(self._store.nodes):
            zones.setdefault(zone_of(node.labels), []).append(row)
        order: list[int] = []
        for turn in range(max(map(len, zones.values()), default=0)):
            order.extend(rows[turn] for rows in zones.values() if turn < len(rows))
        self._order, self._order_of = np.array(order, dtype=np.int64), self._store.labels.generation
        return self._order


def zone_of(labels: object) -> str:
    """Region and zone in one, from the well-known labels or their older names."""
    get = labels.get  # type: ignore[attr-defined]
    region = get("topology.kubernetes.io/region") or get("failure-domain.beta.kubernetes.io/region") or ""
    zone = get("topology.kubernetes.io/zone") or get("failure-domain.beta.kubernetes.io/zone") or ""
    return f"{region}:\x00:{zone}" if region or zone else ""
