"""Searching: filtering with plugins that look at nodes one at a time, no further than is needed.

A per-node filter costs about a microsecond a node, so the search stops when enough feasible nodes are found, as
kube-scheduler's does. Columns are worked out for all nodes first; a per-node filter is then asked only about nodes
that no column rejects. Where the search finds too few, it is asked about the others too, as far as its word would
come first, so that every node has the reason that it has in kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayplan.framework.calls import Bound, as_status
from bayplan.framework.nodes import NodeInfo, NodeTable
from bayplan.framework.outcomes import Decided, FilterOutcome
from bayplan.framework.status import Status
from bayplan.framework.verdict import BoolArray, IntArray, Verdict


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
        asker: Callable[[Bound], Callable[[NodeInfo], Any]],
    ) -> None:
        self._filters = filters
        self._nodes = nodes
        self._ask_column = ask_column
        self._columns: dict[str, Verdict] = {}
        self._statuses: dict[str, dict[int, Status]] = {bound.name: {} for bound in filters if bound.is_per_node}
        #: The place of every per-node filter among all of them, the filter, and the way to ask it.
        self._per_node = [(i, bound, asker(bound)) for i, bound in enumerate(filters) if bound.is_per_node]
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
            if not verdict.accepts_all:
                is_open &= ~verdict.rejected
        found: list[int] = []
        for n_seen, position in _in_turn(search, is_open):
            if not self._passes(position, len(self._filters)):
                if self.failed is not None:
                    return outcome
                continue
            if len(found) == search.wanted:
                # Like kube-scheduler, the search notices that it has enough at the next feasible node.
                outcome.n_seen = n_seen
                break
            found.append(position)
        else:
            self._ask_about_the_closed(np.flatnonzero(~is_open).tolist())
        outcome.feasible[found] = True
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
        node = self._nodes[position]
        for i, bound, ask in self._per_node:
            if i >= n_filters or (answer := ask(node)) is None:
                continue
            status = as_status(bound, answer)
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
            if verdict.accepts_all:
                continue
            first = verdict.rejected & undecided
            if first.any():
                decided.append(Decided(bound.name, verdict, first))
                undecided &= ~first
        return decided


def _in_turn(search: Search, is_open: BoolArray) -> Iterator[tuple[int, int]]:
    """How many nodes come before, and the position, of every open node in the order of the search."""
    places = np.flatnonzero(is_open[search.order])
    # Most searches end soon, so the lists are made in parts.
    for begin in range(0, len(places), search.wanted + 1):
        part = places[begin : begin + search.wanted + 1]
        yield from zip(part.tolist(), search.order[part].tolist(), strict=True)
