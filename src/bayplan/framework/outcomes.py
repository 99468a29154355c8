"""What came of running a profile's Filter or Score plugins over a table of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.editions import LightColumn, read_column
from bayplan.framework.nodes import NodeTable
from bayplan.framework.status import Code, Status
from bayplan.framework.verdict import BoolArray, IntArray, ScoreArray, Verdict, has_any
from bayplan.observe.record import Basis, CompactForm, CompactPluginScores

#: Positions in a table, in order.
Positions: TypeAlias = list[int] | IntArray


def highest(column: ScoreArray) -> IntArray:
    """The positions of the highest entries."""
    positions: IntArray = (column == column[column.argmax()]).nonzero()[0]
    return positions


class Decided(NamedTuple):
    """A plugin's verdict, and the nodes for which it was the first to reject."""

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


class Combined:
    """What the Filter plugins said of a table together.

    Attempts that get the same verdicts share it, so nothing in it changes once it is given out.
    """

    __slots__ = ("_feasible", "_rejecting", "decided", "nodes", "passed")

    def __init__(self, nodes: NodeTable) -> None:
        self.nodes = nodes
        #: In the order of the plugins; the masks do not overlap.
        self.decided: list[Decided] = []
        #: The table of the nodes that passed, as soon as somebody made it.
        self.passed: NodeTable | None = None
        #: None as long as that is all of them.
        self._feasible: BoolArray | None = None
        self._rejecting: tuple[tuple[str, Code], ...] | None = None

    @property
    def feasible(self) -> BoolArray:
        """bool, shape (n_nodes,)."""
        if self._feasible is None:
            self._feasible = np.ones(len(self.nodes), dtype=np.bool_)
        return self._feasible

    def add(self, plugin: str, verdict: Verdict) -> Status | None:
        """The next plugin's verdict; gives an ERROR that it has for a node that nobody rejected before."""
        rejected = verdict.rejected
        first = rejected.copy() if self._feasible is None else rejected & self._feasible
        if not has_any(first):
            return None
        if (failure := verdict.failure(first)) is not None:
            return failure
        self.decided.append(Decided(plugin, verdict, first))
        self._feasible = ~first if self._feasible is None else self._feasible & ~first
        return None

    @property
    def n_feasible(self) -> int:
        return len(self.passed) if self.passed is not None else int(np.count_nonzero(self.feasible))

    @property
    def rejecting(self) -> tuple[tuple[str, Code], ...]:
        """Every (plugin, code) by which some node was rejected."""
        if self._rejecting is None:
            self._rejecting = tuple(_rejecting(self.decided))
        return self._rejecting

    @property
    def n_bytes(self) -> int:
        """What the masks take, roughly; the verdicts' own are of the same size."""
        return 2 * (1 + len(self.decided)) * len(self.nodes) if self.decided else 0


class FilterOutcome:
    """Which nodes of a table passed every Filter plugin, and for the others who rejected them."""

    __slots__ = ("_feasible", "combined", "decided", "error", "n_seen", "nodes", "overrides")

    def __init__(
        self,
        nodes: NodeTable,
        feasible: BoolArray | None,
        decided: list[Decided],
        error: Status | None = None,
        combined: Combined | None = None,
    ) -> None:
        self.nodes = nodes
        self._feasible = feasible
        #: In the order of the plugins; the masks do not overlap.
        self.decided = decided
        #: An ERROR of any plugin on any node: the attempt is over.
        self.error = error
        #: How many nodes a search looked at that stopped when it had found enough; None if all were.
        self.n_seen: int | None = None
        #: Position → status, for nodes whose answer was settled in another way (nominated pods, extenders).
        self.overrides: dict[int, Status] = {}
        #: What the plugins' verdicts came to, as long as there is nothing else to say.
        self.combined = combined

    @classmethod
    def of(cls, combined: Combined, error: Status | None = None) -> FilterOutcome:
        return cls(combined.nodes, None, combined.decided, error, combined)

    @property
    def feasible(self) -> BoolArray:
        """bool, shape (n_nodes,)."""
        if self._feasible is not None:
            return self._feasible
        assert self.combined is not None  # noqa: S101  one of the two is there
        return self.combined.feasible

    @property
    def n_rejected(self) -> int:
        if self.rejects_none:
            return 0
        n_feasible = np.count_nonzero(self.feasible) if self.combined is None else self.combined.n_feasible
        return len(self.nodes) - int(n_feasible)

    def override(self, position: int, status: Status) -> None:
        """Settle one node by hand; success makes it feasible."""
        self._feasible = self.feasible.copy()  # a table may have been made of it
        if self.combined is not None:  # from here on this outcome is like no other
            self.decided = [entry._replace(where=entry.where.copy()) for entry in self.decided]
            self.combined = None
        self._feasible[position] = status.is_success
        for entry in self.decided:
            entry.where[position] = False
        self.overrides.pop(position, None)
        if not status.is_success:
            self.overrides[position] = status

    @property
    def rejects_none(self) -> bool:
        """Whether every node passed for sure; False may still turn out so."""
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
            # Later rejections of a node only ever make its code stronger.
            for rejection in sorted(entry.verdict.rejections, key=lambda rejection: _strength(rejection.code)):
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
        if self.combined is not None:
            return self.combined.rejecting
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


def _strength(code: Code) -> int:
    return 1 if code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE else 0


class PluginScores(Protocol):
    """One plugin's scores for a table of nodes, at every stage; shape (n_nodes,) each."""

    @property
    def raw(self) -> ScoreArray: ...

    @property
    def normalized(self) -> ScoreArray: ...

    @property
    def weighted(self) -> ScoreArray: ...

    @property
    def weight(self) -> int: ...

    def compacted(self) -> CompactForm:
        """The same in little space, for a record."""


class FreshScores(NamedTuple):
    """Scores that were worked out for one pod."""

    raw: ScoreArray
    normalized: ScoreArray
    weighted: ScoreArray
    weight: int

    def compacted(self) -> CompactForm:
        return CompactPluginScores(self.raw, self.normalized, self.weight)


class ScoreOutcome:
    """What the Score plugins made of the feasible nodes."""

    __slots__ = ("_best", "_best_of", "_totals", "added", "base", "basis", "by_plugin", "nodes")

    def __init__(
        self,
        nodes: NodeTable,
        by_plugin: Mapping[str, PluginScores],
        totals: ScoreArray | LightColumn,
        *,
        best: Positions | None = None,
        best_of: NodeTable | None = None,
        base: LightColumn | None = None,
        added: Sequence[str] = (),
        basis: Basis | None = None,
    ) -> None:
        self.nodes = nodes
        self.by_plugin = by_plugin
        self._totals = totals
        #: Where somebody keeps it up to date: `best` as of now.
        self._best = best
        #: The table that those are positions in.
        self._best_of = nodes if best_of is None else best_of
        #: What the totals can be made of again: a column that takes no room, None if there is none, and the
        #: plugins whose scores come on top.
        self.base = base
        self.added = added
        #: What the columns share with those of other outcomes; None where they share nothing.
        self.basis = basis

    @property
    def totals(self) -> IntArray:
        """int64, shape (n_nodes,)."""
        return read_column(self._totals).astype(np.int64, copy=False)

    def best(self) -> tuple[NodeTable, Positions]:
        """The nodes with the highest total: a table, which may have others as well, and their positions in it, in
        order."""
        if self._best is not None:
            best, self._best = self._best, None  # the next pod changes it
            return self._best_of, best
        return self.nodes, highest(read_column(self._totals))

    def with_totals(self, totals: ScoreArray) -> ScoreOutcome:
        return ScoreOutcome(self.nodes, self.by_plugin, totals)
