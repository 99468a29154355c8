"""Resources as lines: what each node offers and what the pods on it request, one column per resource name."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, sub
from typing import TYPE_CHECKING, Any

import numpy as np

from bayplan.cache.part import Column, Part

if TYPE_CHECKING:
    from bayplan.model import Node, Pod


class ResourcePart(Part):
    """Allocatable, requested, requested with the non-zero defaults, and the number of pods."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.allocatable: dict[str, Column] = {}
        self.requested: dict[str, Column] = {}
        self.nonzero: dict[str, Column] = {name: Column(capacity, np.int64) for name in ("cpu", "memory")}
        self.pod_counts = Column(capacity, np.int64)
        #: What a resource that nobody offers or requests looks like.
        self.nothing = Column(capacity, np.int64)

    def _columns(self) -> list[Column]:
        return [
            *self.allocatable.values(),
            *self.requested.values(),
            *self.nonzero.values(),
            self.pod_counts,
            self.nothing,
        ]

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for column in self._columns():
            column.grow(capacity)

    def move_row(self, source: int, target: int) -> None:
        for column in self._columns():
            column.move(source, target)

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        offered = node.allocatable
        for name, column in self.allocatable.items():
            column.data[row] = offered.get(name, 0)
        for name in offered.keys() - self.allocatable.keys():
            self._line(self.allocatable, name).data[row] = offered[name]

    def clear_node(self, row: int, node: Node) -> None:
        for column in self.allocatable.values():
            column.data[row] = 0

    def add_pod(self, row: int, pod: Pod) -> None:
        self._count(row, pod, add)

    def remove_pod(self, row: int, pod: Pod) -> None:
        self._count(row, pod, sub)

    def _count(self, row: int, pod: Pod, change: Callable[[Any, int], Any]) -> None:
        """Add or take away what the pod requests. The lowest int64 has no opposite, so amounts keep their sign."""
        for name, amount in pod.requests.items():
            data = self._line(self.requested, name).data
            data[row] = change(data[row], amount)
        for name, amount in pod.nonzero_requests.items():
            data = self.nonzero[name].data
            data[row] = change(data[row], amount)
        self.pod_counts.data[row] = change(self.pod_counts.data[row], 1)

    def _line(self, lines: dict[str, Column], name: str) -> Column:
        column = lines.get(name)
        if column is None:
            column = lines[name] = Column(self._capacity, np.int64)
        return column
