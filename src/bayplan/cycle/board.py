"""Boards: the totals of kept scores over one table of nodes, brought up to date at the rows that changed.

Between two pods alike one node has changed, so one entry of a few columns is written, one total is added up anew,
and the nodes with the highest total are known from before. It is exactly what adding up all columns gives.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from bayplan.framework import BoolArray, IntArray, NodeTable, has_any
from bayplan.framework.editions import LiveColumn
from bayplan.framework.outcomes import FreshScores, Positions, highest
from bayplan.observe.record import CompactForm, CompactPluginScores

if TYPE_CHECKING:
    from collections.abc import Hashable

    from bayplan.cache.changes import ChangeLog

#: Up to so many changed nodes are looked at one by one; more are looked for in the whole column.
FEW: Final = 8
#: A total below this leaves room for scores in 32 bits.
SMALL: Final = 2**30


class Level(NamedTuple):
    """What every node gets, at every stage."""

    raw: int
    normalized: int
    weighted: int
    weight: int

    @classmethod
    def of(cls, scores: FreshScores) -> Level:
        return cls(int(scores.raw[0]), int(scores.normalized[0]), int(scores.weighted[0]), scores.weight)


class EvenScores:
    """Scores that are the same for all nodes, and would be in any other table of them."""

    __slots__ = ("_level", "_n_nodes", "key", "token")

    #: Of their own.
    n_bytes: Final = 0

    def __init__(self, key: Hashable, level: Level, n_nodes: int) -> None:
        #: Equal for the scores of the same plugin for the same pods, before and after a change.
        self.key = key
        #: Equal as long as a board that was made with these scores need not be made anew; so in the other forms.
        self.token = level.weighted
        self._level = level
        self._n_nodes = n_nodes

    def compacted(self) -> EvenScores:
        return self

    @property
    def raw(self) -> IntArray:
        return np.full(self._n_nodes, self._level.raw)

    @property
    def normalized(self) -> IntArray:
        return np.full(self._n_nodes, self._level.normalized)

    @property
    def weighted(self) -> IntArray:
        return np.full(self._n_nodes, self._level.weighted)

    @property
    def weight(self) -> int:
        return self._level.weight


class FixedScores:
    """Scores that change with node objects only, and with the table of nodes."""

    __slots__ = ("key", "normalized", "raw", "token", "weight", "weighted")

    def __init__(self, key: Hashable, scores: FreshScores) -> None:
        self.key = key
        self.token = object()
        self.raw, self.normalized = scores.raw, scores.normalized
        self.weighted, self.weight = scores.weighted, scores.weight

    def compacted(self) -> CompactForm:
        return CompactPluginScores(self.raw, self.normalized, self.weight)


class MovingScores:
    """Scores of a node that change with it or with the pods on it, and that nobody normalises."""

    __slots__ = ("_edition", "_nodes", "column", "key", "log", "token", "weight")

    n_bytes: Final = 0

    def __init__(self, key: Hashable, column: LiveColumn, nodes: NodeTable, weight: int, log: ChangeLog) -> None:
        self.key = key
        #: About every node of the snapshot.
        self.column = self.token = column
        #: Where changes of it are noted.
        self.log = log
        self.weight = weight
        self._edition = column.edition
        self._nodes = nodes

    def compacted(self) -> MovingScores:
        return self

    @property
    def raw(self) -> IntArray:
        raw = self._edition.array()
        return raw if self._nodes.is_whole else raw[self._nodes.rows]

    @property
    def normalized(self) -> IntArray:
        return self.raw

    @property
    def weighted(self) -> IntArray:
        return self.raw * self.weight


KeptScores: TypeAlias = EvenScores | FixedScores | MovingScores


class SharedColumns:
    """Stands for the columns of a board, to those who count what they hold."""

    __slots__ = ("n_bytes",)

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes


class Board:
    """The sum of some kept scores."""

    def __init__(self, nodes: NodeTable, scores: Sequence[KeptScores]) -> None:
        self._nodes = nodes
        self._tokens = [own.token for own in scores]
        self._moving = [own for own in scores if isinstance(own, MovingScores)]
        #: Up to where of each log the totals are right.
        self._positions = {own.log: own.log.position for own in self._moving}
        even = [own.token for own in scores if isinstance(own, EvenScores)]
        #: What every total is, where all of them are the same and small; else None.
        self.level = sum(even) if len(even) == len(scores) and sum(even) < SMALL else None
        #: What the other scores come to.
        self._base: IntArray = np.full(len(nodes), sum(even))
        for own in scores:
            if isinstance(own, FixedScores):
                self._base += own.weighted
        self._place_of: dict[int, int] | None = None
        every = slice(None)
        self.totals = LiveColumn(self._sum(every if nodes.is_whole else nodes.rows, every))
        self.leaders = Leaders(self.totals.data)
        # The fixed scores are counted where they are compacted.
        self.basis = SharedColumns((1 + len(self._moving)) * self._base.nbytes)

    def is_of(self, nodes: NodeTable, scores: Sequence[KeptScores]) -> bool:
        """Whether nothing but entries of moving scores can have changed since the board was made."""
        return self._nodes is nodes and self._tokens == [own.token for own in scores]

    def best_of(self, mask: BoolArray) -> IntArray:
        """The positions of the highest totals among those in *mask*, of which there is one."""
        totals = self.totals.data
        best = (totals == totals[totals.argmax()]) & mask
        if not has_any(best):  # the highest of all are not among them
            return highest(np.where(mask, totals, -1))  # no total is below 0
        positions: IntArray = best.nonzero()[0]
        return positions

    def refresh(self) -> bool:
        """Bring the totals up to date; False if too much has changed for that."""
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
            self.leaders.change(positions, self.totals.change(positions, sums), sums)

    def _sum(self, rows: IntArray | slice, positions: IntArray | slice) -> IntArray:
        """The totals of the nodes at *rows* of the snapshot, which are at *positions* of the table."""
        sums = self._base[positions]
        for own in self._moving:
            scores = own.column.data[rows]
            sums = sums + (scores if own.weight == 1 else scores * own.weight)
        return sums

    def _in_table(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Those of *rows* that are in the table, and their positions there."""
        if self._place_of is None:
            self._place_of = {row: position for position, row in enumerate(self._nodes.rows.tolist())}
        found = [(row, place) for row in rows.tolist() if (place := self._place_of.get(row)) is not None]
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]


class Leaders:
    """The positions of the highest entries of a column, in order."""

    __slots__ = ("_column", "_highest", "_positions")

    def __init__(self, column: IntArray) -> None:
        self._column = column
        self._highest = 0
        #: An array, or a list as soon as single positions come and go; None if it must be looked for.
        self._positions: Positions | None = None

    def positions(self) -> Positions:
        """To be read before the next change."""
        if self._positions is None:
            self._positions = highest(self._column)
            self._highest = int(self._column[self._positions[0]])
        return self._positions

    def change(self, positions: IntArray, old: IntArray, new: IntArray) -> None:
        """The column has *new* at *positions*, where it had *old*."""
        if self._positions is None or len(positions) > FEW:
            self._positions = None
            return
        for position, before, after in zip(positions.tolist(), old.tolist(), new.tolist(), strict=True):
            if after > self._highest:
                self._highest, self._positions = after, [position]
            elif before != after and self._highest in (before, after):
                leaders = self._as_list()
                if after == self._highest:
                    insort(leaders, position)
                else:
                    del leaders[bisect_left(leaders, position)]
        if not len(self._positions):
            self._positions = None

    def _as_list(self) -> list[int]:
        if isinstance(self._positions, list):
            return self._positions
        leaders: list[int] = np.asarray(self._positions).tolist()
        self._positions = leaders
        return leaders
