"""ProfileEvaluation: a profile's filters on the snapshot and on what-ifs, nominated pods counted.

The scheduling cycle uses it for all nodes, preemption for nodes with some of their pods removed.
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
    ScoreOutcome,
    SearchPlan,
    Status,
)
from bayplan.framework.row_cache import RowCache, are_same_objects

if TYPE_CHECKING:
    from bayplan.cache import CacheSnapshot
    from bayplan.cache.node_store import WhatIf
    from bayplan.cache.what_if_table import WhatIfTable
    from bayplan.model import Pod


class ProfileEvaluation:
    """Implements `framework.Evaluation`."""

    def __init__(self, runner: Runner, snapshot: CacheSnapshot, nominator: Nominator) -> None:
        self._runner = runner
        self._snapshot = snapshot
        self._nominator = nominator
        self._moves: WhatIf | None = None
        self._is_scoring = False

    # --- all nodes --------------------------------------------------------------------------------

    def filter(
        self, state: CycleState, pod: Pod, nodes: NodeTable, search: SearchPlan | None = None
    ) -> FilterOutcome:
        """Every Filter plugin on every node of the table, nominated pods counted."""
        return self.with_nominated_pods(state, pod, self._runner.filter(state, pod, nodes, search))

    def with_nominated_pods(self, state: CycleState, pod: Pod, outcome: FilterOutcome) -> FilterOutcome:
        """*outcome*, changed where the pod does not fit a node together with the pods nominated for it.

        A node must fit with its nominated pods and also without them.
        """
        nodes, with_nominated = outcome.nodes, self._nominator.nodes()
        if with_nominated and outcome.error is None:
            names = with_nominated if len(with_nominated) < len(nodes) else nodes.names.tolist()
            nominated = self._nominated_at(pod, [name for name in names if nodes.position(name) is not None])
            self._recheck(state, pod, nominated, outcome)
        return outcome

    def _recheck(
        self, state: CycleState, pod: Pod, nominated: Mapping[int, Sequence[Pod]], outcome: FilterOutcome
    ) -> None:
        """Filter the nodes again with the pods nominated for them (row → pods)."""
        names = self._snapshot.nodes.names
        batched = self._filter_batch(state, pod, nominated) if nominated else {}
        for row, others in nominated.items():
            status = batched.get(row)
            if status is None:
                status = self._filter_with(state, pod, names[row], others)
            if status.is_rejection:
                position = outcome.nodes.position(names[row])
                assert position is not None  # noqa: S101  it is one of the table's
                outcome.override(position, status)
            elif not status.is_success:
                outcome.error = status

    def _filter_batch(
        self, state: CycleState, pod: Pod, nominated: Mapping[int, Sequence[Pod]]
    ) -> Mapping[int, Status]:
        """Row → the result of Filter with the nominated pods there, for many nodes at once; empty if the filters
        do not allow that."""
        if not self.judges_by_amounts(state):
            return {}
        cached = self._cached_rows(state, pod, "nominated pods")
        statuses = {
            row: known[1]
            for row, others in nominated.items()
            if cached is not None and (known := cached.get(row)) is not None and are_same_objects(known[0], others)
        }
        unknown = [row for row in nominated if row not in statuses]
        if unknown:
            rows = np.array(unknown, dtype=np.int64)
            outcome = self.amounts_what_if(state, pod, rows, (), nominated).filter_with_nominated()
            if outcome.error is not None:
                return {}
            for position, row in enumerate(unknown):
                statuses[row] = outcome.status(position) or SUCCESS
                if cached is not None:
                    cached[row] = nominated[row], statuses[row]
        return statuses

    def waits_for(self, pod: Pod) -> Sequence[Pod]:
        return self._runner.waits_for(pod)

    def nominated_pods(self, pod: Pod) -> Mapping[int, Sequence[Pod]]:
        return self._nominated_at(pod, self._nominator.nodes())

    def _nominated_at(self, pod: Pod, node_names: Iterable[str]) -> dict[int, Sequence[Pod]]:
        found: dict[int, Sequence[Pod]] = {}
        for node_name in node_names:
            row = self._snapshot.row(node_name)
            if row is not None and (nominated := self._nominated_on(pod, node_name)):
                found[row] = nominated
        return found

    def _nominated_on(self, pod: Pod, node_name: str) -> Sequence[Pod]:
        """The pods nominated for the node that *pod* must leave room for."""
        return [
            other
            for other in self._nominator.nominated(node_name)
            if other.priority >= pod.priority and other.uid != pod.uid
        ]

    def _filter_with(self, state: CycleState, pod: Pod, node_name: str, nominated: Sequence[Pod]) -> Status:
        with self.what_if():
            scratch = state.clone()
            for other in nominated:
                status = self.move_pod(scratch, pod, other, node_name, add=True)
                if not status.is_success:
                    return status
            return self._filter_as_it_stands(scratch, pod, node_name)

    # --- scores -----------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status:
        return self._runner.pre_score(state, pod, nodes)

    def score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreOutcome | Status:
        if self._is_scoring:
            raise RuntimeError(
                "handle.evaluation is scoring already: a Score plugin cannot ask for the scores of all plugins, "
                "its own among them"
            )
        self._is_scoring = True
        try:
            return self._runner.score_directly(state, pod, nodes)
        finally:
            self._is_scoring = False

    def rank(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreOutcome | Status:
        scratch = state.clone()
        scratch.skip_score.clear()  # PreScore returned SKIP for other nodes
        status = self.pre_score(scratch, pod, nodes)
        return self.score(scratch, pod, nodes) if status.is_success else status

    # --- one node ---------------------------------------------------------------------------------

    def filter_node(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        nominated = self._nominated_on(pod, node_name)
        if nominated:
            status = self._filter_with(state, pod, node_name, nominated)
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

    def cached_dry_runs(self, state: CycleState, pod: Pod) -> dict[int, Any] | None:
        return self._cached_rows(state, pod, "dry runs")

    def _cached_rows(self, state: CycleState, pod: Pod, what: str) -> dict[int, Any] | None:
        """Row → the cached results of kind *what* for the pod's equivalence class."""
        pod_class = state.equivalence_class
        if pod_class is None or not self._runner.filters_each_alone(state, pod):
            return None
        cached: RowCache[Any] | None = pod_class.cached.get(what)
        if cached is None:
            cached = pod_class.cached[what] = RowCache(self._snapshot.usage_changes)
        return cached.current()

    def amounts_what_if(
        self,
        state: CycleState,
        pod: Pod,
        rows: IntArray,
        kinds: Sequence[Pod],
        nominated: Mapping[int, Sequence[Pod]],
    ) -> ProfileAmountsWhatIf:
        there = [(i, other) for i, row in enumerate(rows.tolist()) for other in nominated.get(row, ())]
        nodes = self._snapshot.with_amounts(rows, (*kinds, *(other for _, other in there)))
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
        notify = self._runner.add_pod if add else self._runner.remove_pod
        (self._moves.add if add else self._moves.remove)(row, moved)
        return notify(state, pod, moved, self._snapshot.nodes[row])


class ProfileAmountsWhatIf:
    """Implements `framework.AmountsWhatIf`."""

    def __init__(
        self,
        runner: Runner,
        state: CycleState,
        pod: Pod,
        nodes: WhatIfTable,
        nominated: tuple[IntArray, IntArray],
    ) -> None:
        """*nominated*: the positions of the nodes of nominated pods, and the kinds of these pods."""
        self._runner = runner
        self._state = state
        self._pod = pod
        self._nodes = nodes
        self._nominated = nominated
        self.add = nodes.add
        self.remove = nodes.remove

    def filter(self) -> FilterOutcome:
        alone = self._runner.filter(self._state, self._pod, self._nodes)
        if alone.error is not None or not len(self._nominated[0]):
            return alone
        with_nominated = self.filter_with_nominated()
        if with_nominated.error is not None:
            return with_nominated
        for position in set(self._nominated[0].tolist()):
            if (status := with_nominated.status(position)) is not None:
                alone.override(position, status)
        return alone

    def filter_with_nominated(self) -> FilterOutcome:
        """Filter with the nominated pods on their nodes. Nodes must fit without them as well."""
        self.add(*self._nominated)
        outcome = self._runner.filter(self._state, self._pod, self._nodes)
        self.remove(*self._nominated)
        return outcome
