"""What Filter says about nodes: of one plugin, of all plugins of a profile, and of a whole attempt.

`Verdict` is the result of one Filter plugin for a table of nodes, `MergedVerdicts` what the plugins of a profile
reject together, `FilterOutcome` that result for one pod, and `Diagnosis` why an attempt found no node: for the
pod's message, for PostFilter and for the queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.status import Code, Status

if TYPE_CHECKING:
    from bayplan.framework.nodes import NodeTable

BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
#: int64, or int32 where the numbers are known to be small, which halves the memory to read.
ScoreArray: TypeAlias = NDArray[np.signedinteger[Any]]

_UINT32: Final = np.dtype(np.uint32)
_UINT64: Final = np.dtype(np.uint64)

#: Which code a node has if it is rejected with several: the highest.
_SEVERITY: Final = {
    Code.PENDING: 0,
    Code.UNSCHEDULABLE: 1,
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: 2,
    Code.ERROR: 3,
}


def has_any(mask: BoolArray) -> bool:
    """`mask.any()`, in a third of the time."""
    return bool(mask.size and mask[mask.argmax()])


def extremes(column: IntArray) -> tuple[int, int]:
    """The lowest and the highest entry of a column that is not empty: `min()` and `max()`, in half the time."""
    return int(column[column.argmin()]), int(column[column.argmax()])


def are_within(column: ScoreArray, highest: int) -> bool:
    """Whether every entry is from 0 to *highest*."""
    # Negative numbers are vast without their sign.
    unsigned: NDArray[Any] = column.view(_UINT32 if column.itemsize == 4 else _UINT64)
    return not len(column) or bool(unsigned.item(unsigned.argmax()) <= highest)


class Rejection(NamedTuple):
    """The nodes that fail for one reason."""

    #: bool, shape (n_nodes,)
    where: BoolArray
    reason: str
    code: Code


class Verdict:
    """The result of one Filter plugin for every node of a table; immutable.

    The column form states its rejections as masks, each with one reason; the per-node form has a Status for each
    rejected node.
    """

    __slots__ = ("accepts_all", "n_nodes", "rejections", "statuses")

    def __init__(
        self,
        n_nodes: int,
        rejections: tuple[Rejection, ...] = (),
        statuses: Mapping[int, Status] | None = None,
    ) -> None:
        self.n_nodes = n_nodes
        #: In the order in which the reasons are listed for a node.
        self.rejections = rejections
        #: Position of the node in the table → its status, from a plugin that looks at one node at a time.
        self.statuses: Mapping[int, Status] = statuses or {}
        #: Whether the verdict has no rejection. One that has may still reject no node.
        self.accepts_all = not rejections and not statuses

    def reject(self, where: BoolArray, reason: str, code: Code = Code.UNSCHEDULABLE) -> Verdict:
        """This verdict, and *reason* too for the nodes in *where*; a node may fail for several reasons."""
        if where.shape != (self.n_nodes,) or where.dtype != np.bool_:
            raise ValueError(
                f"a mask must be bool with one entry per node ({self.n_nodes}), "
                f"got {where.dtype} of shape {where.shape}"
            )
        if not (code.is_rejection or code is Code.ERROR):
            raise ValueError(f"a node cannot be rejected with {code.label}")
        if where.base is not None:
            where = where.copy()  # it may be a view of a column that the scheduler changes later
        return Verdict(self.n_nodes, (*self.rejections, Rejection(where, reason, code)), self.statuses)

    @property
    def rejected(self) -> BoolArray:
        """bool, shape (n_nodes,)."""
        if len(self.rejections) == 1 and not self.statuses:
            return self.rejections[0].where
        mask = np.zeros(self.n_nodes, dtype=np.bool_)
        for rejection in self.rejections:
            mask |= rejection.where
        if self.statuses:
            mask[list(self.statuses)] = True
        return mask

    def failure(self, where: BoolArray) -> Status | None:
        """An ERROR on a node in *where*; it ends the attempt, whatever the other nodes say."""
        for rejection in self.rejections:
            if rejection.code is Code.ERROR and (rejection.where & where).any():
                return Status(Code.ERROR, (rejection.reason,))
        for position, status in self.statuses.items():
            if status.code is Code.ERROR and where[position]:
                return status
        return None

    def status(self, position: int) -> Status | None:
        """Why the node at *position* is rejected; None if it is not."""
        if position in self.statuses:
            return self.statuses[position]
        found = [rejection for rejection in self.rejections if rejection.where[position]]
        if not found:
            return None
        # One unresolvable reason is enough: removing pods cannot make the node fit.
        code = max((rejection.code for rejection in found), key=_SEVERITY.__getitem__)
        return Status(code, [rejection.reason for rejection in found])


class Decided(NamedTuple):
    """A plugin's verdict, and the nodes that this plugin was the first to reject."""

    plugin: str
    verdict: Verdict
    #: bool, shape (n_nodes,)
    where: BoolArray

    def status(self, position: int) -> Status:
        status = self.verdict.status(position)
        if status is None:
            raise LookupError(f"{self.plugin} did not reject node {position}")
        return status.by(self.plugin)

    def count_reasons(self, reasons: Counter[str]) -> None:
        for rejection in self.verdict.rejections:
            if count := int(np.count_nonzero(rejection.where & self.where)):
                reasons[rejection.reason] += count
        for position, status in self.verdict.statuses.items():
            if self.where[position]:
                reasons.update(status.reasons)


class MergedVerdicts:
    """The verdicts of a profile's Filter plugins about one table: the first plugin to reject a node decides.

    Immutable apart from what it computes on first use, so attempts share it. `add` remembers its last result: pods
    of one equivalence class mostly get the same verdict objects, and then nothing is merged again.
    """

    __slots__ = ("_feasible", "_next", "_rejecting", "decided", "leaves_none", "n_bytes", "nodes", "passed")

    def __init__(
        self, nodes: NodeTable, decided: list[Decided] | None = None, feasible: BoolArray | None = None
    ) -> None:
        self.nodes = nodes
        #: In the order of the plugins; the masks do not overlap.
        self.decided: list[Decided] = decided or []
        #: None if no node is rejected.
        self._feasible = feasible
        #: Whether every node is rejected, so that no further plugin need be called.
        self.leaves_none = feasible is not None and not has_any(feasible)
        #: The approximate size of the masks; the verdicts have masks of the same size.
        self.n_bytes = 2 * (1 + len(self.decided)) * len(nodes) if self.decided else 0
        #: The table of the nodes that passed; set by the caller that makes it.
        self.passed: NodeTable | None = None
        self._rejecting: tuple[tuple[str, Code], ...] | None = None
        #: The plugin and the verdict that were added last, and the result.
        self._next: tuple[str, Verdict, MergedVerdicts] | None = None

    @property
    def feasible(self) -> BoolArray:
        """bool, shape (n_nodes,)."""
        if self._feasible is None:
            self._feasible = np.ones(len(self.nodes), dtype=np.bool_)
        return self._feasible

    def add(self, plugin: str, verdict: Verdict) -> MergedVerdicts | Status:
        """This result with the verdict of the next plugin.

        A Status if the verdict has an ERROR for a node that no earlier plugin rejected.
        """
        known = self._next
        if known is not None and known[1] is verdict and known[0] == plugin:
            return known[2]
        rejected = verdict.rejected
        first = rejected.copy() if self._feasible is None else rejected & self._feasible
        if not has_any(first):
            merged = MergedVerdicts(self.nodes, self.decided, self._feasible)
        elif (failure := verdict.failure(first)) is not None:
            return failure
        else:
            feasible = ~first if self._feasible is None else self._feasible & ~first
            merged = MergedVerdicts(self.nodes, [*self.decided, Decided(plugin, verdict, first)], feasible)
        self._next = plugin, verdict, merged
        return merged

    @property
    def n_feasible(self) -> int:
        return len(self.passed) if self.passed is not None else int(np.count_nonzero(self.feasible))

    @property
    def rejecting(self) -> tuple[tuple[str, Code], ...]:
        """Every (plugin, code) by which some node was rejected."""
        if self._rejecting is None:
            self._rejecting = tuple(_rejecting(self.decided))
        return self._rejecting


class FilterOutcome:
    """Which nodes of a table passed every Filter plugin, and which plugin rejected each of the others."""

    __slots__ = ("_feasible", "decided", "error", "merged", "n_seen", "nodes", "overrides")

    def __init__(
        self,
        nodes: NodeTable,
        feasible: BoolArray | None,
        decided: list[Decided],
        error: Status | None = None,
        merged: MergedVerdicts | None = None,
    ) -> None:
        self.nodes = nodes
        #: None: that of `merged`.
        self._feasible = feasible
        #: In the order of the plugins; the masks do not overlap.
        self.decided = decided
        #: An ERROR of any plugin on any node: the attempt is over.
        self.error = error
        #: How many nodes a search evaluated before it had found enough; None if it evaluated all of them.
        self.n_seen: int | None = None
        #: Position → status, for nodes whose result nominated pods or extenders changed.
        self.overrides: dict[int, Status] = {}
        #: The merged verdicts, which other attempts share; None once the outcome differs from them.
        self.merged = merged

    @property
    def feasible(self) -> BoolArray:
        """bool, shape (n_nodes,)."""
        if self._feasible is not None:
            return self._feasible
        assert self.merged is not None  # noqa: S101  one of the two is set
        return self.merged.feasible

    @property
    def n_rejected(self) -> int:
        if self.rejects_none:
            return 0
        n_feasible = np.count_nonzero(self.feasible) if self.merged is None else self.merged.n_feasible
        return len(self.nodes) - int(n_feasible)

    def override(self, position: int, status: Status) -> None:
        """Replace the result of one node; success makes it feasible."""
        self._feasible = self.feasible.copy()  # a table may use it as its mask
        if self.merged is not None:  # it may be shared
            self.decided = [entry._replace(where=entry.where.copy()) for entry in self.decided]
            self.merged = None
        self._feasible[position] = status.is_success
        for entry in self.decided:
            entry.where[position] = False
        self.overrides.pop(position, None)
        if not status.is_success:
            self.overrides[position] = status

    @property
    def rejects_none(self) -> bool:
        """True only if every node passed. Where it is False every node may still have passed."""
        return not self.decided and not self.overrides and self.n_seen is None

    def rejects(self, node_name: str) -> bool:
        """Whether the node is in the table and did not pass."""
        position = self.nodes.position(node_name)
        return position is not None and not self.feasible[position]

    def status(self, position: int) -> Status | None:
        """Why the node at *position* was rejected; None if it passed."""
        if position in self.overrides:
            return self.overrides[position]
        for entry in self.decided:
            if entry.where[position]:
                return entry.status(position)
        return None

    def codes(self) -> NDArray[np.int8]:
        """The status code of every node; int8, shape (n_nodes,)."""
        codes = np.zeros(len(self.nodes), dtype=np.int8)
        for entry in self.decided:
            # The most severe code of a node is written last.
            for rejection in sorted(entry.verdict.rejections, key=lambda rejection: _SEVERITY[rejection.code]):
                codes[rejection.where & entry.where] = rejection.code
            for position, status in entry.verdict.statuses.items():
                if entry.where[position]:
                    codes[position] = status.code
        for position, status in self.overrides.items():
            codes[position] = status.code
        return codes

    def reasons(self) -> Counter[str]:
        """How many nodes give each reason."""
        reasons: Counter[str] = Counter()
        for entry in self.decided:
            entry.count_reasons(reasons)
        for status in self.overrides.values():
            reasons.update(status.reasons)
        return reasons

    def rejecting_plugins(self) -> Iterable[tuple[str, Code]]:
        """Every (plugin, code) by which some node was rejected."""
        if self.merged is not None:
            return self.merged.rejecting
        overridden = [(status.plugin, status.code) for status in self.overrides.values() if status.plugin]
        return [*_rejecting(self.decided), *overridden]


def _rejecting(decided: Iterable[Decided]) -> Iterator[tuple[str, Code]]:
    for entry in decided:
        rejections = entry.verdict.rejections
        is_only = len(rejections) == 1 and not entry.verdict.statuses
        for rejection in rejections:
            if has_any(entry.where if is_only else rejection.where & entry.where):
                yield entry.plugin, rejection.code
        for position, status in entry.verdict.statuses.items():
            if entry.where[position]:
                yield entry.plugin, status.code


_ABSENT: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


class Diagnosis:
    """Why the pod fits no node: a status for every node of the snapshot.

    Nodes that Filter evaluated have their own status; all others share `absent`: the status with which PreFilter
    rejected the pod, or that PreFilter excluded them.
    """

    def __init__(self, nodes: NodeTable) -> None:
        #: Every node of the snapshot.
        self.nodes = nodes
        self.outcome: FilterOutcome | None = None
        #: Node name → status, for nodes that `outcome` does not reject: a nominated node that was evaluated before
        #: the others, and nodes that only an extender rejected.
        self.other_statuses: dict[str, Status] = {}
        self.absent = _ABSENT
        self.pre_filter_message = ""
        self.post_filter_message = ""
        #: Plugins that rejected the pod. An event that one of them registered for queues the pod again.
        self.unschedulable_plugins: set[str] = set()
        self.pending_plugins: set[str] = set()

    def reject_all(self, status: Status) -> None:
        """PreFilter rejected the pod: every node has this status."""
        self.absent = status
        self.pre_filter_message = status.message
        self._add_rejecting(status.plugin, status.code)

    def reject_nominated_node(self, node_name: str, status: Status) -> None:
        """The pod does not fit its nominated node."""
        self.other_statuses[node_name] = status
        self._add_rejecting(status.plugin, status.code)

    def add_outcome(self, outcome: FilterOutcome) -> None:
        self.outcome = outcome
        if self.other_statuses:
            self.other_statuses = {
                name: status for name, status in self.other_statuses.items() if not outcome.rejects(name)
            }
        if outcome.decided or outcome.overrides:
            for plugin, code in outcome.rejecting_plugins():
                self._add_rejecting(plugin, code)

    def set_status(self, node_name: str, status: Status) -> None:
        """Set a node's status as an extender gave it, whatever the plugins said; the node need not exist."""
        position = self.outcome.nodes.position(node_name) if self.outcome is not None else None
        if self.outcome is None or position is None:
            self.other_statuses[node_name] = status
        else:
            self.other_statuses.pop(node_name, None)
            self.outcome.override(position, status)

    def _add_rejecting(self, plugin: str, code: Code) -> None:
        if not plugin:
            return
        self.unschedulable_plugins.add(plugin)
        if code is Code.PENDING:
            self.pending_plugins.add(plugin)

    def status(self, node_name: str) -> Status:
        """Why the pod cannot run on the node."""
        if self.outcome is not None:
            position = self.outcome.nodes.position(node_name)
            if position is not None:
                found = self.outcome.status(position)
                if found is not None:
                    return found
        return self.other_statuses.get(node_name, self.absent)

    def rows_with(self, code: Code) -> IntArray:
        """The rows, in the whole table, of the nodes whose status has *code*."""
        codes = np.full(len(self.nodes), self.absent.code, dtype=np.int8)
        for name, status in self.other_statuses.items():
            if (position := self.nodes.position(name)) is not None:
                codes[position] = status.code
        if self.outcome is not None:
            own = self.outcome.codes()
            evaluated = own != Code.SUCCESS
            codes[self.outcome.nodes.rows[evaluated]] = own[evaluated]
        return np.flatnonzero(codes == code)

    def message(self) -> str:
        """`0/N nodes are available: …`, as kube-scheduler words it."""
        n_nodes = len(self.nodes)
        if self.pre_filter_message:
            text = f"{_head(n_nodes)} {self.pre_filter_message}."
        else:
            text = none_available(n_nodes, self._reasons(n_nodes))
        return f"{text} {self.post_filter_message}" if self.post_filter_message else text

    def _reasons(self, n_nodes: int) -> Counter[str]:
        reasons: Counter[str] = Counter()
        n_evaluated = len(self.other_statuses)
        for status in self.other_statuses.values():
            reasons.update(status.reasons)
        if self.outcome is not None:
            reasons.update(self.outcome.reasons())
            n_evaluated += int(np.count_nonzero(~self.outcome.feasible))
        if n_evaluated < n_nodes:
            for reason in self.absent.reasons:
                reasons[reason] += n_nodes - n_evaluated
        return reasons


def none_available(n_nodes: int, reasons: Counter[str]) -> str:
    """`0/N nodes are available: 2 this, 3 that.`"""
    if not reasons:
        return _head(n_nodes)
    # Sorted as text, so "10 x" comes before "9 x".
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"{_head(n_nodes)} {counted}."


def _head(n_nodes: int) -> str:
    return f"0/{n_nodes} nodes are available:"
