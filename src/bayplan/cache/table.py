"""The snapshot's tables: NodeTable and NodeInfo over the cache's columns."""

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
    from bayplan.cache.counts import CountColumn
    from bayplan.cache.part import Column
    from bayplan.cache.store import Store
    from bayplan.framework.nodes import MakeEntries, MakeLines
    from bayplan.model import AffinityTerm, HostPort, LazyErrorNodeSelector, Node, NodeTerm, Pod, Selector, Taint


#: What is derived from so many nodes is worked out for them alone.
_FEW: Final = 64


class Table(NodeTable):
    """Nodes of a store: all of them, the ones at given rows, or the ones in a mask."""

    def __init__(self, store: Store, rows: IntArray | None = None, mask: BoolArray | None = None) -> None:
        self._store = store
        self._mask = mask
        self._known_rows = rows
        self._all_rows: IntArray | None = None
        self._position_of: dict[int, int] | None = None
        # Records outlive the numbering of rows, so a table keeps the names of its time.
        self._names = store.frozen_names
        # A whole table is made anew whenever a node comes or goes, so its length stands.
        if mask is not None:
            self._n_nodes = int(np.count_nonzero(mask))
        else:
            self._n_nodes = store.n_nodes if rows is None else len(rows)

    @property
    def _rows(self) -> IntArray | None:
        """None for the whole table: columns are then given out as they are, not gathered.

        Which rows are in a mask is worked out when somebody asks: few do, and there is another mask for every pod
        that keeps away from the one before it.
        """
        if self._known_rows is None and self._mask is not None:
            self._known_rows = self._mask.nonzero()[0]
        return self._known_rows

    def _read(self, column: Column) -> NDArray[Any]:
        """The entries of this table's nodes."""
        rows = self._rows
        return column.view(self._n_nodes) if rows is None else column.data[rows]

    def _pick(self, column: NDArray[Any]) -> NDArray[Any]:
        rows = self._rows
        return column if rows is None else column[rows]

    # --- which nodes ------------------------------------------------------------------------------

    @property
    def rows(self) -> IntArray:
        rows = self._rows
        if rows is not None:
            return rows
        if self._all_rows is None:
            self._all_rows = np.arange(self._store.n_nodes, dtype=np.int64)
        return self._all_rows

    @property
    def is_whole(self) -> bool:
        return self._known_rows is None and self._mask is None

    @property
    def where(self) -> BoolArray | None:
        return self._mask

    @property
    def names(self) -> NDArray[np.object_]:
        return self._pick(self._names)

    def __len__(self) -> int:
        return self._n_nodes

    def __getitem__(self, position: int) -> NodeInfo:
        row = position if self._rows is None else int(self._rows[position])
        return StoreNodeInfo(self._store, row)

    def __iter__(self) -> Iterator[NodeInfo]:
        # Not `rows`: those of nodes that an extender gave back are the snapshot's.
        rows = range(self._n_nodes) if self._rows is None else self._rows.tolist()
        return map(StoreNodeInfo, repeat(self._store), rows)

    def select(self, positions: IntArray) -> Table:
        return Table(self._store, positions if self._rows is None else self._rows[positions])

    def select_where(self, mask: BoolArray) -> Table:
        return Table(self._store, mask=mask) if self.is_whole else self.select(mask.nonzero()[0])

    def position(self, name: str) -> int | None:
        row = self._store.row_of.get(name)
        rows = self._rows
        if row is None or rows is None:
            return row
        if self._position_of is None:
            self._position_of = {row: position for position, row in enumerate(rows.tolist())}
        return self._position_of.get(row)

    # --- what the nodes are -----------------------------------------------------------------------

    def label(self, key: str) -> LabelColumn:
        values = self._store.labels.key(key)
        return LabelColumn(self._read(values.column), values.values)

    def domains(self, key: str) -> Domains:
        domains = self._store.labels.domains(key)
        return domains if self._rows is None else domains.select(self._rows)

    def matches(self, selector: LazyErrorNodeSelector | NodeTerm | Selector) -> BoolArray:
        return self._pick(self._store.labels.mask(selector))

    def unschedulable(self) -> BoolArray:
        return self._read(self._store.taints.unschedulable)

    def taint_sets(self) -> tuple[NDArray[np.int32], Sequence[tuple[Taint, ...]]]:
        taints = self._store.taints
        return self._read(taints.codes), taints.sets

    def allocatable(self, resource: str) -> IntArray:
        resources = self._store.resources
        column = resources.allocatable.get(resource, resources.nothing)
        rows = self._rows
        return column.view(self._n_nodes) if rows is None else column.data[rows]

    def image_size(self, image: str) -> IntArray:
        return self._pick(self._store.images.sizes(image))

    def image_spread(self, image: str) -> int:
        return self._store.images.spread(image)

    # --- what runs on them ------------------------------------------------------------------------

    def requested(self, resource: str) -> IntArray:
        resources = self._store.resources
        column = resources.requested.get(resource, resources.nothing)
        rows = self._rows
        return column.view(self._n_nodes) if rows is None else column.data[rows]

    def nonzero_requested(self, resource: str) -> IntArray:
        resources = self._store.resources
        column = resources.nonzero.get(resource, resources.nothing)
        rows = self._rows
        return column.view(self._n_nodes) if rows is None else column.data[rows]

    def pod_counts(self) -> IntArray:
        return self._read(self._store.resources.pod_counts)

    def amounts_at(self, position: int, resources: Sequence[str]) -> list[int]:
        rows, part = self._rows, self._store.resources
        row = position if rows is None else int(rows[position])
        nothing = part.nothing
        amounts: list[int] = [part.allocatable.get(PODS, nothing).data.item(row), part.pod_counts.data.item(row)]
        for name in resources:
            requested: int = part.requested.get(name, nothing).data.item(row)
            nonzero = part.nonzero.get(name)
            amounts.append(requested if nonzero is None else nonzero.data.item(row))
            amounts.append(requested)
            amounts.append(part.allocatable.get(name, nothing).data.item(row))
        return amounts

    def count_pods(self, query: PodQuery) -> IntArray:
        return self._read(self._store.pod_counts.column(query))

    def count_pods_in_domains(self, key: str, query: PodQuery) -> IntArray:
        if self._rows is not None:
            return super().count_pods_in_domains(key, query)
        return self._store.pod_counts.column(query).in_domains(self._store.labels.domains(key))

    def count_classes(self, key: str, query: PodQuery) -> CountClasses:
        if self._rows is not None:
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
        in_domains = column.in_domains(domains) if self._rows is None else domains.totals(carriers)
        return TermColumn(term, weight, carriers, in_domains)

    def ports_taken(self, ports: Iterable[HostPort]) -> BoolArray:
        return self._pick(self._store.ports.taken(ports, self._store.n_nodes))

    def claim_users(self, claim_key: str) -> IntArray:
        return self._pick(self._store.claims.users(claim_key, self._store.n_nodes))

    def attachable_volumes(self) -> IntArray:
        return self._read(self._store.volumes.attachable)

    def exclusive_disks(self) -> IntArray:
        return self._read(self._store.volumes.exclusive)

    # --- what plugins work out --------------------------------------------------------------------

    def derived(self, key: Hashable, make: MakeLines, make_one: MakeEntries | None = None) -> Derived:
        store = self._store
        if self._rows is None:
            return store.derived.read(key, make, make_one, self, store.membership)
        if self._n_nodes <= _FEW:
            return Derived.of(make(self))
        whole = store.derived.read(key, make, make_one, Table(store), store.membership)
        return Derived(whole.columns[:, self._rows], whole.least)


class StoreNodeInfo(NodeInfo):
    """One row of a store."""

    __slots__ = ("_row", "_store")

    def __init__(self, store: Store, row: int) -> None:
        self._store = store
        self._row = row

    @property
    def node(self) -> Node:
        return self._store.nodes[self._row]

    @property
    def pods(self) -> Sequence[Pod]:
        return tuple(self._store.pods[self._row].values())

    # Plugins of the per-node form ask these for every node, so they take no detour over `node`.

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
