"""A table of nodes whose requested amounts are its own: a what-if on many nodes at once.

Filters run on it as on any table, as long as they look at nothing but the node objects and the amounts requested
(`Reads.RESOURCES`). The store is not touched, so there is nothing to undo.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cache.table import StoreNodeInfo, Table
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
    from bayplan.cache.store import Store
    from bayplan.framework.nodes import MakeEntries, MakeLines
    from bayplan.model import HostPort, Pod

_NONZERO = ("cpu", "memory")


class AmountsTable(Table):
    """Nodes from which pods can be taken, and to which they can be given back, by what they request."""

    def __init__(self, store: Store, rows: IntArray, kinds: Sequence[Pod]) -> None:
        """*kinds*: a pod of each kind that will be moved."""
        super().__init__(store, rows)
        names = list(dict.fromkeys(name for pod in kinds for name in pod.requests))
        base = [
            *(super(AmountsTable, self).requested(name) for name in names),
            *(super(AmountsTable, self).nonzero_requested(name) for name in _NONZERO),
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
        """A pod of kind *kinds[i]* more on the node at *positions[i]*; a node may be named several times."""
        for line, each in zip(self._amounts, self._each, strict=True):
            np.add.at(line, positions, each[kinds])

    def remove(self, positions: IntArray, kinds: IntArray) -> None:
        """The same pods fewer."""
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

    def requested_at(self, position: int) -> Mapping[str, int]:
        """Resource → amount, on one node."""
        changed = {name: int(self._amounts[line, position]) for name, line in self._requested.items()}
        amounts = {**super().__getitem__(position).requested, **changed}
        return {name: amount for name, amount in amounts.items() if amount}

    def __getitem__(self, position: int) -> NodeInfo:
        return _AmountsNodeInfo(self._store, int(self.rows[position]), self.requested_at(position))

    def __iter__(self) -> Iterator[NodeInfo]:
        return map(self.__getitem__, range(len(self)))

    def select(self, positions: IntArray) -> Table:
        raise _beyond("select")

    def amounts_at(self, position: int, resources: Sequence[str]) -> list[int]:
        return NodeTable.amounts_at(self, position, resources)

    def derived(self, key: Hashable, make: MakeLines, make_one: MakeEntries | None = None) -> Derived:
        return Derived.of(make(self))

    # --- what is not known of this what-if --------------------------------------------------------

    def count_pods(self, query: PodQuery) -> IntArray:
        raise _beyond("count_pods")

    @property
    def has_affinity_terms(self) -> bool:
        raise _beyond("has_affinity_terms")

    def affinity_terms(self, kind: TermKind, labels: Mapping[str, str] | None = None) -> Sequence[TermColumn]:
        raise _beyond("affinity_terms")

    def ports_taken(self, ports: Iterable[HostPort]) -> BoolArray:
        raise _beyond("ports_taken")

    def claim_users(self, claim_key: str) -> IntArray:
        raise _beyond("claim_users")

    def attachable_volumes(self) -> IntArray:
        raise _beyond("attachable_volumes")

    def exclusive_disks(self) -> IntArray:
        raise _beyond("exclusive_disks")


class _AmountsNodeInfo(StoreNodeInfo):
    """One node of such a table."""

    def __init__(self, store: Store, row: int, requested: Mapping[str, int]) -> None:
        super().__init__(store, row)
        self._requested = requested

    @property
    def pods(self) -> Sequence[Pod]:
        raise _beyond("pods")

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


def _beyond(what: str) -> TypeError:
    return TypeError(f"{what} is more than a Filter plugin may ask for that declares reads = NODE or RESOURCES")
