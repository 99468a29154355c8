"""Resources as lines: what each node offers and what the pods on it request, one column per resource name."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        self._count(row, pod, 1)

    def remove_pod(self, row: int, pod: Pod) -> None:
        self._count(row, pod, -1)

    def _count(self, row: int, pod: Pod, sign: int) -> None:
        for name, amount in pod.requests.items():
            self._line(self.requested, name).data[row] += sign * amount
        nonzero = pod.nonzero_requests
        self.nonzero["cpu"].data[row] += sign * nonzero["cpu"]
        self.nonzero["memory"].data[row] += sign * nonzero["memory"]
        self.pod_counts.data[row] += sign

    def _line(self, lines: dict[str, Column], name: str) -> Column:
        column = lines.get(name)
        if column is None:
            column = lines[name] = Column(self._capacity, np.int64)
        return column
