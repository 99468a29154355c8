"""RunningTotals: the sums of cached scores over one table of nodes, updated at the rows that changed.

Between two equal pods one node has changed, so one entry of a few columns is written, one total is added up again,
and the nodes with the highest total are known. The result is exactly that of adding up all columns.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from bayplan.framework import BoolArray, IntArray, NodeTable, has_any
from bayplan.framework.evaluator import FreshScores, Positions, VersionedColumn, highest
from bayplan.observe.record import CompactForm, CompactPluginScores

if TYPE_CHECKING:
    from collections.abc import Hashable

    from bayplan.cache.node_store import ChangeLog

#: Up to this many changed entries the highest are updated one by one; beyond, by a pass over the whole column.
FEW: Final = 8
#: To a total below this, scores can be added in 32 bits.
SMALL: Final = 2**30


class ConstantScore(NamedTuple):
    """A score that every node has, at every stage."""

    raw: int
    normalized: int
    weighted: int
    weight: int

    @classmethod
    def of(cls, scores: FreshScores) -> ConstantScore:
        return cls(int(scores.raw[0]), int(scores.normalized[0]), int(scores.weighted[0]), scores.weight)


class ConstantScores:
    """Scores that are the same for all nodes, in any table of them."""

    __slots__ = ("_n_nodes", "_score", "key", "token")

    #: Size of the storage that is not shared.
    n_bytes: Final = 0

    def __init__(self, key: Hashable, score: ConstantScore, n_nodes: int) -> None:
        #: Equal for the scores of the same plugin for the same pods, before and after a change.
        self.key = key
        #: Equal as long as totals with these scores stay valid; likewise in the other classes.
        self.token = score.weighted
        self._score = score
        self._n_nodes = n_nodes

    def compacted(self) -> ConstantScores:
        return self

    @property
    def raw(self) -> IntArray:
        return np.full(self._n_nodes, self._score.raw)

    @property
    def normalized(self) -> IntArray:
        return np.full(self._n_nodes, self._score.normalized)

    @property
    def weighted(self) -> IntArray:
        return np.full(self._n_nodes, self._score.weighted)

    @property
    def weight(self) -> int:
        return self._score.weight


class NodeScores:
    """Scores that change only with node objects, and with the table of nodes."""

    __slots__ = ("key", "normalized", "raw", "token", "weight", "weighted")

    def __init__(self, key: Hashable, scores: FreshScores) -> None:
        self.key = key
        self.token = object()
        self.raw, self.normalized = scores.raw, scores.normalized
        self.weighted, self.weight = scores.weighted, scores.weight

    def compacted(self) -> CompactForm:
        return CompactPluginScores(self.raw, self.normalized, self.weight)


class UsageScores:
    """Scores that change with a node or with the pods on it, and that are not normalized."""

    __slots__ = ("_nodes", "_version", "column", "key", "log", "token", "weight")

    n_bytes: Final = 0

    def __init__(
        self, key: Hashable, column: VersionedColumn, nodes: NodeTable, weight: int, log: ChangeLog
    ) -> None:
        self.key = key
        #: About every node of the snapshot.
        self.column = self.token = column
        #: The log of its changes.
        self.log = log
        self.weight = weight
        self._version = column.version
        self._nodes = nodes

    def compacted(self) -> UsageScores:
        return self

    @property
    def raw(self) -> IntArray:
        raw = self._version.array()
        return raw if self._nodes.is_whole else raw[self._nodes.rows]

    @property
    def normalized(self) -> IntArray:
        return self.raw

    @property
    def weighted(self) -> IntArray:
        return self.raw * self.weight


CachedScores: TypeAlias = ConstantScores | NodeScores | UsageScores


class TotalsStorage:
    """Implements `observe.record.SharedStorage`: the size of the columns that records share."""

    __slots__ = ("n_bytes",)

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes


class RunningTotals:
    """The sum of some cached scores."""

    def __init__(self, nodes: NodeTable, scores: Sequence[CachedScores]) -> None:
        self._nodes = nodes
        self._tokens = [own.token for own in scores]
        self._usage = [own for own in scores if isinstance(own, UsageScores)]
        #: For each log the position up to which the totals are valid.
        self._positions = {own.log: own.log.position for own in self._usage}
        constants = [own.token for own in scores if isinstance(own, ConstantScores)]
        #: The total of every node, where all totals are equal and small; else None.
        self.constant = sum(constants) if len(constants) == len(scores) and sum(constants) < SMALL else None
        #: The sum of the scores that do not change with pods.
        self._base: IntArray = np.full(len(nodes), sum(constants))
        for own in scores:
            if isinstance(own, NodeScores):
                self._base += own.weighted
        self._position_of: dict[int, int] | None = None
        every = slice(None)
        self.totals = VersionedColumn(self._sum(every if nodes.is_whole else nodes.rows, every))
        self.highest = MaxTracker(self.totals.data)
        # Node scores are counted where they are compacted.
        self.storage = TotalsStorage((1 + len(self._usage)) * self._base.nbytes)

    def is_of(self, nodes: NodeTable, scores: Sequence[CachedScores]) -> bool:
        """Whether these are the totals of *scores*, apart from changed entries of usage scores."""
        return self._nodes is nodes and self._tokens == [own.token for own in scores]

    def best_of(self, mask: BoolArray) -> IntArray:
        """The positions of the highest totals among the nodes in *mask*, which has at least one."""
        totals = self.totals.data
        best = (totals == totals[totals.argmax()]) & mask
        if not has_any(best):  # none of the highest totals is among them
            return highest(np.where(mask, totals, -1))  # no total is below 0
        positions: IntArray = best.nonzero()[0]
        return positions

    def refresh(self) -> bool:
        """Update the totals; False if too much has changed."""
        rows: IntArray | None = None
        for log, position in self._positions.items():
            if position != log.position:
                changed = log.since(position)
                if changed is None:
                    return False
                rows = changed if rows is None else np.union1d(rows, changed)
                self._positions[log] = log.position
        if rows is not None:
            self._refresh(rows)
        return True

    def _refresh(self, rows: IntArray) -> None:
        positions = rows
        if not self._nodes.is_whole:
            rows, positions = self._in_table(rows)
        if len(rows):
            sums = self._sum(rows, positions)
            self.highest.change(positions, self.totals.change(positions, sums), sums)

    def _sum(self, rows: IntArray | slice, positions: IntArray | slice) -> IntArray:
        """The totals of the nodes at *rows* of the snapshot and *positions* of the table."""
        sums = self._base[positions]
        for own in self._usage:
            scores = own.column.data[rows]
            sums = sums + (scores if own.weight == 1 else scores * own.weight)
        return sums

    def _in_table(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The rows that are in the table, and their positions there."""
        if self._position_of is None:
            self._position_of = {row: position for position, row in enumerate(self._nodes.rows.tolist())}
        found = [(row, place) for row in rows.tolist() if (place := self._position_of.get(row)) is not None]
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]


class MaxTracker:
    """Tracks the positions of the highest entries of a column, in order."""

    __slots__ = ("_column", "_highest", "_positions")

    def __init__(self, column: IntArray) -> None:
        self._column = column
        self._highest = 0
        #: An array, or a list once single positions were added or removed; None if they are not known.
        self._positions: Positions | None = None

    def positions(self) -> Positions:
        """Valid until the next change."""
        if self._positions is None:
            self._positions = highest(self._column)
            self._highest = int(self._column[self._positions[0]])
        return self._positions

    def change(self, positions: IntArray, old: IntArray, new: IntArray) -> None:
        """The column changed from *old* to *new* at *positions*."""
        if self._positions is None or len(positions) > FEW:
            self._positions = None
            return
        for position, before, after in zip(positions.tolist(), old.tolist(), new.tolist(), strict=True):
            if after > self._highest:
                self._highest, self._positions = after, [position]
            elif before != after and self._highest in (before, after):
                best = self._as_list()
                if after == self._highest:
                    insort(best, position)
                else:
                    del best[bisect_left(best, position)]
        if not len(self._positions):
            self._positions = None

    def _as_list(self) -> list[int]:
        if isinstance(self._positions, list):
            return self._positions
        best: list[int] = np.asarray(self._positions).tolist()
        self._positions = best
        return best
