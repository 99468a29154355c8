"""Evaluation: a profile's filters on the snapshot as it stands, and on what-ifs.

Feasibility uses it for all nodes, preemption for one node at a time with pods taken away. Nominated pods are
counted here, so that nobody has to think of them twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import (
    SUCCESS,
    CycleState,
    FilterOutcome,
    IntArray,
    NodeTable,
    Nominator,
    Runner,
    Search,
    Status,
)
from bayplan.framework.flat_pods import FlatPods

if TYPE_CHECKING:
    from bayplan.cache.amounts import AmountsTable
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.cache.store import WhatIf
    from bayplan.model import Pod

#: Nodes with nominated pods up to which one by one is cheaper than all at once.
FEW_CONTESTED: Final = 2


class ProfileEvaluation:
    """Implements `framework.Evaluation`."""

    def __init__(self, runner: Runner, snapshot: CacheSnapshot, nominator: Nominator) -> None:
        self._runner = runner
        self._snapshot = snapshot
        self._nominator = nominator
        self._moves: WhatIf | None = None

    # --- all nodes --------------------------------------------------------------------------------

    def filter(self, state: CycleState, pod: Pod, nodes: NodeTable, search: Search | None = None) -> FilterOutcome:
        """Every Filter plugin on every node of the table, nominated pods counted."""
        outcome = self._runner.filter(state, pod, nodes, search)
        if outcome.error is not None:
            return outcome
        contested = {
            position: (node_name, rivals)
            for node_name in self._nominator.nodes()
            if (position := nodes.position(node_name)) is not None and (rivals := self._rivals(pod, node_name))
        }
        if len(contested) > FEW_CONTESTED and self.judges_by_amounts(state):
            crowded = self.amounts_what_if(state, pod, nodes.rows, ()).filter_with_rivals()
            if crowded.error is None:
                return crowded.then(outcome)
        for position, (node_name, rivals) in contested.items():
            # A node must fit with the nominated pods there, and also without them.
            status = self._filter_with(state, pod, node_name, rivals)
            if status.is_rejection:
                outcome.override(position, status)
            elif not status.is_success:
                outcome.error = status
        return outcome

    def _rivals(self, pod: Pod, node_name: str) -> Sequence[Pod]:
        """Nominated pods that *pod* must leave room for."""
        return [
            other
            for other in self._nominator.nominated(node_name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def _filter_with(self, state: CycleState, pod: Pod, node_name: str, rivals: Sequence[Pod]) -> Status:
        with self.what_if():
            scratch = state.clone()
            for rival in rivals:
                status = self.move_pod(scratch, pod, rival, node_name, add=True)
                if not status.is_success:
                    return status
            return self._filter_as_it_stands(scratch, pod, node_name)

    # --- one node ---------------------------------------------------------------------------------

    def filter_node(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        rivals = self._rivals(pod, node_name)
        if rivals:
            status = self._filter_with(state, pod, node_name, rivals)
            if not status.is_success:
                return status
        return self._filter_as_it_stands(state, pod, node_name)

    def _filter_as_it_stands(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        row = self._snapshot.row(node_name)
        outcome = self._runner.filter(state, pod, self._snapshot.nodes.select(np.array([row], dtype=np.int64)))
        return outcome.error or outcome.status(0) or SUCCESS

    # --- many nodes -------------------------------------------------------------------------------

    def judges_by_amounts(self, state: CycleState) -> bool:
        return self._runner.filters_by_amounts(state)

    def amounts_what_if(
        self, state: CycleState, pod: Pod, rows: IntArray, kinds: Sequence[Pod]
    ) -> ProfileAmountsWhatIf:
        positions, rivals = self._rivals_at(pod, rows)
        nodes = self._snapshot.with_amounts(rows, [*kinds, *rivals.exemplars])
        return ProfileAmountsWhatIf(
            self._runner, state.clone(), pod, nodes, positions[rivals.of_node], len(kinds) + rivals.kinds
        )

    def _rivals_at(self, pod: Pod, rows: IntArray) -> tuple[IntArray, FlatPods]:
        """Where in *rows* there are nominated pods that *pod* must leave room for, and which."""
        by_row = {
            row: rivals
            for node_name in self._nominator.nodes()
            if (row := self._snapshot.row(node_name)) is not None and (rivals := self._rivals(pod, node_name))
        }
        position_of = np.full(len(self._snapshot.nodes), -1, dtype=np.int64)
        position_of[rows] = np.arange(len(rows))
        positions = position_of[list(by_row)] if by_row else np.empty(0, dtype=np.int64)
        is_there = positions >= 0
        there = [rivals for rivals, here in zip(by_row.values(), is_there.tolist(), strict=True) if here]
        return positions[is_there], FlatPods(there)

    # --- what-if ----------------------------------------------------------------------------------

    @contextmanager
    def what_if(self) -> Iterator[None]:
        outer = self._moves
        with self._snapshot.what_if() as moves:
            self._moves = moves
            try:
                yield
            finally:
                self._moves = outer

    def move_pod(self, state: CycleState, pod: Pod, moved: Pod, node_name: str, *, add: bool) -> Status:
        if self._moves is None:
            raise RuntimeError("pods can be moved only within what_if()")
        row = self._snapshot.row(node_name)
        if row is None:
            return Status.failed(f'node "{node_name}" is not in the snapshot')
        tell = self._runner.add_pod if add else self._runner.remove_pod
        (self._moves.add if add else self._moves.remove)(row, moved)
        return tell(state, pod, moved, self._snapshot.nodes[row])


class ProfileAmountsWhatIf:
    """Implements `framework.AmountsWhatIf`."""

    def __init__(
        self,
        runner: Runner,
        state: CycleState,
        pod: Pod,
        nodes: AmountsTable,
        rivals_at: IntArray,
        rivals: IntArray,
    ) -> None:
        """*rivals*: the kinds of the nominated pods that count, *rivals_at* where they are nominated."""
        self._runner = runner
        self._state = state
        self._pod = pod
        self._nodes = nodes
        self._rivals = rivals_at, rivals
        self.add = nodes.add
        self.remove = nodes.remove

    def filter(self) -> FilterOutcome:
        alone = self._runner.filter(self._state, self._pod, self._nodes)
        if alone.error is not None or not len(self._rivals[0]):
            return alone
        crowded = self.filter_with_rivals()
        return crowded if crowded.error is not None else crowded.then(alone)

    def filter_with_rivals(self) -> FilterOutcome:
        """As if the nominated pods were there."""
        self.add(*self._rivals)
        outcome = self._runner.filter(self._state, self._pod, self._nodes)
        self.remove(*self._rivals)
        return outcome
