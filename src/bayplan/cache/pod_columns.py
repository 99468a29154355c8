"""Columns that only some pods change: affinity terms, host ports in use, volumes.

In: the pods with such fields, as they are added to and removed from rows. Out: columns and masks over the nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bayplan.cache.columns import Column, ColumnGroup, CountColumn, CountColumnGroup
from bayplan.framework import BoolArray, IntArray, TermKind
from bayplan.model import IN, HostPort, SelectorError, compile_readable_affinity
from bayplan.model.host_ports import ANY_ADDRESS

if TYPE_CHECKING:
    from bayplan.model import AffinityTerm, Pod, Volume

#: A term and its weight (0 for a required one).
WeightedTerm: TypeAlias = "tuple[AffinityTerm, int]"
#: A label that a pod must have to match a term; None for terms that require no particular label.
IndexKey: TypeAlias = "tuple[str, str] | None"


class AffinityTermColumns(CountColumnGroup):
    """A column for each distinct (anti)affinity term of pods on nodes: how many pods of the node have it.

    Terms are indexed by the labels they require, so that a pod is compared only with those that may match it.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._by_kind: dict[TermKind, dict[WeightedTerm, CountColumn]] = {kind: {} for kind in TermKind}
        #: The number of distinct terms of all kinds.
        self.n_distinct = 0
        self._index: dict[TermKind, dict[IndexKey, dict[WeightedTerm, CountColumn]]] = {
            kind: {} for kind in TermKind
        }

    def _columns(self) -> Iterable[CountColumn]:
        return chain.from_iterable(columns.values() for columns in self._by_kind.values())

    def add_pod(self, row: int, pod: Pod) -> None:
        for kind, weighted in _terms(pod):
            columns = self._by_kind[kind]
            column = columns.get(weighted)
            if column is None:
                column = columns[weighted] = CountColumn(self._capacity)
                self.n_distinct += 1
                for key in _index_keys(weighted[0]):
                    self._index[kind].setdefault(key, {})[weighted] = column
            column.change(row, +1)

    def remove_pod(self, row: int, pod: Pod) -> None:
        for kind, weighted in _terms(pod):
            column = self._by_kind[kind][weighted]
            column.change(row, -1)
            if not column.total:
                del self._by_kind[kind][weighted]
                self.n_distinct -= 1
                self._remove_from_index(kind, weighted)

    def _remove_from_index(self, kind: TermKind, weighted: WeightedTerm) -> None:
        index = self._index[kind]
        for key in _index_keys(weighted[0]):
            del index[key][weighted]
            if not index[key]:
                del index[key]

    def columns(self, kind: TermKind) -> dict[WeightedTerm, CountColumn]:
        return self._by_kind[kind]

    def candidates(self, kind: TermKind, labels: Mapping[str, str]) -> Iterable[tuple[WeightedTerm, CountColumn]]:
        """The terms that may match a pod with *labels*."""
        index = self._index[kind]
        if not index:
            return ()
        keys: tuple[IndexKey, ...] = (None, *labels.items())
        return [entry for key in keys if key in index for entry in index[key].items()]


def _index_keys(term: AffinityTerm) -> Iterable[IndexKey]:
    """One label per value that the term accepts for the key on which it is the most selective."""
    if term.selector.requirements is None:
        return ()  # matches no pod
    needed = [each for each in term.selector.requirements if each.operator == IN]
    if not needed:
        return (None,)
    narrowest = min(needed, key=lambda requirement: len(requirement.values))
    return [(narrowest.key, value) for value in narrowest.values]


def _terms(pod: Pod) -> Iterable[tuple[TermKind, WeightedTerm]]:
    try:
        terms = pod.affinity_terms
    except SelectorError:
        # Invalid terms have no effect; the other kinds of terms of the pod still do, as in kube-scheduler.
        terms, _ = compile_readable_affinity(pod.spec.affinity, pod.namespace)
    for term in terms.required:
        yield TermKind.REQUIRED_AFFINITY, (term, 0)
    for term in terms.anti_required:
        yield TermKind.REQUIRED_ANTI_AFFINITY, (term, 0)
    for weight, term in terms.preferred:
        yield TermKind.PREFERRED_AFFINITY, (term, weight)
    for weight, term in terms.anti_preferred:
        yield TermKind.PREFERRED_ANTI_AFFINITY, (term, weight)


class HostPortColumns(ColumnGroup):
    """Host ports in use: (protocol, port) → address → rows.

    A set, not a count. Two pods of a node can have the same port if `nodeName` was set directly; removing one of
    them frees it. kube-scheduler does the same, and we make the same decisions
    (docs/decisions/0009-ports-as-a-set.md).
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

    def at(self, row: int) -> frozenset[HostPort]:
        """The ports in use on the node at *row*."""
        return frozenset(self._by_row.get(row, ()))

    def restore(self, row: int, ports: frozenset[HostPort]) -> None:
        """Make *ports* the ones in use on the node at *row*."""
        for port in tuple(self._by_row.get(row, ())):
            if port not in ports:
                self._free(row, port)
        for port in ports:
            self._take(row, port)

    def taken(self, wanted: Iterable[HostPort], n_nodes: int) -> BoolArray:
        """Where one of the ports conflicts with one in use; the wildcard address conflicts with every address."""
        mask = np.zeros(n_nodes, dtype=np.bool_)
        for port in wanted:
            for address, rows in self._used.get((port.protocol, port.port), {}).items():
                if rows and (ANY_ADDRESS in (address, port.ip) or address == port.ip):
                    mask[list(rows)] = True
        return mask


class VolumeColumns(ColumnGroup):
    """Volumes of the pods: two counts per node, which tell plugins where to look, and the users of each claim."""

    def __init__(self, capacity: int) -> None:
        #: Volumes that may be attached to the node: claims, generic ephemeral volumes, cloud disks.
        self.attachable = Column(capacity, np.int64)
        #: Disks with restrictions on sharing: GCE, AWS, iSCSI, RBD.
        self.exclusive = Column(capacity, np.int64)
        #: `namespace/name` of a claim → row → number of pods. Without the claims made for ephemeral volumes: each
        #: belongs to one pod.
        self._claim_users: dict[str, Counter[int]] = {}

    def grow(self, capacity: int) -> None:
        self.attachable.grow(capacity)
        self.exclusive.grow(capacity)

    def move_row(self, source: int, target: int) -> None:
        self.attachable.move(source, target)
        self.exclusive.move(source, target)
        for rows in self._claim_users.values():
            if source in rows:
                rows[target] = rows.pop(source)

    def add_pod(self, row: int, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                key = f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}"
                self._claim_users.setdefault(key, Counter())[row] += 1
            if not _is_plain(volume):
                self.attachable.data[row] += _is_attachable(volume)
                self.exclusive.data[row] += _is_exclusive(volume)

    def remove_pod(self, row: int, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                self._remove_claim_user(row, f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}")
            if not _is_plain(volume):
                self.attachable.data[row] -= _is_attachable(volume)
                self.exclusive.data[row] -= _is_exclusive(volume)

    def _remove_claim_user(self, row: int, key: str) -> None:
        rows = self._claim_users[key]
        rows[row] -= 1
        if not rows[row]:
            del rows[row]
            if not rows:
                del self._claim_users[key]

    def claim_users(self, key: str, n_nodes: int) -> IntArray:
        """How many pods of each node use the claim."""
        users = np.zeros(n_nodes, dtype=np.int64)
        for row, count in self._claim_users.get(key, {}).items():
            users[row] = count
        return users


def _is_plain(volume: Volume) -> bool:
    """The kinds that nearly every pod has, and that no storage rule applies to."""
    return (
        volume.projected is not None
        or volume.config_map is not None
        or volume.secret is not None
        or volume.empty_dir is not None
    )


def _is_attachable(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.azure_disk is not None
        or volume.cinder is not None
        or volume.portworx_volume is not None
    )


def _is_exclusive(volume: Volume) -> bool:
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )
