"""Searching: filtering with plugins that look at nodes one at a time, no further than is needed.

A per-node filter costs about a microsecond a node, so the search stops when enough feasible nodes are found, as
kube-scheduler's does. Columns are worked out for all nodes first; a per-node filter is then asked only about nodes
that no column rejects. Where the search finds too few, it is asked about the others too, as far as its word would
come first, so that every node has the reason that it has in kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bayplan.framework.calls import Bound
from bayplan.framework.nodes import NodeTable
from bayplan.framework.outcomes import Decided, FilterOutcome
from bayplan.framework.status import Status
from bayplan.framework.verdict import IntArray, Verdict


class Search(NamedTuple):
    """Where to look, and after how many feasible nodes to stop."""

    #: Positions of the table, in the order in which they are looked at.
    order: IntArray
    wanted: int


class Searching:
    """One search over one table."""

    def __init__(
        self,
        filters: Sequence[Bound],
        nodes: NodeTable,
        ask_column: Callable[[Bound], Verdict | Status],
        ask_node: Callable[[Bound, int], Status],
    ) -> None:
        self._filters = filters
        self._nodes = nodes
        self._ask_column = ask_column
        self._ask_node = ask_node
        self._columns: dict[str, Verdict] = {}
        self._statuses: dict[str, dict[int, Status]] = {bound.name: {} for bound in filters if bound.is_per_node}
        #: A failure ends the search: the plugin and what it said.
        self.failed: tuple[Bound, Status] | None = None

    def run(self, search: Search) -> FilterOutcome:
        n_nodes = len(self._nodes)
        outcome = FilterOutcome(self._nodes, np.zeros(n_nodes, dtype=np.bool_), [])
        is_open = np.ones(n_nodes, dtype=np.bool_)
        for bound in self._filters:
            if not bound.is_per_node and not self._add_column(bound):
                return outcome
        for verdict in self._columns.values():
            is_open &= ~verdict.rejected
        n_found = 0
        for n_seen, position in enumerate(search.order.tolist()):
            if not is_open[position] or not self._passes(position, len(self._filters)):
                if self.failed is not None:
                    return outcome
                continue
            if n_found == search.wanted:
                # Like kube-scheduler, the search notices that it has enough at the next feasible node.
                outcome.n_seen = n_seen
                break
            outcome.feasible[position] = True
            n_found += 1
        else:
            self._ask_about_the_closed(np.flatnonzero(~is_open).tolist())
        outcome.decided = self._decided(outcome)
        return outcome

    def _add_column(self, bound: Bound) -> bool:
        verdict = self._ask_column(bound)
        if isinstance(verdict, Status):
            self.failed = bound, verdict
            return False
        if (failure := verdict.failure(np.ones(len(self._nodes), dtype=np.bool_))) is not None:
            self.failed = bound, failure
            return False
        self._columns[bound.name] = verdict
        return True

    def _passes(self, position: int, n_filters: int) -> bool:
        """Whether no per-node filter among the first *n_filters* rejects the node."""
        for bound in self._filters[:n_filters]:
            if bound.is_per_node and position not in self._statuses[bound.name]:
                status = self._ask_node(bound, position)
                if status.is_rejection:
                    self._statuses[bound.name][position] = status.by(bound.name)
                    return False
                if not status.is_success:
                    self.failed = bound, status
                    return False
        return True

    def _ask_about_the_closed(self, positions: Sequence[int]) -> None:
        """A per-node filter that comes before the column that rejected a node might have rejected it first."""
        for position in positions:
            first = next(
                i
                for i, bound in enumerate(self._filters)
                if not bound.is_per_node and self._columns[bound.name].rejected[position]
            )
            self._passes(position, first)

    def _decided(self, outcome: FilterOutcome) -> list[Decided]:
        undecided = ~outcome.feasible
        decided = []
        for bound in self._filters:
            verdict = (
                Verdict(len(self._nodes), statuses=self._statuses[bound.name])
                if bound.is_per_node
                else self._columns[bound.name]
            )
            first = verdict.rejected & undecided
            if first.any():
                decided.append(Decided(bound.name, verdict, first))
                undecided &= ~first
        return decided
