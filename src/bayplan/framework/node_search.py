"""Filter with plugins that look at nodes one at a time, until enough feasible nodes are found.

A per-node filter costs about a microsecond per node, so the search stops when it has found enough feasible nodes,
as kube-scheduler's does. Column filters run on all nodes first; a per-node filter then runs only on the nodes that
no column rejects. If the search finds too few, it also runs on the nodes that a later column filter rejected, so
that every node gets the reason that it has in kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bayplan.framework.calls import PluginMethod, as_status
from bayplan.framework.nodes import NodeInfo, NodeTable
from bayplan.framework.status import Status
from bayplan.framework.verdict import BoolArray, Decided, FilterOutcome, IntArray, Verdict

#: A per-node filter, and the function that calls it for a node.
NodeFilter: TypeAlias = tuple[PluginMethod, Callable[[NodeInfo], Any]]


class SearchPlan(NamedTuple):
    """The order in which to evaluate nodes, and after how many feasible nodes to stop."""

    #: Positions of the table, in the order in which they are evaluated.
    order: IntArray
    wanted: int


class NodeSearch:
    """One search over one table."""

    def __init__(
        self,
        filters: Sequence[PluginMethod],
        nodes: NodeTable,
        column_verdict: Callable[[PluginMethod], Verdict | Status],
        node_caller: Callable[[PluginMethod], Callable[[NodeInfo], Any]],
    ) -> None:
        self._filters = filters
        self._nodes = nodes
        self._column_verdict = column_verdict
        self._columns: dict[str, Verdict] = {}
        self._statuses: dict[str, dict[int, Status]] = {
            method.name: {} for method in filters if method.is_per_node
        }
        self._per_node = [(method, node_caller(method)) for method in filters if method.is_per_node]
        #: The plugin that failed and its status; a failure ends the search.
        self.failed: tuple[PluginMethod, Status] | None = None

    def run(self, search: SearchPlan) -> FilterOutcome:
        n_nodes = len(self._nodes)
        outcome = FilterOutcome(self._nodes, np.zeros(n_nodes, dtype=np.bool_), [])
        is_open = np.ones(n_nodes, dtype=np.bool_)
        for method in self._filters:
            if not method.is_per_node and not self._add_column(method):
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
            self._filter_closed_nodes(np.flatnonzero(~is_open).tolist())
        outcome.feasible[found] = True
        outcome.decided = self._decided(outcome)
        return outcome

    def _add_column(self, method: PluginMethod) -> bool:
        verdict = self._column_verdict(method)
        if isinstance(verdict, Status):
            self.failed = method, verdict
            return False
        if (failure := verdict.failure(np.ones(len(self._nodes), dtype=np.bool_))) is not None:
            self.failed = method, failure
            return False
        self._columns[method.name] = verdict
        return True

    def _in_turn(self, search: SearchPlan, is_open: BoolArray) -> Iterator[tuple[int, int, NodeInfo]]:
        """Every open node in the order of the search: the number of nodes before it, its position, the node."""
        places = np.flatnonzero(is_open[search.order])
        # Most searches end early, so nodes are selected in chunks.
        for begin in range(0, len(places), search.wanted + 1):
            part = places[begin : begin + search.wanted + 1]
            positions = search.order[part]
            yield from zip(part.tolist(), positions.tolist(), self._nodes.select(positions), strict=True)

    def _passes(self, position: int, node: NodeInfo, filters: Sequence[NodeFilter]) -> bool:
        """Whether none of these per-node filters rejects the node."""
        for method, call in filters:
            result = call(node)
            if result is None:
                continue
            status = as_status(method, result)
            if status.is_rejection:
                self._statuses[method.name][position] = status.by(method.name)
                return False
            if not status.is_success:
                self.failed = method, status
                return False
        return True

    def _filter_closed_nodes(self, positions: Sequence[int]) -> None:
        """A per-node filter that comes before the column that rejected a node might have rejected it first."""
        node_filters = {node_filter[0].name: node_filter for node_filter in self._per_node}
        for position in positions:
            filters = []
            for method in self._filters:
                if method.is_per_node:
                    filters.append(node_filters[method.name])
                elif self._columns[method.name].rejected[position]:
                    break
            self._passes(position, self._nodes[position], filters)

    def _decided(self, outcome: FilterOutcome) -> list[Decided]:
        undecided = ~outcome.feasible
        decided = []
        for method in self._filters:
            verdict = (
                Verdict(len(self._nodes), statuses=self._statuses[method.name])
                if method.is_per_node
                else self._columns[method.name]
            )
            if verdict.accepts_all:
                continue
            first = verdict.rejected & undecided
            if first.any():
                decided.append(Decided(method.name, verdict, first))
                undecided &= ~first
        return decided
