"""A node table with its own copy of the requested amounts: a what-if on many nodes at once.

In: the rows, and pods that are added to or removed from them. Out: a table for Filter plugins that read only node
objects and requested amounts (`Reads.NODE`, `Reads.RESOURCES`). The node store is not changed: nothing to undo.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cache.table import CacheNodeInfo, CacheNodeTable
from bayplan.framework import (
    BoolArray,
    Derived,
    IntArray,
    NodeInfo,
    NodeTable,
    PodQuery,
    TermColumn,
    TermKind,
)

if TYPE_CHECKING:
    from bayplan.cache.node_store import NodeStore
    from bayplan.framework.nodes import MakeEntries, MakeLines
    from bayplan.model import HostPort, Pod

_NONZERO = ("cpu", "memory")


class WhatIfTable(CacheNodeTable):
    """Nodes to which the requests of pods can be added, and from which they can be removed."""

    def __init__(self, whole: CacheNodeTable, rows: IntArray, kinds: Sequence[Pod]) -> None:
        """*rows* of *whole*, the snapshot's table. *kinds*: a pod of each kind that will be moved."""
        super().__init__(whole._store, rows, names=whole._names)
        names = list(dict.fromkeys(name for pod in kinds for name in pod.requests))
        base = [
            *(super(WhatIfTable, self).requested(name) for name in names),
            *(super(WhatIfTable, self).nonzero_requested(name) for name in _NONZERO),
            super().pod_counts(),
        ]
        #: Resource → its line.
        self._requested = {name: line for line, name in enumerate(names)}
        self._nonzero = {name: len(names) + line for line, name in enumerate(_NONZERO)}
        #: int64, shape (n_lines, n_nodes): requested, requested with the non-zero defaults, the number of pods.
        self._amounts: IntArray = np.array(base, dtype=np.int64)
        #: int64, shape (n_lines, n_kinds): what one pod of each kind adds.
        self._each: IntArray = np.array([_amounts(pod, names) for pod in kinds], dtype=np.int64).T.copy()

    def add(self, positions: IntArray, kinds: IntArray) -> None:
        """Add a pod of kind *kinds[i]* to the node at *positions[i]*; a node may occur several times."""
        for line, each in zip(self._amounts, self._each, strict=True):
            np.add.at(line, positions, each[kinds])

    def remove(self, positions: IntArray, kinds: IntArray) -> None:
        """Remove a pod of kind *kinds[i]* from the node at *positions[i]*."""
        for line, each in zip(self._amounts, self._each, strict=True):
            np.subtract.at(line, positions, each[kinds])

    # --- amounts ----------------------------------------------------------------------------------

    def requested(self, resource: str) -> IntArray:
        line = self._requested.get(resource)
        return super().requested(resource) if line is None else _read_only(self._amounts[line])

    def nonzero_requested(self, resource: str) -> IntArray:
        line = self._nonzero.get(resource)
        return super().nonzero_requested(resource) if line is None else _read_only(self._amounts[line])

    def pod_counts(self) -> IntArray:
        return _read_only(self._amounts[-1])

    def _requested_at(self, position: int) -> Mapping[str, int]:
        """Resource → amount requested on one node."""
        changed = {name: int(self._amounts[line, position]) for name, line in self._requested.items()}
        amounts = {**super().__getitem__(position).requested, **changed}
        return {name: amount for name, amount in amounts.items() if amount}

    def __getitem__(self, position: int) -> NodeInfo:
        return _WhatIfNodeInfo(self._store, int(self.rows[position]), self._requested_at(position))

    def __iter__(self) -> Iterator[NodeInfo]:
        return map(self.__getitem__, range(len(self)))

    def select(self, positions: IntArray) -> CacheNodeTable:
        raise _unavailable("select")

    def amounts_at(self, position: int, resources: Sequence[str]) -> list[int]:
        return NodeTable.amounts_at(self, position, resources)

    def derived(self, key: Hashable, make: MakeLines, make_one: MakeEntries | None = None) -> Derived:
        return Derived.of(make(self))

    # --- not available: the what-if has amounts only ----------------------------------------------

    def count_pods(self, query: PodQuery) -> IntArray:
        raise _unavailable("count_pods")

    @property
    def has_affinity_terms(self) -> bool:
        raise _unavailable("has_affinity_terms")

    def affinity_terms(self, kind: TermKind, labels: Mapping[str, str] | None = None) -> Sequence[TermColumn]:
        raise _unavailable("affinity_terms")

    def ports_taken(self, ports: Iterable[HostPort]) -> BoolArray:
        raise _unavailable("ports_taken")

    def claim_users(self, claim_key: str) -> IntArray:
        raise _unavailable("claim_users")

    def attachable_volumes(self) -> IntArray:
        raise _unavailable("attachable_volumes")

    def exclusive_disks(self) -> IntArray:
        raise _unavailable("exclusive_disks")


class _WhatIfNodeInfo(CacheNodeInfo):
    """One node of the table."""

    def __init__(self, store: NodeStore, row: int, requested: Mapping[str, int]) -> None:
        super().__init__(store, row)
        self._requested = requested

    @property
    def pods(self) -> Sequence[Pod]:
        raise _unavailable("pods")

    @property
    def requested(self) -> Mapping[str, int]:
        return self._requested


def _amounts(pod: Pod, names: Sequence[str]) -> list[int]:
    requests, nonzero = pod.requests, pod.nonzero_requests
    return [*(requests.get(name, 0) for name in names), *(nonzero[name] for name in _NONZERO), 1]


def _read_only(line: IntArray) -> IntArray:
    view = line.view()
    view.flags.writeable = False
    return view


def _unavailable(what: str) -> TypeError:
    return TypeError(f"{what} is more than a Filter plugin may ask for that declares reads = NODE or RESOURCES")
