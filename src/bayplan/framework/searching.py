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

#: A per-node filter, and the way to ask it.
Asking = tuple[Bound, Callable[[NodeInfo], Any]]


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
        self._per_node = [(bound, asker(bound)) for bound in filters if bound.is_per_node]
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
        for n_seen, position, node in self._in_turn(search, is_open):
            if not self._passes(position, node, self._per_node):
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

    def _in_turn(self, search: Search, is_open: BoolArray) -> Iterator[tuple[int, int, NodeInfo]]:
        """Every open node in the order of the search: how many nodes come before it, and its position."""
        places = np.flatnonzero(is_open[search.order])
        # Most searches end soon, so nodes are handed out in parts.
        for begin in range(0, len(places), search.wanted + 1):
            part = places[begin : begin + search.wanted + 1]
            positions = search.order[part]
            yield from zip(part.tolist(), positions.tolist(), self._nodes.select(positions), strict=True)

    def _passes(self, position: int, node: NodeInfo, asked: Sequence[Asking]) -> bool:
        """Whether none of these per-node filters rejects the node."""
        for bound, ask in asked:
            answer = ask(node)
            if answer is None:
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
        askings = {asking[0].name: asking for asking in self._per_node}
        for position in positions:
            asked = []
            for bound in self._filters:
                if bound.is_per_node:
                    asked.append(askings[bound.name])
                elif self._columns[bound.name].rejected[position]:
                    break
            self._passes(position, self._nodes[position], asked)

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
