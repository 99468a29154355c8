"""Columns over the nodes: the arrays, the base class of their groups, and the two groups that every pod changes.

In: nodes set and removed, pods added to and removed from a node's row. Out: columns that always equal a full
recount. Each `ColumnGroup` maintains its own columns and does not know the others; `NodeStore` calls them.

Rows are dense: 0 … n−1 are nodes. When a node is removed, the last node takes over its row. `move_row` is the only
way in which a row number changes (docs/decisions/0006-dense-rows.md).
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.framework import CountClasses, PodQuery

if TYPE_CHECKING:
    from bayplan.framework import Domains, IntArray
    from bayplan.model import Node, Pod

#: The columns of so many queries are maintained; beyond that the least recently used one is dropped.
MAX_QUERIES: Final = 2048


class Column:
    """One array over the rows, with spare capacity."""

    __slots__ = ("_view", "data", "fill")

    def __init__(self, capacity: int, dtype: type[np.generic], fill: object = 0) -> None:
        self.fill = fill
        #: All rows, including the unused ones after the last node.
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
        """The rows of the nodes, read-only; later changes show in it."""
        view = self._view
        if view is None or len(view) != n_nodes:
            view = self.data[:n_nodes]
            view.flags.writeable = False
            self._view = view
        return view


class CountColumn(Column):
    """int64 counts per row, updated by ±1, with their sums over topology domains.

    Summing 5,000 rows for every pod costs more than everything else done with the sum. A sum that was requested
    once is therefore updated with the column, until the labels of a node, and with them the domains, change.
    """

    __slots__ = ("_by_domain", "_sums", "total")

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, np.int64)
        #: The sum of all calls of `change`.
        self.total = 0
        #: Domains, the sum of each domain, and a read-only view of the sums.
        self._sums: list[tuple[Domains, IntArray, IntArray]] = []
        self._by_domain: list[_CountsByDomain] = []

    def change(self, row: int, by: int) -> None:
        self.data[row] += by
        self.total += by
        for domains, sums, _ in self._sums:
            sums[domains.of_node[row]] += by
        for counts in self._by_domain:
            counts.change(row, by)

    def in_domains(self, domains: Domains) -> IntArray:
        """`domains.totals` of the column, read-only; later changes show in it. *domains* must be of all rows."""
        if domains.is_node:
            return self.view(len(domains.of_node))
        for known, _, view in self._sums:
            if known is domains:
                return view
        sums = domains.totals(self.data[: len(domains.of_node)])
        view = sums.view()
        view.flags.writeable = False
        self._sums.append((domains, sums, view))
        return view

    def classes(self, domains: Domains) -> CountClasses:
        """`CountClasses.of` the column, as a copy. *domains* must be of all rows."""
        for known in self._by_domain:
            if known.domains is domains:
                return known.copy()
        counts = _CountsByDomain(domains, self.data[: len(domains.of_node)])
        self._by_domain.append(counts)
        return counts.copy()

    def forget_domains(self) -> None:
        """The domains of the rows may have changed."""
        self._sums.clear()
        self._by_domain.clear()


class _CountsByDomain:
    """Rows grouped by count and domain, updated by ±1."""

    __slots__ = ("_current", "domains")

    def __init__(self, domains: Domains, counts: IntArray) -> None:
        self.domains = domains
        self._current = CountClasses.of(counts, domains)

    def change(self, row: int, by: int) -> None:
        classes, sizes = self._current
        before = int(classes[row])
        after = before + by * self.domains.n_entries
        if after >= len(sizes):
            sizes = np.append(sizes, np.zeros(after - len(sizes) + 1, dtype=np.int64))
            self._current = CountClasses(classes, sizes)
        classes[row] = after
        sizes[before] -= 1
        sizes[after] += 1

    def copy(self) -> CountClasses:
        return CountClasses(self._current.classes.copy(), self._current.sizes.copy())


class ColumnGroup:
    """Columns that are updated together; the base class has none."""

    def grow(self, capacity: int) -> None:
        """The capacity is *capacity* rows now."""

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        """The node at *row* was added (old is None) or changed."""

    def clear_node(self, row: int, node: Node) -> None:
        """The node at *row* is being removed; its pods have been removed already."""

    def move_row(self, source: int, target: int) -> None:
        """The node at *source* moves to *target*, which has been cleared; *source* becomes unused."""

    def add_pod(self, row: int, pod: Pod) -> None:
        """*pod* was added to the node at *row*."""

    def remove_pod(self, row: int, pod: Pod) -> None:
        """*pod* was removed from the node at *row*."""


class CountColumnGroup(ColumnGroup):
    """A group of CountColumns."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity

    def _columns(self) -> Iterable[CountColumn]:
        """All of them."""
        raise NotImplementedError

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for column in self._columns():
            column.grow(capacity)

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        if old is None or old.labels != node.labels:
            self._forget_domains()

    def clear_node(self, row: int, node: Node) -> None:
        self._forget_domains()

    def _forget_domains(self) -> None:
        for column in self._columns():
            column.forget_domains()

    def move_row(self, source: int, target: int) -> None:
        for column in self._columns():
            column.move(source, target)


class ResourceColumns(ColumnGroup):
    """Allocatable, requested, requested with the non-zero defaults, and the number of pods."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        #: By resource name, like `requested`.
        self.allocatable: dict[str, Column] = {}
        self.requested: dict[str, Column] = {}
        self.nonzero: dict[str, Column] = {name: Column(capacity, np.int64) for name in ("cpu", "memory")}
        self.pod_counts = Column(capacity, np.int64)
        #: Zeros, for a resource that no node offers or no pod requests.
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
        for name in offered.keys() - self.allocatable.keys():
            self.allocatable[name] = Column(self._capacity, np.int64)
        for name, column in self.allocatable.items():
            column.data[row] = offered.get(name, 0)

    def clear_node(self, row: int, node: Node) -> None:
        for column in self.allocatable.values():
            column.data[row] = 0

    def add_pod(self, row: int, pod: Pod) -> None:
        for name, amount in pod.requests.items():
            column = self.requested.get(name)
            if column is None:
                column = self.requested[name] = Column(self._capacity, np.int64)
            column.data[row] += amount
        for name, amount in pod.nonzero_requests.items():
            self.nonzero[name].data[row] += amount
        self.pod_counts.data[row] += 1

    def remove_pod(self, row: int, pod: Pod) -> None:
        # Subtracted, not added with the opposite sign: the lowest int64 has no opposite.
        for name, amount in pod.requests.items():
            self.requested[name].data[row] -= amount
        for name, amount in pod.nonzero_requests.items():
            self.nonzero[name].data[row] -= amount
        self.pod_counts.data[row] -= 1


#: Namespace, whether the pod is being deleted, labels.
PodClassKey: TypeAlias = tuple[str, bool, frozenset[tuple[str, str]]]


def pod_class_key(pod: Pod) -> PodClassKey:
    """Equal for the pods of one `PodClass`."""
    return pod.namespace, pod.metadata.deletion_timestamp is not None, frozenset(pod.labels.items())


class PodClass:
    """Pods that no query can tell apart: same namespace, labels and state of deletion."""

    __slots__ = ("columns", "labels", "namespace", "rows", "terminating")

    def __init__(self, pod: Pod, queries: Mapping[PodQuery, CountColumn]) -> None:
        self.namespace = pod.namespace
        self.labels: Mapping[str, str] = pod.labels
        self.terminating = pod.metadata.deletion_timestamp is not None
        #: Row → number of pods of this class there.
        self.rows: Counter[int] = Counter()
        #: The columns of the queries that count this class.
        self.columns = [column for query, column in queries.items() if self.is_counted_by(query)]

    def is_counted_by(self, query: PodQuery) -> bool:
        return (
            (query.namespaces is None or self.namespace in query.namespaces)
            and (query.terminating or not self.terminating)
            and all(selector.matches(self.labels) for selector in query.selectors)
        )


class PodCountColumns(CountColumnGroup):
    """Counts of the pods that match a PodQuery, and of the pods of each priority.

    A selector is matched against pod classes, not pods. The first use of a query creates a column of counts; every
    pod added or removed later changes it by one. kube-scheduler counts all pods again for each pod it schedules.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._classes: dict[PodClassKey, PodClass] = {}
        self._queries: OrderedDict[PodQuery, CountColumn] = OrderedDict()
        self._priorities: Counter[int] = Counter()

    def _columns(self) -> Iterable[CountColumn]:
        return self._queries.values()

    def move_row(self, source: int, target: int) -> None:
        super().move_row(source, target)
        for pod_class in self._classes.values():
            if source in pod_class.rows:
                pod_class.rows[target] = pod_class.rows.pop(source)

    def add_pod(self, row: int, pod: Pod) -> None:
        self._priorities[pod.priority] += 1
        key = pod_class_key(pod)
        pod_class = self._classes.get(key)
        if pod_class is None:
            pod_class = self._classes[key] = PodClass(pod, self._queries)
        pod_class.rows[row] += 1
        for column in pod_class.columns:
            column.change(row, +1)

    def remove_pod(self, row: int, pod: Pod) -> None:
        priority = pod.priority
        self._priorities[priority] -= 1
        if not self._priorities[priority]:
            del self._priorities[priority]
        key = pod_class_key(pod)
        pod_class = self._classes[key]
        for column in pod_class.columns:
            column.change(row, -1)
        pod_class.rows[row] -= 1
        if not pod_class.rows[row]:
            del pod_class.rows[row]
            if not pod_class.rows:
                del self._classes[key]

    @property
    def lowest_priority(self) -> int | None:
        return min(self._priorities, default=None)

    def column(self, query: PodQuery) -> CountColumn:
        """The counts of *query*."""
        column = self._queries.get(query)
        if column is None:
            column = self._count(query)
            if len(self._queries) >= MAX_QUERIES:
                self._drop_least_recently_used()
            self._queries[query] = column
        else:
            self._queries.move_to_end(query)
        return column

    def _count(self, query: PodQuery) -> CountColumn:
        column = CountColumn(self._capacity)
        for pod_class in self._classes.values():
            if pod_class.is_counted_by(query):
                pod_class.columns.append(column)
                rows = np.fromiter(pod_class.rows.keys(), dtype=np.int64, count=len(pod_class.rows))
                counts = np.fromiter(pod_class.rows.values(), dtype=np.int64, count=len(pod_class.rows))
                column.data[rows] += counts
        return column

    def _drop_least_recently_used(self) -> None:
        _, dropped = self._queries.popitem(last=False)
        for pod_class in self._classes.values():
            pod_class.columns = [column for column in pod_class.columns if column is not dropped]
