"""Derived columns: what plugins work out from the nodes alone, whatever the pod, kept for all nodes.

A pod of a kind of its own is compared with every node, so what does not depend on the pod is prepared: worked out
once, and again at the rows that changed since.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isnan
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import Derived

if TYPE_CHECKING:
    from bayplan.cache.changes import ChangeLog
    from bayplan.framework import FloatArray, IntArray, NodeTable
    from bayplan.framework.nodes import MakeEntries, MakeLines

#: Columns of so many keys are kept; the oldest goes first.
MAX_KEYS: Final = 64
#: After so many refreshes the least entries are looked for again: until then they only ever get less, or NaN.
MAX_REFRESHES: Final = 100


class _Kept:
    """Columns over the rows, and up to where of the change log they are right."""

    __slots__ = ("_columns", "_least", "_n_refreshes", "given", "membership", "position")

    def __init__(self, columns: FloatArray, membership: int, position: int) -> None:
        self._columns = columns
        self.membership = membership
        self.position = position
        self._look_again()

    def _look_again(self) -> None:
        columns = self._columns.view()
        columns.flags.writeable = False
        self.given = Derived.of(columns)
        #: The same as what was given out, in plain numbers.
        self._least: list[float] = self.given.least.tolist()
        self._n_refreshes = 0

    def change(self, rows: IntArray, part: FloatArray) -> None:
        self._columns[:, rows] = part
        if not self._are_due():
            least = self.given.least
            np.minimum(least, part.min(axis=-1), out=least)
            self._least = least.tolist()

    def change_one(self, row: int, entries: Sequence[float]) -> None:
        self._columns[:, row] = entries
        if not self._are_due():
            for line, entry in enumerate(entries):
                least = self._least[line]
                if not entry >= least and not isnan(least):  # less, or NaN, and it was not NaN already
                    self._least[line] = self.given.least[line] = entry

    def _are_due(self) -> bool:
        """Whether it was time to look for the least entries again; that is done then."""
        self._n_refreshes += 1
        if self._n_refreshes <= MAX_REFRESHES:
            return False
        self._look_again()
        return True


class DerivedColumns:
    """By key, over the whole table of one store."""

    def __init__(self, changes: ChangeLog) -> None:
        """*changes*: the rows of which a node, or the amounts requested on it, changed."""
        self._changes = changes
        self._by_key: dict[Hashable, _Kept] = {}

    def read(
        self, key: Hashable, make: MakeLines, make_one: MakeEntries | None, nodes: NodeTable, membership: int
    ) -> Derived:
        """What *make* gives for *nodes*, which are all there are; right until the next change."""
        kept = self._by_key.get(key)
        if kept is None or not self._refresh(kept, make, make_one, nodes, membership):
            kept = self._by_key[key] = _Kept(make(nodes), membership, self._changes.position)
            if len(self._by_key) > MAX_KEYS:
                del self._by_key[next(iter(self._by_key))]
        return kept.given

    def _refresh(
        self, kept: _Kept, make: MakeLines, make_one: MakeEntries | None, nodes: NodeTable, membership: int
    ) -> bool:
        """Bring it up to date; False if too much has changed for that."""
        changes = self._changes
        if kept.membership != membership:
            return False
        if kept.position == changes.position:
            return True
        row = -1 if make_one is None else changes.only_since(kept.position)
        if make_one is not None and row >= 0:
            kept.change_one(row, make_one(nodes, row))
        else:
            rows = changes.few_since(kept.position, len(nodes))
            if rows is None:
                return False
            kept.change(rows, make(nodes.select(rows)))
        kept.position = changes.position
        return True
