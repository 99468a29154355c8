"""Feasible nodes: how many to look for (`percentageOfNodesToScore`), and the table of those that were found.

An explicit percentage means what it means in kube-scheduler. 0, the default, means kube-scheduler's adaptive
sample only where looking at a node is expensive: when some plugin looks at nodes one at a time, or extenders are
called. With columns, evaluating every node costs less than sampling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bayplan.framework import BoolArray, IntArray, SearchPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayplan.cache import CacheSnapshot
    from bayplan.framework import FilterOutcome, NodeTable
    from bayplan.framework.evaluator import Positions
    from bayplan.model import Pod

#: Picks one of the equally good nodes: a pod, a table, positions in it → one of the positions.
TieBreaker: TypeAlias = "Callable[[Pod, NodeTable, Positions], int]"

MIN_FEASIBLE_NODES: Final = 100  # upstream minFeasibleNodesToFind: keeps a minimum of spreading
MIN_PERCENTAGE: Final = 5  # upstream minFeasibleNodesPercentageToFind

#: When there are more cached tables, all are dropped.
MAX_TABLES: Final = 64


def n_feasible_wanted(n_nodes: int, percentage: int, *, samples: bool) -> int:
    """After how many feasible nodes the search may stop."""
    if n_nodes < MIN_FEASIBLE_NODES:
        return n_nodes
    if percentage == 0:
        if not samples:
            return n_nodes
        percentage = max(50 - n_nodes // 125, MIN_PERCENTAGE)
    return max(n_nodes * percentage // 100, MIN_FEASIBLE_NODES)


def first_feasible(feasible: BoolArray, search: SearchPlan) -> tuple[IntArray, int]:
    """The first feasible positions, as many as wanted, in search order, and how many nodes were looked at."""
    hits = np.flatnonzero(feasible[search.order])
    if len(hits) <= search.wanted:
        return search.order[hits], len(search.order)
    # Like kube-scheduler, the search notices that it has enough at the next feasible node.
    return search.order[hits[: search.wanted]], int(hits[search.wanted])


class NodeSampler:
    """Decides how many nodes of one profile's snapshot are evaluated for a pod, and which."""

    def __init__(self, snapshot: CacheSnapshot, percentage: int, *, is_expensive: bool, takes_first: bool) -> None:
        """*is_expensive*: looking at a node is; *takes_first*: one feasible node is enough."""
        self._snapshot = snapshot
        self._percentage = percentage
        self._is_expensive = is_expensive
        self._takes_first = takes_first
        #: Whether every node is evaluated for every pod.
        self.takes_all = not (percentage or is_expensive or takes_first)
        self._next_start = 0

    def plan(self, candidates: NodeTable) -> SearchPlan | None:
        """Where to begin and when to stop; None to evaluate all candidates."""
        n_nodes = len(candidates)
        wanted = n_feasible_wanted(n_nodes, self._percentage, samples=self._is_expensive)
        if self._takes_first:
            wanted = 1
        if wanted >= n_nodes:
            return None
        order = self._snapshot.search_order() if candidates.is_whole else np.arange(n_nodes)
        return SearchPlan(np.roll(order, -(self._next_start % n_nodes)), wanted)

    def sample(self, outcome: FilterOutcome, plan: SearchPlan) -> IntArray:
        """The positions of the feasible nodes to go on with; the next search begins where this one ended."""
        positions, n_seen = first_feasible(outcome.feasible, plan)
        n_seen = n_seen if outcome.n_seen is None else outcome.n_seen
        self._next_start = (self._next_start + n_seen) % len(self._snapshot.nodes)
        return positions


class FeasibleNodes:
    """Tables of feasible nodes. The same nodes give the same table object, so that columns cached for it are
    reused."""

    def __init__(self, snapshot: CacheSnapshot) -> None:
        self._snapshot = snapshot
        #: The node set that the tables belong to: rows are renumbered when a node is removed.
        self._node_set_version = snapshot.node_set_version
        #: By the mask of their nodes.
        self._tables: dict[bytes, NodeTable] = {}

    def of(self, outcome: FilterOutcome) -> NodeTable:
        """The feasible nodes, for an outcome about all nodes of the snapshot."""
        if outcome.rejects_none:
            return outcome.nodes
        merged = outcome.merged
        if merged is None:
            return outcome.nodes if outcome.feasible.all() else self._table(outcome)
        if merged.passed is None:
            merged.passed = self._table(outcome)
        return merged.passed

    def _table(self, outcome: FilterOutcome) -> NodeTable:
        if self._node_set_version != self._snapshot.node_set_version or len(self._tables) > MAX_TABLES:
            self._node_set_version = self._snapshot.node_set_version
            self._tables.clear()
        feasible = outcome.feasible
        key = feasible.tobytes()
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = outcome.nodes.select_where(feasible)
        return table
