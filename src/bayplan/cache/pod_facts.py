"""Facts of the pods on nodes: the affinity terms they carry, priorities, the host ports and claims they use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bayplan.cache.counts import CountColumn, CountingPart
from bayplan.cache.part import Part
from bayplan.framework import BoolArray, TermKind
from bayplan.model import IN, HostPort, SelectorError, compile_readable_affinity, pod_claims
from bayplan.model.host_ports import ANY_ADDRESS

if TYPE_CHECKING:
    from bayplan.model import AffinityTerm, Pod

#: A term and its weight (0 for a required one).
WeightedTerm: TypeAlias = "tuple[AffinityTerm, int]"
#: A label that a pod must have for a term to speak of it; None for terms that ask for no label in particular.
Hook: TypeAlias = "tuple[str, str] | None"


class TermPart(CountingPart):
    """Each distinct (anti)affinity term of pods on nodes has a column: how many pods of the node carry it.

    Terms hang on the labels they ask for, so that a pod meets only those that may speak of it.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[TermKind, dict[WeightedTerm, CountColumn]] = {kind: {} for kind in TermKind}
        #: How many distinct terms there are, of all kinds.
        self.n_distinct = 0
        self._by_hook: dict[TermKind, dict[Hook, dict[WeightedTerm, CountColumn]]] = {
            kind: {} for kind in TermKind
        }

    def _counts(self) -> Iterable[CountColumn]:
        return chain.from_iterable(columns.values() for columns in self._columns.values())

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        super().grow(capacity)

    def add_pod(self, row: int, pod: Pod) -> None:
        if pod.spec.affinity is None:
            return
        for kind, weighted in _terms(pod):
            columns = self._columns[kind]
            column = columns.get(weighted)
            if column is None:
                column = columns[weighted] = CountColumn(self._capacity)
                self.n_distinct += 1
                for hook in _hooks(weighted[0]):
                    self._by_hook[kind].setdefault(hook, {})[weighted] = column
            column.change(row, +1)

    def remove_pod(self, row: int, pod: Pod) -> None:
        if pod.spec.affinity is None:
            return
        for kind, weighted in _terms(pod):
            column = self._columns[kind][weighted]
            column.change(row, -1)
            if not column.total:
                del self._columns[kind][weighted]
                self.n_distinct -= 1
                self._unhook(kind, weighted)

    def _unhook(self, kind: TermKind, weighted: WeightedTerm) -> None:
        by_hook = self._by_hook[kind]
        for hook in _hooks(weighted[0]):
            del by_hook[hook][weighted]
            if not by_hook[hook]:
                del by_hook[hook]

    def columns(self, kind: TermKind) -> dict[WeightedTerm, CountColumn]:
        return self._columns[kind]

    def candidates(self, kind: TermKind, labels: Mapping[str, str]) -> Iterable[tuple[WeightedTerm, CountColumn]]:
        """The terms that may speak of a pod with *labels*."""
        by_hook = self._by_hook[kind]
        if not by_hook:
            return ()
        hooks: tuple[Hook, ...] = (None, *labels.items())
        return [entry for hook in hooks if hook in by_hook for entry in by_hook[hook].items()]


def _hooks(term: AffinityTerm) -> Iterable[Hook]:
    """One label per value that the term accepts for the key on which it is the most particular."""
    if term.selector.requirements is None:
        return ()  # speaks of no pod at all
    needed = [each for each in term.selector.requirements if each.operator == IN]
    if not needed:
        return (None,)
    narrowest = min(needed, key=lambda requirement: len(requirement.values))
    return [(narrowest.key, value) for value in narrowest.values]


def _terms(pod: Pod) -> Iterable[tuple[TermKind, WeightedTerm]]:
    try:
        terms = pod.affinity_terms
    except SelectorError:
        # What cannot be read binds nobody; the other kinds of terms still do, as in kube-scheduler.
        terms, _ = compile_readable_affinity(pod.spec.affinity, pod.namespace)
    for term in terms.required:
        yield TermKind.REQUIRED_AFFINITY, (term, 0)
    for term in terms.anti_required:
        yield TermKind.REQUIRED_ANTI_AFFINITY, (term, 0)
    for weight, term in terms.preferred:
        yield TermKind.PREFERRED_AFFINITY, (term, weight)
    for weight, term in terms.anti_preferred:
        yield TermKind.PREFERRED_ANTI_AFFINITY, (term, weight)


class PriorityPart(Part):
    """How many pods on nodes have each priority."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add_pod(self, row: int, pod: Pod) -> None:
        self._counts[pod.priority] += 1

    def remove_pod(self, row: int, pod: Pod) -> None:
        self._counts[pod.priority] -= 1
        if not self._counts[pod.priority]:
            del self._counts[pod.priority]

    @property
    def lowest(self) -> int | None:
        return min(self._counts, default=None)


class PortPart(Part):
    """Host ports in use: (protocol, port) → address → the nodes.

    A set, not a count: where two pods of a node have the same port (the scheduler never lets that happen, but
    whoever sets `nodeName` can), the first of them to go frees it. kube-scheduler does so, and we decide as it
    does (docs/decisions/0009-ports-as-a-set.md).
    """

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[str, set[int]]] = {}
        self._by_row: dict[int, set[HostPort]] = {}

    def add_pod(self, row: int, pod: Pod) -> None:
        for port in pod.host_ports:
            self._take(row, port)

    def remove_pod(self, row: int, pod: Pod) -> None:
        for port in pod.host_ports:
            self._free(row, port)

    def _take(self, row: int, port: HostPort) -> None:
        self._used.setdefault((port.protocol, port.port), {}).setdefault(port.ip, set()).add(row)
        self._by_row.setdefault(row, set()).add(port)

    def _free(self, row: int, port: HostPort) -> None:
        if port in self._by_row.get(row, ()):
            self._used[port.protocol, port.port][port.ip].remove(row)
            self._by_row[row].remove(port)

    def move_row(self, source: int, target: int) -> None:
        for port in tuple(self._by_row.pop(source, ())):
            self._used[port.protocol, port.port][port.ip].remove(source)
            self._take(target, port)

    def save_row(self, row: int) -> frozenset[HostPort]:
        return frozenset(self._by_row.get(row, ()))

    def restore_row(self, row: int, saved: Any) -> None:
        for port in tuple(self._by_row.get(row, ())):
            if port not in saved:
                self._free(row, port)
        for port in saved:
            self._take(row, port)

    def taken(self, wanted: Iterable[HostPort], n_nodes: int) -> BoolArray:
        """Where one of the ports conflicts with one in use; an address of all zeros conflicts with any."""
        mask = np.zeros(n_nodes, dtype=np.bool_)
        for port in wanted:
            for address, rows in self._used.get((port.protocol, port.port), {}).items():
                if rows and (ANY_ADDRESS in (address, port.ip) or address == port.ip):
                    mask[list(rows)] = True
        return mask


def _claim_keys(pod: Pod) -> Iterable[str]:
    """Claims named by the pod; those made for its ephemeral volumes are its own and shared with nobody."""
    if not pod.spec.volumes:
        return ()
    return [f"{pod.namespace}/{claim.claim_name}" for claim in pod_claims(pod) if not claim.is_ephemeral]


class ClaimPart(Part):
    """Which nodes have pods that use a claim (`namespace/name`)."""

    def __init__(self) -> None:
        self._rows: dict[str, Counter[int]] = {}

    def add_pod(self, row: int, pod: Pod) -> None:
        for key in _claim_keys(pod):
            self._rows.setdefault(key, Counter())[row] += 1

    def remove_pod(self, row: int, pod: Pod) -> None:
        for key in _claim_keys(pod):
            rows = self._rows[key]
            rows[row] -= 1
            if not rows[row]:
                del rows[row]
                if not rows:
                    del self._rows[key]

    def move_row(self, source: int, target: int) -> None:
        for rows in self._rows.values():
            if source in rows:
                rows[target] = rows.pop(source)

    def users(self, key: str, n_nodes: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """How many pods of each node use the claim."""
        users = np.zeros(n_nodes, dtype=np.int64)
        for row, count in self._rows.get(key, {}).items():
            users[row] = count
        return users
