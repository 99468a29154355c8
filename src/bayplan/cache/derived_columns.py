"""Derived columns: values that plugins compute from the nodes alone, independent of the pod.

In: a key, the functions that compute the columns, and the log of changed rows. Out: the columns of all nodes,
computed once and then only for the rows that changed. A pod without cached results is compared with every node;
this is the part of that work that does not depend on the pod.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isnan
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import Derived

if TYPE_CHECKING:
    from bayplan.cache.node_store import ChangeLog
    from bayplan.framework import FloatArray, IntArray, NodeTable
    from bayplan.framework.nodes import MakeEntries, MakeLines

#: The columns of so many keys are cached; beyond that the oldest ones are dropped.
MAX_KEYS: Final = 64
#: After so many refreshes the minima are computed again; in between they only decrease or become NaN.
MAX_REFRESHES: Final = 100


class _DerivedEntry:
    """The columns of one key, and the position in the change log up to which they are current."""

    __slots__ = ("_columns", "_minima", "_n_refreshes", "derived", "node_set_version", "position")

    def __init__(self, columns: FloatArray, node_set_version: int, position: int) -> None:
        self._columns = columns
        self.node_set_version = node_set_version
        self.position = position
        self._compute_minima()

    def _compute_minima(self) -> None:
        columns = self._columns.view()
        columns.flags.writeable = False
        self.derived = Derived.of(columns)
        #: `derived.least` as plain numbers.
        self._minima: list[float] = self.derived.least.tolist()
        self._n_refreshes = 0

    def change(self, rows: IntArray, columns: FloatArray) -> None:
        self._columns[:, rows] = columns
        if not self._recompute_if_due():
            least = self.derived.least
            np.minimum(least, columns.min(axis=-1), out=least)
            self._minima = least.tolist()

    def change_one(self, row: int, entries: Sequence[float]) -> None:
        self._columns[:, row] = entries
        if not self._recompute_if_due():
            for line, value in enumerate(entries):
                least = self._minima[line]
                if not value >= least and not isnan(least):  # less, or NaN, and it was not NaN already
                    self._minima[line] = self.derived.least[line] = value

    def _recompute_if_due(self) -> bool:
        """Compute the minima again if it is time to; returns whether it was."""
        self._n_refreshes += 1
        if self._n_refreshes <= MAX_REFRESHES:
            return False
        self._compute_minima()
        return True


class DerivedColumns:
    """The derived columns of one node store, by key."""

    def __init__(self, changes: ChangeLog) -> None:
        """*changes*: rows whose node object, or the amounts requested by their pods, changed."""
        self._changes = changes
        self._by_key: dict[Hashable, _DerivedEntry] = {}

    def read(
        self, key: Hashable, make: MakeLines, make_one: MakeEntries | None, nodes: NodeTable, node_set_version: int
    ) -> Derived:
        """The result of *make* for *nodes*, which must be all nodes; valid until the next change."""
        entry = self._by_key.get(key)
        if entry is None or not self._refresh(entry, make, make_one, nodes, node_set_version):
            entry = self._by_key[key] = _DerivedEntry(make(nodes), node_set_version, self._changes.position)
            if len(self._by_key) > MAX_KEYS:
                del self._by_key[next(iter(self._by_key))]
        return entry.derived

    def _refresh(
        self,
        entry: _DerivedEntry,
        make: MakeLines,
        make_one: MakeEntries | None,
        nodes: NodeTable,
        node_set_version: int,
    ) -> bool:
        """Update the rows that changed; False if too many did."""
        changes = self._changes
        if entry.node_set_version != node_set_version:
            return False
        if entry.position == changes.position:
            return True
        row = -1 if make_one is None else changes.only_since(entry.position)
        if make_one is not None and row >= 0:
            entry.change_one(row, make_one(nodes, row))
        else:
            rows = changes.few_since(entry.position, len(nodes))
            if rows is None:
                return False
            entry.change(rows, make(nodes.select(rows)))
        entry.position = changes.position
        return True
