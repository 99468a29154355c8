"""Evaluation: a profile's filters on the snapshot as it stands, and on what-ifs.

Feasibility uses it for all nodes, preemption for one node at a time with pods taken away. Nominated pods are
counted here, so that nobody has to think of them twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
from bayplan.framework.kept_rows import KeptRows, are_same

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
        promised = self._nominator.nodes()
        if promised and outcome.error is None:
            names = promised if len(promised) < len(nodes) else nodes.names.tolist()
            rivals = self._rivals_at(pod, [name for name in names if nodes.position(name) is not None])
            self._recheck(state, pod, rivals, outcome)
        return outcome

    def _recheck(
        self, state: CycleState, pod: Pod, rivals: Mapping[int, Sequence[Pod]], outcome: FilterOutcome
    ) -> None:
        """A node must fit with the nominated pods there, and also without them."""
        names = self._snapshot.nodes.names
        together = self._with_rivals(state, pod, rivals) if rivals else {}
        for row, others in rivals.items():
            status = together.get(row)
            if status is None:
                status = self._filter_with(state, pod, names[row], others)
            if status.is_rejection:
                position = outcome.nodes.position(names[row])
                assert position is not None  # noqa: S101  it is one of the table's
                outcome.override(position, status)
            elif not status.is_success:
                outcome.error = status

    def _with_rivals(
        self, state: CycleState, pod: Pod, rivals: Mapping[int, Sequence[Pod]]
    ) -> Mapping[int, Status]:
        """Row → what Filter says of the node with the rivals there, many nodes at once; nothing where one by one
        is the only way."""
        if not self.judges_by_amounts(state):
            return {}
        kept = self._kept_rows(state, pod, "rivals")
        statuses = {
            row: known[1]
            for row, others in rivals.items()
            if kept is not None and (known := kept.get(row)) is not None and are_same(known[0], others)
        }
        unknown = [row for row in rivals if row not in statuses]
        if unknown:
            outcome = self.amounts_what_if(
                state, pod, np.array(unknown, dtype=np.int64), (), rivals
            ).filter_rivals()
            if outcome.error is not None:
                return {}
            for position, row in enumerate(unknown):
                statuses[row] = outcome.status(position) or SUCCESS
                if kept is not None:
                    kept[row] = rivals[row], statuses[row]
        return statuses

    def waits_for(self, pod: Pod) -> Sequence[Pod]:
        return self._runner.waits_for(pod)

    def rivals(self, pod: Pod) -> Mapping[int, Sequence[Pod]]:
        return self._rivals_at(pod, self._nominator.nodes())

    def _rivals_at(self, pod: Pod, node_names: Iterable[str]) -> dict[int, Sequence[Pod]]:
        found: dict[int, Sequence[Pod]] = {}
        for node_name in node_names:
            row = self._snapshot.row(node_name)
            if row is not None and (rivals := self._rivals(pod, node_name)):
                found[row] = rivals
        return found

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

    def kept_dry_runs(self, state: CycleState, pod: Pod) -> dict[int, Any] | None:
        return self._kept_rows(state, pod, "dry runs")

    def _kept_rows(self, state: CycleState, pod: Pod, what: str) -> dict[int, Any] | None:
        """Row → *what* was found there for pods like *pod*, as long as it holds."""
        template = state.template
        if template is None or not self._runner.filters_each_alone(state, pod):
            return None
        kept: KeptRows[Any] | None = template.kept.get(what)
        if kept is None:
            kept = template.kept[what] = KeptRows(self._snapshot.usage_changes)
        return kept.current()

    def amounts_what_if(
        self,
        state: CycleState,
        pod: Pod,
        rows: IntArray,
        kinds: Sequence[Pod],
        rivals: Mapping[int, Sequence[Pod]],
    ) -> ProfileAmountsWhatIf:
        there = [(i, rival) for i, row in enumerate(rows.tolist()) if row in rivals for rival in rivals[row]]
        nodes = self._snapshot.with_amounts(rows, (*kinds, *(rival for _, rival in there)))
        numbers = np.arange(len(kinds), len(kinds) + len(there))
        positions = np.array([i for i, _ in there], dtype=np.int64)
        return ProfileAmountsWhatIf(self._runner, state.clone(), pod, nodes, (positions, numbers))

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
        rivals: tuple[IntArray, IntArray],
    ) -> None:
        """*rivals*: the positions of pods that are promised nodes, and their kinds."""
        self._runner = runner
        self._state = state
        self._pod = pod
        self._nodes = nodes
        self._rivals = rivals
        self.add = nodes.add
        self.remove = nodes.remove

    def filter(self) -> FilterOutcome:
        alone = self._runner.filter(self._state, self._pod, self._nodes)
        if alone.error is not None or not len(self._rivals[0]):
            return alone
        crowded = self.filter_rivals()
        if crowded.error is not None:
            return crowded
        for position in set(self._rivals[0].tolist()):
            if (status := crowded.status(position)) is not None:
                alone.override(position, status)
        return alone

    def filter_rivals(self) -> FilterOutcome:
        """The same with the rivals there; nodes must fit without them as well."""
        self.add(*self._rivals)
        outcome = self._runner.filter(self._state, self._pod, self._nodes)
        self.remove(*self._rivals)
        return outcome
