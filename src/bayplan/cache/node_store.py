"""The node store: rows of nodes with the pods on them, their column groups and the logs of changed rows.

In: nodes and pods set, added and removed by row. Out: the columns, read through `CacheNodeTable`, and change logs.
It does not know about assumed pods or pods of unknown nodes; `Cache` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cache.columns import (
    Column,
    ColumnGroup,
    PodCountColumns,
    ResourceColumns,
    pod_class_key,
)
from bayplan.cache.derived_columns import DerivedColumns
from bayplan.cache.label_columns import LabelColumns
from bayplan.cache.node_columns import ImageColumns, TaintColumns
from bayplan.cache.pod_columns import AffinityTermColumns, HostPortColumns, VolumeColumns
from bayplan.framework import IntArray

if TYPE_CHECKING:
    from bayplan.model import HostPort, Node, Pod

INITIAL_CAPACITY: Final = 64
#: A change log has at most so many entries; a reader that is further behind starts over.
MAX_LOG_LENGTH: Final = 8192
#: When more than this share of the rows changed, recomputing all of them is cheaper.
REFRESH_SHARE: Final = 0.25


class ChangeLog:
    """Row numbers in the order in which the rows changed. A reader remembers a position in it.

    Cached results and derived columns are refreshed only for the rows that changed since they were computed.
    """

    __slots__ = ("_last_call", "_last_result", "_rows", "_start", "position")

    def __init__(self) -> None:
        self._rows: list[int] = []
        #: The position of the first entry that is still there.
        self._start = 0
        #: The position after the last entry.
        self.position = 0
        self._last_call = (-1, -1)
        self._last_result: IntArray = np.empty(0, dtype=np.int64)

    def append(self, row: int) -> None:
        self._rows.append(row)
        self.position += 1
        if len(self._rows) > MAX_LOG_LENGTH:
            half = MAX_LOG_LENGTH // 2
            del self._rows[:half]
            self._start += half

    def reset(self) -> None:
        """Rows were renumbered: every reader has to start over."""
        self.position += 1
        self._start = self.position
        self._rows.clear()

    def since(self, position: int) -> IntArray | None:
        """The distinct rows that changed since *position*, unordered; None if the log does not go back so far."""
        if position < self._start:
            return None
        if self._last_call != (position, self.position):
            # Several results are refreshed from the same position in one cycle.
            changed = set(self._rows[position - self._start :])
            self._last_call = position, self.position
            self._last_result = np.fromiter(changed, dtype=np.int64, count=len(changed))
        return self._last_result

    def only_since(self, position: int) -> int:
        """The row, if there is exactly one entry since *position*; −1 otherwise."""
        is_single = position == self.position - 1 and position >= self._start
        return self._rows[-1] if is_single else -1

    def few_since(self, position: int, n_rows: int) -> IntArray | None:
        """Like `since`; None also if so many of the *n_rows* changed that recomputing all of them is cheaper."""
        rows = self.since(position)
        return rows if rows is not None and len(rows) <= n_rows * REFRESH_SHARE else None


class NodeStore:
    """Nodes in dense rows 0 … n−1."""

    def __init__(self) -> None:
        self._capacity = INITIAL_CAPACITY
        #: By row.
        self.nodes: list[Node] = []
        #: By row: uid → pod.
        self.pods: list[dict[str, Pod]] = []
        #: By node name.
        self.row_of: dict[str, int] = {}
        self.names = Column(self._capacity, np.object_, fill="")
        self.resources = ResourceColumns(self._capacity)
        self.labels = LabelColumns(self._capacity, self.nodes, self.row_of.get)
        self.taints = TaintColumns(self._capacity)
        self.images = ImageColumns(self.nodes)
        self.pod_counts = PodCountColumns(self._capacity)
        self.terms = AffinityTermColumns(self._capacity)
        self.ports = HostPortColumns()
        self.volumes = VolumeColumns(self._capacity)
        self._groups: tuple[ColumnGroup, ...] = (
            self.resources,
            self.labels,
            self.taints,
            self.images,
            self.pod_counts,
            self.terms,
            self.ports,
            self.volumes,
        )
        # Three logs: most results depend on the node object alone, pods change far more often than nodes, and the
        # watch shows every pod again after its bind, which changes no amounts.
        #: Rows whose node object changed.
        self.node_changes = ChangeLog()
        #: Rows whose node object or pods changed.
        self.usage_changes = ChangeLog()
        #: Rows whose node object, or the amounts requested by their pods, changed.
        self.amount_changes = ChangeLog()
        #: Columns that plugins compute from these.
        self.derived = DerivedColumns(self.amount_changes)
        #: Changes with every change.
        self.generation = 0
        #: Changes when a node is added or removed.
        self.node_set_version = 0

    # --- nodes ------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> int:
        """Add or update the node; returns its row."""
        row = self.row_of.get(node.name)
        old: Node | None = None
        if row is None:
            row = self._add_row(node)
        else:
            old = self.nodes[row]
            self.nodes[row] = node
        for group in self._groups:
            group.set_node(row, node, old)
        self.node_changes.append(row)
        self.amount_changes.append(row)
        self.usage_changes.append(row)
        self.generation += 1
        return row

    def _add_row(self, node: Node) -> int:
        row = len(self.nodes)
        if row == self._capacity:
            self._capacity *= 2
            self.names.grow(self._capacity)
            for group in self._groups:
                group.grow(self._capacity)
        self.nodes.append(node)
        self.pods.append({})
        self.row_of[node.name] = row
        self.names.data[row] = node.name
        self.node_set_version += 1
        return row

    def remove_node(self, name: str) -> list[Pod]:
        """Remove the node; returns the pods that were on it."""
        row = self.row_of.pop(name)
        pods = list(self.pods[row].values())
        for pod in pods:
            self.remove_pod(row, pod)
        for group in self._groups:
            group.clear_node(row, self.nodes[row])
        last = len(self.nodes) - 1
        if row != last:
            self.nodes[row], self.pods[row] = self.nodes[last], self.pods[last]
            self.row_of[self.nodes[row].name] = row
            for group in self._groups:
                group.move_row(last, row)
            self.names.move(last, row)
        else:
            self.names.data[row] = ""
        self.nodes.pop()
        self.pods.pop()
        self.node_set_version += 1
        self.generation += 1
        self.node_changes.reset()
        self.usage_changes.reset()
        self.amount_changes.reset()
        return pods

    # --- pods -------------------------------------------------------------------------------------

    def add_pod(self, row: int, pod: Pod) -> None:
        self.pods[row][pod.uid] = pod
        self.resources.add_pod(row, pod)
        self.pod_counts.add_pod(row, pod)
        # Few pods have any of these.
        if pod.spec.affinity is not None:
            self.terms.add_pod(row, pod)
        if pod.host_ports:
            self.ports.add_pod(row, pod)
        if pod.spec.volumes:
            self.volumes.add_pod(row, pod)
        self.amount_changes.append(row)
        self.usage_changes.append(row)
        self.generation += 1

    def remove_pod(self, row: int, pod: Pod) -> None:
        present = self.pods[row].pop(pod.uid)
        self.resources.remove_pod(row, present)
        self.pod_counts.remove_pod(row, present)
        if present.spec.affinity is not None:
            self.terms.remove_pod(row, present)
        if present.host_ports:
            self.ports.remove_pod(row, present)
        if present.spec.volumes:
            self.volumes.remove_pod(row, present)
        self.amount_changes.append(row)
        self.usage_changes.append(row)
        self.generation += 1

    def replace_pod(self, row: int, pod: Pod) -> None:
        """Exchange a pod for a form with the same column entries, except for its class.

        The result is the same as removing and adding it.
        """
        pods = self.pods[row]
        old = pods.pop(pod.uid)
        pods[pod.uid] = pod
        if pod_class_key(old) != pod_class_key(pod):
            self.pod_counts.remove_pod(row, old)
            self.pod_counts.add_pod(row, pod)
        self.usage_changes.append(row)
        self.generation += 1


class WhatIf:
    """A context manager through which pods are added and removed; they are back as they were when it ends."""

    def __init__(self, store: NodeStore) -> None:
        self._store = store
        #: In order: whether it was added, the row, the pod.
        self._moves: list[tuple[bool, int, Pod]] = []
        #: Row → its pods and its host ports at the beginning. Undoing the moves restores neither the order of the
        #: pods nor a port that several of them use.
        self._saved: dict[int, tuple[dict[str, Pod], frozenset[HostPort]]] = {}

    def __enter__(self) -> WhatIf:
        return self

    def __exit__(self, *_: object) -> None:
        store = self._store
        while self._moves:
            is_added, row, pod = self._moves.pop()
            if is_added:
                store.remove_pod(row, pod)
            else:
                store.add_pod(row, pod)
        for row, (pods, ports) in self._saved.items():
            store.pods[row] = pods
            store.ports.restore(row, ports)

    def add(self, row: int, pod: Pod) -> None:
        self._save(row)
        self._store.add_pod(row, pod)
        self._moves.append((True, row, pod))

    def remove(self, row: int, pod: Pod) -> None:
        self._save(row)
        self._store.remove_pod(row, pod)
        self._moves.append((False, row, pod))

    def _save(self, row: int) -> None:
        if row not in self._saved:
            self._saved[row] = dict(self._store.pods[row]), self._store.ports.at(row)
