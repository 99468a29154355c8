"""The store: rows of nodes with the pods on them, and every part's columns.

It knows which row is whose and passes each change on to the parts. What a change means for scheduling (assumed
pods, pods of nodes that are not there) is the cache's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cache.changes import ChangeLog
from bayplan.cache.derived import DerivedColumns
from bayplan.cache.labels import LabelPart
from bayplan.cache.node_facts import ImagePart, TaintPart
from bayplan.cache.part import Column, Part
from bayplan.cache.pod_counts import PodCountPart, class_key
from bayplan.cache.pod_facts import ClaimPart, PortPart, PriorityPart, TermPart
from bayplan.cache.resources import ResourcePart
from bayplan.cache.volumes import VolumePart

if TYPE_CHECKING:
    from bayplan.model import Node, Pod

_FIRST_CAPACITY: Final = 64


class Store:
    """Nodes in dense rows 0 … n−1."""

    def __init__(self) -> None:
        self._capacity = _FIRST_CAPACITY
        #: By row.
        self.nodes: list[Node] = []
        #: By row: uid → pod.
        self.pods: list[dict[str, Pod]] = []
        self.row_of: dict[str, int] = {}
        self.names = Column(self._capacity, np.object_, fill="")
        self.resources = ResourcePart(self._capacity)
        self.labels = LabelPart(self._capacity, self.nodes, self.row_of.get)
        self.taints = TaintPart(self._capacity)
        self.images = ImagePart(self.nodes)
        self.pod_counts = PodCountPart(self._capacity)
        self.terms = TermPart(self._capacity)
        self.priorities = PriorityPart()
        self.ports = PortPart()
        self.claims = ClaimPart()
        self.volumes = VolumePart(self._capacity)
        self._node_parts: tuple[Part, ...] = (
            self.resources,
            self.labels,
            self.taints,
            self.images,
            self.pod_counts,
            self.terms,
        )
        self._pod_parts: tuple[Part, ...] = (
            self.resources,
            self.pod_counts,
            self.terms,
            self.priorities,
            self.ports,
            self.claims,
            self.volumes,
        )
        self._parts: tuple[Part, ...] = tuple({id(p): p for p in (*self._node_parts, *self._pod_parts)}.values())
        #: Rows whose node object changed.
        self.node_changes = ChangeLog()
        #: Rows whose node object or pods changed.
        self.usage_changes = ChangeLog()
        #: Rows whose node object changed, or the amounts that the pods on them request.
        self.amount_changes = ChangeLog()
        #: What plugins work out from the columns.
        self.derived = DerivedColumns(self.amount_changes)
        #: Changes with every change.
        self.generation = 0
        #: Changes when a node comes or goes.
        self.membership = 0
        self._names_of = -1
        self._frozen_names: NDArray[np.object_] = np.empty(0, dtype=np.object_)

    @property
    def frozen_names(self) -> NDArray[np.object_]:
        """The nodes' names by row, as they are now: an array that stays right when rows are renumbered."""
        if self._names_of != self.membership:
            self._frozen_names = self.names.data[: len(self.nodes)].copy()
            self._frozen_names.flags.writeable = False
            self._names_of = self.membership
        return self._frozen_names

    @property
    def n_nodes(self) -> int:
        return len(self.nodes)

    # --- nodes ------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> int:
        """Add the node, or take its new form; the row it is in."""
        row = self.row_of.get(node.name)
        old: Node | None = None
        if row is None:
            row = self._new_row(node)
        else:
            old = self.nodes[row]
            self.nodes[row] = node
        for part in self._node_parts:
            part.set_node(row, node, old)
        self.node_changes.note(row)
        self._note_amounts(row)
        return row

    def _new_row(self, node: Node) -> int:
        row = len(self.nodes)
        if row == self._capacity:
            self._capacity *= 2
            self.names.grow(self._capacity)
            for part in self._parts:
                part.grow(self._capacity)
        self.nodes.append(node)
        self.pods.append({})
        self.row_of[node.name] = row
        self.names.data[row] = node.name
        self.membership += 1
        return row

    def drop_node(self, name: str) -> list[Pod]:
        """Remove the node; the pods that were on it."""
        row = self.row_of.pop(name)
        pods = list(self.pods[row].values())
        for pod in pods:
            self.remove_pod(row, pod)
        for part in self._node_parts:
            part.clear_node(row, self.nodes[row])
        last = len(self.nodes) - 1
        if row != last:
            self.nodes[row], self.pods[row] = self.nodes[last], self.pods[last]
            self.row_of[self.nodes[row].name] = row
            for part in self._parts:
                part.move_row(last, row)
            self.names.move(last, row)
        else:
            self.names.data[row] = ""
        self.nodes.pop()
        self.pods.pop()
        self.membership += 1
        self.generation += 1
        self.node_changes.forget()
        self.usage_changes.forget()
        self.amount_changes.forget()
        return pods

    # --- pods -------------------------------------------------------------------------------------

    def add_pod(self, row: int, pod: Pod) -> None:
        self.pods[row][pod.uid] = pod
        for part in self._pod_parts:
            part.add_pod(row, pod)
        self._note_amounts(row)

    def remove_pod(self, row: int, pod: Pod) -> None:
        present = self.pods[row].pop(pod.uid)
        for part in self._pod_parts:
            part.remove_pod(row, present)
        self._note_amounts(row)

    def replace_pod(self, row: int, pod: Pod) -> None:
        """The pod has another form, in nothing that a part looks at but its class; as if it had gone and come."""
        pods = self.pods[row]
        old = pods.pop(pod.uid)
        pods[pod.uid] = pod
        if class_key(old) != class_key(pod):
            self.pod_counts.remove_pod(row, old)
            self.pod_counts.add_pod(row, pod)
        self._note_usage(row)

    def _note_amounts(self, row: int) -> None:
        self.amount_changes.note(row)
        self._note_usage(row)

    def _note_usage(self, row: int) -> None:
        self.usage_changes.note(row)
        self.generation += 1

    def save_row(self, row: int) -> list[Any]:
        return [part.save_row(row) for part in self._pod_parts]

    def restore_row(self, row: int, saved: list[Any]) -> None:
        for part, its_own in zip(self._pod_parts, saved, strict=True):
            part.restore_row(row, its_own)

    @contextmanager
    def what_if(self) -> Iterator[WhatIf]:
        """Pods moved within the block are back where they were when it ends."""
        moves = WhatIf(self)
        try:
            yield moves
        finally:
            moves.undo()


class WhatIf:
    """Changes to take back."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._done: list[tuple[bool, int, Pod]] = []
        self._saved: dict[int, tuple[dict[str, Pod], list[Any]]] = {}

    def add(self, row: int, pod: Pod) -> None:
        self._save(row)
        self._store.add_pod(row, pod)
        self._done.append((True, row, pod))

    def remove(self, row: int, pod: Pod) -> None:
        self._save(row)
        self._store.remove_pod(row, pod)
        self._done.append((False, row, pod))

    def _save(self, row: int) -> None:
        if row not in self._saved:
            self._saved[row] = dict(self._store.pods[row]), self._store.save_row(row)

    def undo(self) -> None:
        while self._done:
            added, row, pod = self._done.pop()
            if added:
                self._store.remove_pod(row, pod)
            else:
                self._store.add_pod(row, pod)
        for row, (pods, parts) in self._saved.items():
            self._store.pods[row] = pods  # in their order
            self._store.restore_row(row, parts)
