"""The tables of feasible nodes: the same object for the same nodes, so that what was worked out for it can be used
again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.framework import FilterOutcome, NodeTable

#: When there are more, all are forgotten.
MAX_TABLES: Final = 64


class Selections:
    """Tables of a snapshot's nodes."""

    def __init__(self, snapshot: CacheSnapshot) -> None:
        self._snapshot = snapshot
        #: That which the tables are of: rows are renumbered when a node goes.
        self._membership = snapshot.membership
        #: By the mask of their nodes.
        self._tables: dict[bytes, NodeTable] = {}

    def passed(self, outcome: FilterOutcome) -> NodeTable:
        """The nodes that passed, of an outcome about all nodes of the snapshot."""
        if outcome.rejects_none:
            return outcome.nodes
        combined = outcome.combined
        if combined is None:
            return outcome.nodes if outcome.feasible.all() else self._table(outcome)
        if combined.passed is None:
            combined.passed = self._table(outcome)  # not all of them: somebody rejected one
        return combined.passed

    def _table(self, outcome: FilterOutcome) -> NodeTable:
        if self._membership != self._snapshot.membership or len(self._tables) > MAX_TABLES:
            self._membership = self._snapshot.membership
            self._tables.clear()
        feasible = outcome.feasible
        key = feasible.tobytes()
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = outcome.nodes.select_where(feasible)
        return table
