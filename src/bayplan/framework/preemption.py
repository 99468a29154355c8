"""Preemption: which pods to evict so that a pod fits, and from which node.

Comes in: a pod that fits nowhere and what each node said. Goes out: the best candidate with its victims, or
why there is none. Nothing is evicted here. A plugin with other rules about who may be evicted derives from
`Preemption` and overrides `is_victim` or `select_victims`. Where the pod's filters allow it the dry runs are made
on many nodes at once (`preemption_batch`), with the same result; overriding `select_victims` rules that out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from bayplan.framework.candidates import Candidate, Considered, Search, Victims, rank_of
from bayplan.framework.diagnosis import Diagnosis, none_available
from bayplan.framework.disruption import split_by_budget
from bayplan.framework.nodes import NodeInfo
from bayplan.framework.plugin import PostFilterResult
from bayplan.framework.preemption_batch import BatchedDryRuns
from bayplan.framework.state import CycleState
from bayplan.framework.status import Code, Status
from bayplan.framework.verdict import IntArray
from bayplan.model import Pod, PodDisruptionBudget, importance_key

if TYPE_CHECKING:
    from bayplan.framework.handle import Handle

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


class Preemption:
    """kube-scheduler's preemption for one pod at a time."""

    def __init__(
        self,
        handle: Handle,
        *,
        min_candidate_nodes_percentage: int,
        min_candidate_nodes_absolute: int,
        seed: int | None = None,
    ) -> None:
        self._handle = handle
        self._percentage = min_candidate_nodes_percentage
        self._absolute = min_candidate_nodes_absolute
        self._random = random.Random(seed)  # noqa: S311  where to begin looking, not a secret

    # --- what a policy may change -----------------------------------------------------------------

    def is_victim(self, node: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        """Whether *preemptor* may evict *victim*. May be asked about more nodes than are considered in the end."""
        return victim.priority < preemptor.priority

    def why_not_eligible(self, pod: Pod, diagnosis: Diagnosis) -> str:
        """Why *pod* may not preempt now; empty if it may."""
        if pod.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        nominated = pod.status.nominated_node_name
        if not nominated or diagnosis.status(nominated).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        position = self._handle.snapshot.nodes.position(nominated)
        if position is not None:
            node = self._handle.snapshot.nodes[position]
            if any(self.is_victim(node, other, pod) and _is_being_preempted(other) for other in node.pods):
                return "not eligible due to a terminating pod on the nominated node."
        return ""

    # --- the whole of it --------------------------------------------------------------------------

    def preempt(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterResult:
        if reason := self.why_not_eligible(pod, diagnosis):
            return PostFilterResult(None, Status.unschedulable(reason))
        candidates, refused = considered = self._find_candidates(state, pod, diagnosis)
        if not candidates:
            errors = [status.message for status in refused.values() if status.code is Code.ERROR]
            if errors:
                return PostFilterResult(None, Status.failed(_joined(errors)), detail=considered)
            message = _not_helpful(len(diagnosis.nodes), refused)
            return PostFilterResult("", Status.unschedulable(message), detail=considered)
        best = min(candidates, key=lambda candidate: candidate.rank)
        return PostFilterResult(best.node_name, Status.success(), best.victims.pods, considered)

    def _find_candidates(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> Considered:
        """Dry runs on the nodes where evicting pods may help, until there are enough candidates."""
        rows = diagnosis.rows_with(Code.UNSCHEDULABLE)
        search = Search(self._n_candidates(len(rows)))
        if len(rows):
            order = np.roll(rows, -self._random.randrange(len(rows)))
            dry_runs = self._dry_runs(state, pod)
            while len(order) and not search.is_over:
                chunk, order = np.split(order, [search.n_next])
                for node_name, found in dry_runs(chunk):
                    search.note(node_name, found)
                    if search.is_over:
                        break
        return Considered(search.candidates, search.refused)

    def _n_candidates(self, n_nodes: int) -> int:
        return min(max(n_nodes * self._percentage // 100, self._absolute), n_nodes)

    def _dry_runs(self, state: CycleState, pod: Pod) -> BatchedDryRuns | OneByOne:
        """Many nodes at once if that comes to the same."""
        one_by_one = OneByOne(self, self._handle, state, pod)
        is_ours = type(self).select_victims is Preemption.select_victims
        if is_ours and self._handle.evaluation.judges_by_amounts(state):
            return BatchedDryRuns(self, self._handle, one_by_one)
        return one_by_one

    def select_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo, budgets: Sequence[PodDisruptionBudget]
    ) -> Victims | Status:
        """The fewest and least important pods of *node* to evict; a Status if that does not help."""
        # 1. Without all pods that may go, the pod must fit.
        potential = [other for other in node.pods if self.is_victim(node, other, pod)]
        for other in potential:
            if not (status := self._move(state, pod, other, node, add=False)).is_success:
                return status
        if not potential:
            return NO_VICTIMS
        status = self._handle.evaluation.filter_node(state, pod, node.name)
        if not status.is_success:
            return status
        # 2. Spare as many as possible: first those whose budget would be violated, the most important first.
        now = self._now()
        potential.sort(key=lambda other: importance_key(other, now))
        protected, others = split_by_budget(potential, budgets)
        protected_uids = {other.uid for other in protected}
        victims: list[Pod] = []
        n_violations = 0
        for other in (*protected, *others):
            spared = self._spare(state, pod, other, node)
            if isinstance(spared, Status):
                return spared
            if not spared:
                victims.append(other)
                n_violations += other.uid in protected_uids
        if protected and others:
            victims.sort(key=lambda other: importance_key(other, now))
        return Victims(tuple(victims), n_violations)

    def _spare(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> bool | Status:
        """Put *other* back if the pod fits beside it."""
        if not (status := self._move(state, pod, other, node, add=True)).is_success:
            return status
        if self._handle.evaluation.filter_node(state, pod, node.name).is_success:
            return True
        status = self._move(state, pod, other, node, add=False)
        return False if status.is_success else status

    def _move(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo, *, add: bool) -> Status:
        return self._handle.evaluation.move_pod(state, pod, other, node.name, add=add)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._handle.clock.now(), UTC)
