"""Boards: the totals of kept scores over one table of nodes, brought up to date at the rows that changed.

Between two pods alike one node has changed, so one entry of a few columns is written, one total is added up anew,
and the nodes with the highest total are known from before. It is exactly what adding up all columns gives.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from bayplan.framework import IntArray, NodeTable
from bayplan.framework.editions import LiveColumn
from bayplan.framework.outcomes import FreshScores, Positions, highest

if TYPE_CHECKING:
    from collections.abc import Hashable

    from bayplan.cache.changes import ChangeLog

#: Up to so many changed nodes are looked at one by one; more are looked for in the whole column.
FEW: Final = 8


_numbers: Final = count()


class EvenScores(NamedTuple):
    """The scores of nodes that all have the same."""

    raw: int
    normalized: int
    weighted: int
    weight: int

    @classmethod
    def of(cls, scores: FreshScores) -> EvenScores:
        return cls(int(scores.raw[0]), int(scores.normalized[0]), int(scores.weighted[0]), scores.weight)

    def over(self, n_nodes: int) -> FreshScores:
        raw = np.full(n_nodes, self.raw)
        normalized = raw if self.raw == self.normalized else np.full(n_nodes, self.normalized)
        weighted = normalized if self.normalized == self.weighted else np.full(n_nodes, self.weighted)
        return FreshScores(raw, normalized, weighted, self.weight)


class FixedScores:
    """Scores that change with node objects only."""

    __slots__ = ("even", "key", "normalized", "number", "raw", "weight", "weighted")

    is_light: Final = False

    def __init__(self, key: Hashable, scores: FreshScores, even: int | None = None) -> None:
        #: What each of them is, weighed, if all are known to be the same.
        self.even = even
        #: Equal for the scores of the same plugin for the same pods, before and after a change.
        self.key = key
        #: Different for other scores; boards remember it in place of the columns.
        self.number = next(_numbers)
        self.raw, self.normalized = scores.raw, scores.normalized
        self.weighted, self.weight = scores.weighted, scores.weight


class MovingScores:
    """Scores of a node that change with the pods on it, and that nobody normalises."""

    __slots__ = ("_edition", "_nodes", "column", "key", "log", "weight")

    is_light: Final = True

    def __init__(self, key: Hashable, column: LiveColumn, nodes: NodeTable, weight: int, log: ChangeLog) -> None:
        self.key = key
        #: About every node of the snapshot.
        self.column = column
        #: Where changes of it are noted.
        self.log = log
        self.weight = weight
        self._edition = column.edition
        self._nodes = nodes

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


KeptScores: TypeAlias = FixedScores | MovingScores


class SharedColumns:
    """Stands for the columns of a board, to those who count what they hold."""

    __slots__ = ("n_bytes",)

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes


class Board:
    """The sum of some kept scores."""

    def __init__(self, nodes: NodeTable, scores: Sequence[KeptScores]) -> None:
        self._nodes = nodes
        fixed = [own for own in scores if isinstance(own, FixedScores)]
        self._fixed = [own.number for own in fixed]
        self._moving = [own for own in scores if isinstance(own, MovingScores)]
        #: Up to where of each log the totals are right.
        self._positions = {own.log: own.log.position for own in self._moving}
        #: What the fixed scores come to.
        self._base: IntArray = np.full(len(nodes), sum([own.even for own in fixed if own.even is not None]))
        for own in fixed:
            if own.even is None:
                self._base += own.weighted
        self._place_of: dict[int, int] | None = None
        self.totals = LiveColumn(self._sum(nodes.rows, slice(None)))
        self.leaders = Leaders(self.totals.data)
        # The fixed scores are counted where they are compacted.
        self.basis = SharedColumns((1 + len(self._moving)) * self._base.nbytes)

    def is_of(self, nodes: NodeTable, scores: Sequence[KeptScores]) -> bool:
        """Whether nothing but entries of moving scores can have changed since the board was made."""
        if self._nodes is not nodes:
            return False
        fixed, moving = iter(self._fixed), iter(self._moving)
        for own in scores:
            if isinstance(own, MovingScores):
                if next(moving).column is not own.column:
                    return False
            elif next(fixed) != own.number:
                return False
        return True

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

    def _sum(self, rows: IntArray, positions: IntArray | slice) -> IntArray:
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
