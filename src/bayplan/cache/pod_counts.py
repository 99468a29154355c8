"""Pods by class, and counts kept by ±1.

Pods with the same namespace, labels and state of deletion share a class; a selector is matched against
classes, not pods. A query that was asked once has a column of counts per node from then on, which every pod
that comes or goes changes by one; so have its sums over topology domains. That is where kube-scheduler counts
every pod again for every pod.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bayplan.cache.counts import CountColumn, CountingPart
from bayplan.framework import IntArray, PodQuery

if TYPE_CHECKING:
    from bayplan.model import Pod

ClassKey: TypeAlias = tuple[str, bool, frozenset[tuple[str, str]]]

#: More queries than this at a time are not kept; the one not asked for the longest goes.
MAX_QUERIES = 2048


class PodClass:
    """Pods that no query can tell apart."""

    __slots__ = ("columns", "labels", "namespace", "rows", "terminating")

    def __init__(self, namespace: str, labels: Mapping[str, str], terminating: bool) -> None:
        self.namespace = namespace
        self.labels = labels
        self.terminating = terminating
        #: Row → number of such pods there.
        self.rows: Counter[int] = Counter()
        #: The columns of the queries that count this class.
        self.columns: list[CountColumn] = []

    def is_counted_by(self, query: PodQuery) -> bool:
        return (
            (query.namespaces is None or self.namespace in query.namespaces)
            and (query.terminating or not self.terminating)
            and all(selector.matches(self.labels) for selector in query.selectors)
        )


def class_key(pod: Pod) -> ClassKey:
    return pod.namespace, pod.metadata.deletion_timestamp is not None, frozenset(pod.labels.items())


class PodCountPart(CountingPart):
    """Answers PodQueries."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._classes: dict[ClassKey, PodClass] = {}
        self._queries: OrderedDict[PodQuery, CountColumn] = OrderedDict()

    def _counts(self) -> Iterable[CountColumn]:
        return self._queries.values()

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        super().grow(capacity)

    def move_row(self, source: int, target: int) -> None:
        super().move_row(source, target)
        for pod_class in self._classes.values():
            if source in pod_class.rows:
                pod_class.rows[target] = pod_class.rows.pop(source)

    def add_pod(self, row: int, pod: Pod) -> None:
        key = class_key(pod)
        pod_class = self._classes.get(key)
        if pod_class is None:
            pod_class = self._classes[key] = self._new_class(pod)
        pod_class.rows[row] += 1
        for column in pod_class.columns:
            column.change(row, +1)

    def remove_pod(self, row: int, pod: Pod) -> None:
        key = class_key(pod)
        pod_class = self._classes[key]
        for column in pod_class.columns:
            column.change(row, -1)
        pod_class.rows[row] -= 1
        if not pod_class.rows[row]:
            del pod_class.rows[row]
            if not pod_class.rows:
                del self._classes[key]

    def _new_class(self, pod: Pod) -> PodClass:
        pod_class = PodClass(pod.namespace, pod.labels, pod.metadata.deletion_timestamp is not None)
        pod_class.columns = [column for query, column in self._queries.items() if pod_class.is_counted_by(query)]
        return pod_class

    def column(self, query: PodQuery) -> CountColumn:
        """The kept counts of *query*."""
        column = self._queries.get(query)
        if column is None:
            column = self._count(query)
            if len(self._queries) >= MAX_QUERIES:
                self._drop_oldest()
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

    def _drop_oldest(self) -> None:
        _, dropped = self._queries.popitem(last=False)
        for pod_class in self._classes.values():
            pod_class.columns = [column for column in pod_class.columns if column is not dropped]

    def recount(self, query: PodQuery, n_nodes: int) -> IntArray:
        """What `column` must show, worked out from the classes; for checking."""
        counts = np.zeros(n_nodes, dtype=np.int64)
        for pod_class in self._classes.values():
            if pod_class.is_counted_by(query):
                for row, count in pod_class.rows.items():
                    counts[row] += count
        return counts
