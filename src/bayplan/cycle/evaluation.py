"""Evaluation: a profile's filters on the snapshot as it stands, and on what-ifs.

Feasibility uses it for all nodes, preemption for one node at a time with pods taken away. Nominated pods are
counted here, so that nobody has to think of them twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from bayplan.cache.amounts import AmountsTable
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.cache.store import WhatIf
    from bayplan.model import Pod


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
        if outcome.error is None:
            for node_name in self._nominator.nodes():
                position = nodes.position(node_name)
                if position is not None:
                    self._recheck(state, pod, node_name, position, outcome)
        return outcome

    def _recheck(self, state: CycleState, pod: Pod, node_name: str, position: int, outcome: FilterOutcome) -> None:
        """A node must fit with the nominated pods there, and also without them."""
        rivals = self._rivals(pod, node_name)
        if not rivals:
            return
        status = self._filter_with(state, pod, node_name, rivals)
        if status.is_rejection:
            outcome.override(position, status)
        elif not status.is_success:
            outcome.error = status

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

    def contested_nodes(self, pod: Pod) -> Set[str]:
        return {node_name for node_name in self._nominator.nodes() if self._rivals(pod, node_name)}

    def amounts_what_if(
        self, state: CycleState, pod: Pod, rows: IntArray, kinds: Sequence[Pod]
    ) -> ProfileAmountsWhatIf:
        return ProfileAmountsWhatIf(self._runner, state.clone(), pod, self._snapshot.with_amounts(rows, kinds))

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

    def __init__(self, runner: Runner, state: CycleState, pod: Pod, nodes: AmountsTable) -> None:
        self._runner = runner
        self._state = state
        self._pod = pod
        self._nodes = nodes
        self.add = nodes.add
        self.remove = nodes.remove

    def filter(self) -> FilterOutcome:
        return self._runner.filter(self._state, self._pod, self._nodes)
