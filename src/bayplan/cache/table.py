"""Node tables of the snapshot: `framework.NodeTable` and `framework.NodeInfo` over the columns of a node store.

In: the store and a selection of its rows. Out: read-only columns of these rows, for the plugins.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.framework import (
    BoolArray,
    CountClasses,
    Derived,
    Domains,
    IntArray,
    LabelColumn,
    NodeInfo,
    NodeTable,
    PodQuery,
    TermColumn,
    TermKind,
)
from bayplan.model import PODS

if TYPE_CHECKING:
    from bayplan.cache.columns import Column, CountColumn
    from bayplan.cache.node_store import NodeStore
    from bayplan.framework.nodes import MakeEntries, MakeLines
    from bayplan.model import AffinityTerm, HostPort, LazyErrorNodeSelector, Node, NodeTerm, Pod, Selector, Taint


#: For at most so many nodes, derived columns are computed directly instead of selected from those of all nodes.
_FEW_NODES: Final = 64


class CacheNodeTable(NodeTable):
    """Nodes of a store: all of them, the ones at given rows, or the ones in a mask."""

    def __init__(
        self,
        store: NodeStore,
        rows: IntArray | None = None,
        mask: BoolArray | None = None,
        names: NDArray[np.object_] | None = None,
    ) -> None:
        """*names* are those of all rows, copied from the store if not given."""
        self._store = store
        self._mask = mask
        #: The rows of the table; None until they are needed.
        self._known_rows = rows
        #: Whether these are all rows of the store, in order. Columns are then returned as views, without a copy.
        self._is_full = rows is None and mask is None
        self._position_of: dict[int, int] | None = None
        # A copy: records of decisions outlive the numbering of rows.
        if names is None:
            names = store.names.data[: len(store.nodes)].copy()
            names.flags.writeable = False
        self._names = names
        # A full table is replaced whenever a node is added or removed, so its length is constant.
        if mask is not None:
            self._n_nodes = int(np.count_nonzero(mask))
        else:
            self._n_nodes = len(store.nodes) if rows is None else len(rows)

    @property
    def _rows(self) -> IntArray:
        """The rows of the table, computed on demand: most tables with a mask are used without them."""
        rows = self._known_rows
        if rows is None:
            mask = self._mask
            rows = np.arange(self._n_nodes, dtype=np.int64) if mask is None else mask.nonzero()[0]
            rows.flags.writeable = False
            self._known_rows = rows
        return rows

    def _read(self, column: Column) -> NDArray[Any]:
        """The entries of this table's nodes."""
        return column.view(self._n_nodes) if self._is_full else column.data[self._rows]

    def _select(self, entries: NDArray[Any]) -> NDArray[Any]:
        """The same, from an array over all rows."""
        return entries if self._is_full else entries[self._rows]

    # --- which nodes ------------------------------------------------------------------------------

    @property
    def rows(self) -> IntArray:
        rows = self._rows
        if rows.flags.writeable:  # given by whoever selected them
            rows = rows.view()
            rows.flags.writeable = False
        return rows

    @property
    def is_whole(self) -> bool:
        return self._is_full

    @property
    def where(self) -> BoolArray | None:
        return self._mask

    @property
    def names(self) -> NDArray[np.object_]:
        return self._select(self._names)

    def __len__(self) -> int:
        return self._n_nodes

    def __getitem__(self, position: int) -> NodeInfo:
        return CacheNodeInfo(self._store, position if self._is_full else int(self._rows[position]))

    def __iter__(self) -> Iterator[NodeInfo]:
        # Not `rows`: in a table of nodes returned by an extender, those are rows of the snapshot.
        rows = range(self._n_nodes) if self._is_full else self._rows.tolist()
        return map(CacheNodeInfo, repeat(self._store), rows)

    def select(self, positions: IntArray) -> CacheNodeTable:
        rows = positions if self._is_full else self._rows[positions]
        return CacheNodeTable(self._store, rows, names=self._names)

    def select_where(self, mask: BoolArray) -> CacheNodeTable:
        if self.is_whole:
            return CacheNodeTable(self._store, mask=mask, names=self._names)
        return self.select(mask.nonzero()[0])

    def position(self, name: str) -> int | None:
        row = self._store.row_of.get(name)
        if row is None or self._is_full:
            return row
        if self._position_of is None:
            self._position_of = {row: position for position, row in enumerate(self._rows.tolist())}
        return self._position_of.get(row)

    # --- what the nodes are -----------------------------------------------------------------------

    def label(self, key: str) -> LabelColumn:
        values = self._store.labels.key(key)
        return LabelColumn(self._read(values.column), values.values)

    def domains(self, key: str) -> Domains:
        domains = self._store.labels.domains(key)
        return domains if self._is_full else domains.select(self._rows)

    def matches(self, selector: LazyErrorNodeSelector | NodeTerm | Selector) -> BoolArray:
        return self._select(self._store.labels.mask(selector))

    def unschedulable(self) -> BoolArray:
        return self._read(self._store.taints.unschedulable)

    def taint_sets(self) -> tuple[NDArray[np.int32], Sequence[tuple[Taint, ...]]]:
        taints = self._store.taints
        return self._read(taints.codes), taints.sets

    def allocatable(self, resource: str) -> IntArray:
        resources = self._store.resources
        return self._read(resources.allocatable.get(resource, resources.nothing))

    def image_size(self, image: str) -> IntArray:
        return self._select(self._store.images.sizes(image))

    def image_spread(self, image: str) -> int:
        entry = self._store.images.by_name.get(image)
        return 0 if entry is None else len(entry.rows)

    # --- what runs on them ------------------------------------------------------------------------

    def requested(self, resource: str) -> IntArray:
        resources = self._store.resources
        return self._read(resources.requested.get(resource, resources.nothing))

    def nonzero_requested(self, resource: str) -> IntArray:
        resources = self._store.resources
        return self._read(resources.nonzero.get(resource, resources.nothing))

    def pod_counts(self) -> IntArray:
        return self._read(self._store.resources.pod_counts)

    def amounts_at(self, position: int, resources: Sequence[str]) -> list[int]:
        columns = self._store.resources
        row = position if self._is_full else int(self._rows[position])
        nothing = columns.nothing
        amounts: list[int] = [
            columns.allocatable.get(PODS, nothing).data.item(row),
            columns.pod_counts.data.item(row),
        ]
        for name in resources:
            requested: int = columns.requested.get(name, nothing).data.item(row)
            nonzero = columns.nonzero.get(name)
            amounts.append(requested if nonzero is None else nonzero.data.item(row))
            amounts.append(requested)
            amounts.append(columns.allocatable.get(name, nothing).data.item(row))
        return amounts

    def count_pods(self, query: PodQuery) -> IntArray:
        return self._read(self._store.pod_counts.column(query))

    def count_pods_in_domains(self, key: str, query: PodQuery) -> IntArray:
        if not self._is_full:
            return super().count_pods_in_domains(key, query)
        return self._store.pod_counts.column(query).in_domains(self._store.labels.domains(key))

    def count_classes(self, key: str, query: PodQuery) -> CountClasses:
        if not self._is_full:
            return super().count_classes(key, query)
        return self._store.pod_counts.column(query).classes(self._store.labels.domains(key))

    @property
    def has_affinity_terms(self) -> bool:
        return self._store.terms.n_distinct > 0

    def affinity_terms(self, kind: TermKind, labels: Mapping[str, str] | None = None) -> Sequence[TermColumn]:
        terms = self._store.terms
        found = terms.columns(kind).items() if labels is None else terms.candidates(kind, labels)
        if not found:
            return ()
        return [self._term_column(term, weight, column) for (term, weight), column in found]

    def _term_column(self, term: AffinityTerm, weight: int, column: CountColumn) -> TermColumn:
        carriers, domains = self._read(column), self.domains(term.topology_key)
        in_domains = column.in_domains(domains) if self._is_full else domains.totals(carriers)
        return TermColumn(term, weight, carriers, in_domains)

    def ports_taken(self, ports: Iterable[HostPort]) -> BoolArray:
        return self._select(self._store.ports.taken(ports, len(self._store.nodes)))

    def claim_users(self, claim_key: str) -> IntArray:
        return self._select(self._store.volumes.claim_users(claim_key, len(self._store.nodes)))

    def attachable_volumes(self) -> IntArray:
        return self._read(self._store.volumes.attachable)

    def exclusive_disks(self) -> IntArray:
        return self._read(self._store.volumes.exclusive)

    # --- what plugins derive ----------------------------------------------------------------------

    def derived(self, key: Hashable, make: MakeLines, make_one: MakeEntries | None = None) -> Derived:
        store = self._store
        if self._is_full:
            return store.derived.read(key, make, make_one, self, store.node_set_version)
        if self._n_nodes <= _FEW_NODES:
            return Derived.of(make(self))
        full = CacheNodeTable(store, names=self._names)
        whole = store.derived.read(key, make, make_one, full, store.node_set_version)
        return Derived(whole.columns[:, self._rows], whole.least)


class CacheNodeInfo(NodeInfo):
    """One row of a node store."""

    __slots__ = ("_row", "_store")

    def __init__(self, store: NodeStore, row: int) -> None:
        self._store = store
        self._row = row

    @property
    def node(self) -> Node:
        return self._store.nodes[self._row]

    @property
    def pods(self) -> Sequence[Pod]:
        return tuple(self._store.pods[self._row].values())

    # Per-node plugins read these for every node: no detour through `node`.

    @property
    def name(self) -> str:
        return self._store.nodes[self._row].metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self._store.nodes[self._row].metadata.labels

    @property
    def allocatable(self) -> Mapping[str, int]:
        return self._store.nodes[self._row].allocatable

    @property
    def requested(self) -> Mapping[str, int]:
        lines = self._store.resources.requested
        return {name: int(column.data[self._row]) for name, column in lines.items() if column.data[self._row]}
