"""NodeTable and NodeInfo: the nodes as a plugin sees them, all at once or one at a time.

A table is a selection of the snapshot's nodes. Every accessor returns an array aligned with it: entry *i*
belongs to node *i* of this table. Arrays are read-only; they belong to the scheduler and are shared between
plugins. The scheduler's cache implements both types; a plugin imports them from here.

Units: cpu in milli-cores, everything else in its base unit (bytes, pieces), as in kube-scheduler.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.status import Code
from bayplan.framework.verdict import BoolArray, FloatArray, IntArray, Verdict
from bayplan.model import (
    CPU,
    MEMORY,
    PODS,
    AffinityTerm,
    HostPort,
    LazyErrorNodeSelector,
    Node,
    NodeTerm,
    Pod,
    Selector,
    Taint,
    parse_int64,
)

#: Lines about the nodes of a table: float64, shape (n_lines, n_nodes).
MakeLines: TypeAlias = "Callable[[NodeTable], FloatArray]"
#: The entries of these lines about the node at one position, in plain numbers.
MakeEntries: TypeAlias = "Callable[[NodeTable, int], Sequence[float]]"


class LabelColumn:
    """One label key over all nodes of a table. Compare it with a string to get a mask."""

    __slots__ = ("codes", "values")

    def __init__(self, codes: NDArray[np.int32], values: Sequence[str]) -> None:
        #: int32, shape (n_nodes,): the number of the node's value, −1 where the label is absent.
        self.codes = codes
        #: Value number → value. May hold values that no node of this table has.
        self.values = values

    def __eq__(self, value: object) -> BoolArray:  # type: ignore[override]
        equal: BoolArray = self.codes == self._code(value)
        return equal

    def __ne__(self, value: object) -> BoolArray:  # type: ignore[override]
        """True where the label has another value, or is absent."""
        unequal: BoolArray = self.codes != self._code(value)
        return unequal

    __hash__ = None  # type: ignore[assignment]

    @property
    def present(self) -> BoolArray:
        return self.codes >= 0

    def isin(self, values: Iterable[str]) -> BoolArray:
        return np.isin(self.codes, [self._code(value) for value in values])

    def to_list(self) -> list[str | None]:
        """The values as strings, None where the label is absent."""
        return [self.values[code] if code >= 0 else None for code in self.codes.tolist()]

    def numbers(self, default: int) -> IntArray:
        """The values as integers; *default* where the label is absent or not a number."""
        parsed = np.array([_to_int(value, default) for value in self.values] + [default], dtype=np.int64)
        return parsed[self.codes]  # −1 picks the last entry, the default

    def _code(self, value: object) -> int:
        try:
            return self.values.index(value)
        except ValueError:
            return -2  # equal to no node's number


def _to_int(text: str, default: int) -> int:
    number = parse_int64(text)
    return default if number is None else number


class Domains:
    """The topology domains of one label key: nodes with the same value are in the same domain.

    Domains are numbered 0 … n_domains−1, and each has a node in the snapshot.
    """

    __slots__ = ("is_node", "missing", "n_domains", "of_node")

    def __init__(
        self, of_node: NDArray[np.intp], n_domains: int, missing: BoolArray | None = None, *, is_node: bool = False
    ) -> None:
        #: intp, shape (n_nodes,): the number of the node's domain; n_domains where the label is absent.
        self.of_node = of_node
        self.n_domains = n_domains
        #: bool, shape (n_nodes,): the nodes without the label; None if every node has it.
        self.missing = missing
        #: Whether each node is a domain of its own, numbered as the nodes are.
        self.is_node = is_node

    @property
    def n_entries(self) -> int:
        """How many entries an array like that of `totals` has."""
        return self.n_domains + (self.missing is not None)

    def totals(self, column: IntArray) -> IntArray:
        """The sum over the nodes of each domain; nodes without the label share an entry at the end."""
        if self.is_node:
            return column
        # Sums in float64 are exact up to 2^53.
        return np.bincount(self.of_node, weights=column, minlength=self.n_entries).astype(np.int64)

    def at_nodes(self, per_domain: NDArray[Any]) -> NDArray[Any]:
        """The entry of each node's domain, from an array like that of `totals`."""
        return per_domain if self.is_node else per_domain.take(self.of_node)

    def select(self, positions: IntArray) -> Domains:
        """The same domains, for the nodes at *positions* only."""
        missing = None if self.missing is None else self.missing[positions]
        return Domains(self.of_node[positions], self.n_domains, missing)


class CountClasses(NamedTuple):
    """Nodes by a count and by their topology domain; nodes without the label are a domain at the end."""

    #: int64, shape (n_nodes,): the node's count times the number of domains, plus the number of its own.
    classes: IntArray
    #: int64: how many nodes are in each class, up to the last one that has any or further.
    sizes: IntArray

    @classmethod
    def of(cls, counts: IntArray, domains: Domains) -> CountClasses:
        classes: IntArray = counts * domains.n_entries
        classes += domains.of_node
        return cls(classes, np.bincount(classes))


class PodQuery(NamedTuple):
    """Which of the pods on a node to count: those in *namespaces* that match every selector."""

    #: None for any namespace.
    namespaces: frozenset[str] | None
    selectors: tuple[Selector, ...]
    #: Whether pods that are being deleted count too.
    terminating: bool = True


class TermKind(Enum):
    """The pod (anti)affinity terms that a pod on a node can carry."""

    REQUIRED_AFFINITY = "required affinity"
    REQUIRED_ANTI_AFFINITY = "required anti-affinity"
    PREFERRED_AFFINITY = "preferred affinity"
    PREFERRED_ANTI_AFFINITY = "preferred anti-affinity"

    __hash__ = object.__hash__  # looked up for every pod: Enum's own hash is a call in Python


class TermColumn(NamedTuple):
    """A distinct (anti)affinity term of pods that are on nodes, and how many pods of each node carry it."""

    term: AffinityTerm
    #: The term's weight; 0 for a required one.
    weight: int
    #: int64, shape (n_nodes,)
    carriers: IntArray
    #: The same for each domain of the term's key: `domains(term.topology_key).totals(carriers)`.
    in_domains: IntArray


class Derived(NamedTuple):
    """Computed columns; read-only, and valid only during the call."""

    #: float64, shape (n_lines, n_nodes)
    columns: FloatArray
    #: float64, shape (n_lines,): a lower bound of the line's entries; NaN if an entry is NaN, or was recently.
    least: FloatArray

    @classmethod
    def of(cls, columns: FloatArray) -> Derived:
        return cls(columns, columns.min(axis=-1, initial=np.inf))


class NodeTable(ABC):
    """Nodes as columns. `len(nodes)` is n_nodes; entry *i* of every column belongs to node *i*."""

    # --- which nodes ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def rows(self) -> IntArray:
        """int64, shape (n_nodes,): the positions of the nodes in the snapshot's whole table."""

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether this is every node of the snapshot, in the snapshot's order."""

    @property
    def where(self) -> BoolArray | None:
        """bool, one entry per node of the snapshot: whether it is in this table, which then has the snapshot's
        order. None if all nodes are in it, or if there is no such mask; `rows` always works, but is slower."""
        return None

    @property
    def has_pods(self) -> bool:
        """False if an extender returned whole nodes: such nodes are scored as if they were empty."""
        return True

    @property
    @abstractmethod
    def names(self) -> NDArray[np.object_]:
        """The nodes' names; `nodes.names != "a"` is a mask."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, position: int) -> NodeInfo:
        """One node, for code that looks at nodes one at a time."""

    def __iter__(self) -> Iterator[NodeInfo]:
        return (self[position] for position in range(len(self)))

    @abstractmethod
    def select(self, positions: IntArray) -> NodeTable:
        """The table of the nodes at *positions*, in that order."""

    def select_where(self, mask: BoolArray) -> NodeTable:
        """The same for the nodes in *mask*, which must not be changed later."""
        return self.select(mask.nonzero()[0])

    @abstractmethod
    def position(self, name: str) -> int | None:
        """The position of the node *name* in this table, None if it is not in it."""

    # --- what the nodes are -----------------------------------------------------------------------

    @abstractmethod
    def label(self, key: str) -> LabelColumn: ...

    @abstractmethod
    def domains(self, key: str) -> Domains:
        """The nodes by their value of the label *key*, for sums over topology domains."""

    @abstractmethod
    def matches(self, selector: LazyErrorNodeSelector | NodeTerm | Selector) -> BoolArray:
        """Which nodes a selector accepts: a label selector, a term of node affinity, or several terms."""

    @abstractmethod
    def unschedulable(self) -> BoolArray:
        """Which nodes are cordoned (`spec.unschedulable`)."""

    @abstractmethod
    def taint_sets(self) -> tuple[NDArray[np.int32], Sequence[tuple[Taint, ...]]]:
        """The index of each node's set of taints, and the sets: apply a rule to each set, then gather.

        ``codes, sets = nodes.taint_sets(); np.array([rule(s) for s in sets])[codes]``
        """

    @abstractmethod
    def allocatable(self, resource: str) -> IntArray:
        """What the node offers of *resource*; 0 where it offers none."""

    @abstractmethod
    def image_size(self, image: str) -> IntArray:
        """Bytes of *image* (normalized name) where it is present, else 0."""

    @abstractmethod
    def image_spread(self, image: str) -> int:
        """On how many nodes of the whole cluster *image* is present."""

    # --- what runs on them ------------------------------------------------------------------------

    @abstractmethod
    def requested(self, resource: str) -> IntArray:
        """What the pods on the node request of *resource*."""

    @abstractmethod
    def nonzero_requested(self, resource: str) -> IntArray:
        """The same for `cpu` and `memory`, pods without a request counted with 100m and 200Mi."""

    @abstractmethod
    def pod_counts(self) -> IntArray:
        """How many pods are on the node."""

    def amounts_at(self, position: int, resources: Sequence[str]) -> list[int]:
        """The amounts of one node as plain numbers: how many pods it may have, and has; then of each resource
        `nonzero_requested` (`requested` if that is not for cpu or memory), `requested` and `allocatable`."""
        columns = [self.allocatable(PODS), self.pod_counts()]
        for name in resources:
            of_pods = self.nonzero_requested if name in (CPU, MEMORY) else self.requested
            columns += [of_pods(name), self.requested(name), self.allocatable(name)]
        return [int(column[position]) for column in columns]

    @abstractmethod
    def count_pods(self, query: PodQuery) -> IntArray:
        """How many pods on each node match *query*. The counts are maintained, so repeated queries are cheap."""

    def count_pods_in_domains(self, key: str, query: PodQuery) -> IntArray:
        """How many pods in each topology domain match *query*: `domains(key).totals(count_pods(query))`,
        maintained as well."""
        return self.domains(key).totals(self.count_pods(query))

    def count_classes(self, key: str, query: PodQuery) -> CountClasses:
        """The nodes by how many pods on them match *query*, and by their domain; maintained as well."""
        return CountClasses.of(self.count_pods(query), self.domains(key))

    @property
    @abstractmethod
    def has_affinity_terms(self) -> bool:
        """Whether any pod on any node of the cluster carries an (anti)affinity term of any kind."""

    @abstractmethod
    def affinity_terms(self, kind: TermKind, labels: Mapping[str, str] | None = None) -> Sequence[TermColumn]:
        """The distinct terms that pods on any node of the cluster carry.

        With *labels*, terms that cannot match a pod with these labels are left out where that is cheap to tell;
        the returned terms still have to be evaluated.
        """

    @abstractmethod
    def ports_taken(self, ports: Iterable[HostPort]) -> BoolArray:
        """The nodes where one of *ports* conflicts with a host port in use."""

    @abstractmethod
    def claim_users(self, claim_key: str) -> IntArray:
        """How many pods on each node use the PersistentVolumeClaim `namespace/name`."""

    @abstractmethod
    def attachable_volumes(self) -> IntArray:
        """How many volumes of the pods on the node may be attached to it, each counted as often as it is used:
        claims, generic ephemeral volumes, in-tree disks that were migrated to CSI drivers."""

    @abstractmethod
    def exclusive_disks(self) -> IntArray:
        """How many volumes of the pods on the node are disks that cannot be shared freely: GCE persistent
        disks, AWS EBS, iSCSI and RBD."""

    # --- derived columns --------------------------------------------------------------------------

    def derived(self, key: Hashable, make: MakeLines, make_one: MakeEntries | None = None) -> Derived:
        """The result of *make* for these nodes: float64, shape (n_lines, n_nodes). It is cached and updated.

        It must depend on nothing but *key*, and for each node on the node and the amounts requested on it (compare
        `Reads.RESOURCES`): when nodes change, *make* is called for them with a smaller table, or *make_one* for a
        single node, the most frequent case.
        """
        return Derived.of(make(self))

    # --- verdicts ---------------------------------------------------------------------------------

    def accept_all(self) -> Verdict:
        return Verdict(len(self))

    def reject(self, where: BoolArray, reason: str, code: Code = Code.UNSCHEDULABLE) -> Verdict:
        """A verdict that rejects the nodes in *where* for *reason*; chain `.reject(…)` for further reasons."""
        return Verdict(len(self)).reject(where, reason, code)

    def reject_all(self, reason: str, code: Code = Code.UNSCHEDULABLE) -> Verdict:
        return self.reject(np.ones(len(self), dtype=np.bool_), reason, code)


class NodeInfo(ABC):
    """One node with the pods on it, as the snapshot (or a what-if of preemption) has it."""

    @property
    @abstractmethod
    def node(self) -> Node:
        """The Node object; `node.node.raw` is the whole object as the API server sent it."""

    @property
    @abstractmethod
    def pods(self) -> Sequence[Pod]:
        """The pods on the node, assumed ones included."""

    @property
    @abstractmethod
    def allocatable(self) -> Mapping[str, int]: ...

    @property
    @abstractmethod
    def requested(self) -> Mapping[str, int]: ...

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.node.metadata.annotations

    @property
    def raw(self) -> Mapping[str, Any]:
        return self.node.raw

    def __repr__(self) -> str:
        return f"<NodeInfo {self.name}>"
