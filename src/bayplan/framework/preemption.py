"""Preemption: which pods to evict so that a pod fits, and from which node.

In: a pod that fits no node, and the status of each node. Out: the best candidate with its victims, or
why there is none. Nothing is evicted here. A plugin with other rules about which pods may be evicted derives from
`Preemption` and overrides methods of the section "policy". Where the pod's filters allow it, the dry runs are made
on many nodes at once (`preemption_batch`), with the same result; a policy that overrides one of `ONE_BY_ONE` rules
that out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.candidates import (
    DEFAULT_RULES,
    EXTENDER_CANDIDATES,
    NO_VICTIMS,
    Candidate,
    CandidateList,
    DryRun,
    ExtenderCandidates,
    PreemptionReport,
    VictimRules,
    Victims,
    candidate_of,
    none_needed,
)
from bayplan.framework.nodes import NodeInfo
from bayplan.framework.plugin import PostFilterResult
from bayplan.framework.pod_disruption import split_by_budget
from bayplan.framework.preemption_batch import BatchedDryRun
from bayplan.framework.state import CycleState
from bayplan.framework.status import SUCCESS, Code, Status
from bayplan.framework.verdict import BoolArray, Diagnosis, IntArray, none_available
from bayplan.model import Pod, PodDisruptionBudget, importance_key, sort_by_importance

if TYPE_CHECKING:
    from bayplan.framework.handle import Handle


NO_CANDIDATE: Final = "no candidate node for preemption"
TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
#: Overriding one of these makes a dry run depend on more than the pods of its node.
ONE_BY_ONE: Final = ("take_away", "is_satisfied", "select_victims")
#: Overriding one of these makes a dry run depend on more than the pod's equivalence class, the node and its pods.
NOT_CACHED: Final = ("is_victim", "no_victims", "potential_victims")


class Preemption:
    """kube-scheduler's preemption for one pod at a time."""

    def __init__(
        self,
        handle: Handle,
        *,
        min_candidate_nodes_percentage: int,
        min_candidate_nodes_absolute: int,
        rules: VictimRules = DEFAULT_RULES,
    ) -> None:
        self._handle = handle
        self._rules = rules
        # Requested now, so that budgets are watched before the first pod is tried.
        self._budgets = handle.informers.lister(PodDisruptionBudget)
        self._percentage = min_candidate_nodes_percentage
        self._absolute = min_candidate_nodes_absolute
        #: Whether the policy keeps the rule of `is_victim`, so that it need not be called for every pod.
        self._goes_by_priority = type(self).is_victim is Preemption.is_victim
        self._random = random.Random(handle.seed)  # noqa: S311  where to begin looking, not a secret
        #: The names of all nodes, rows, and the result of `_refused_at` for these rows.
        self._last_refused: tuple[NDArray[np.object_], IntArray, dict[str, Status]] | None = None

    # --- policy -----------------------------------------------------------------------------------

    def is_victim(self, node: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        """Whether *preemptor* may evict *victim*. May be called for more nodes than are considered in the end."""
        return victim.priority < preemptor.priority

    def makes_room(self, state: CycleState, node: NodeInfo, leaving: Pod, preemptor: Pod) -> bool:
        """Whether *leaving*, on the nominated node of *preemptor*, terminates to make room for it."""
        return self.is_victim(node, leaving, preemptor) and _is_being_preempted(leaving)

    def no_victims(self, node_name: str, pod: Pod) -> Status:
        """The status of a node where *pod* may evict no pod."""
        return NO_VICTIMS

    def with_victims(self, state: CycleState, pod: Pod) -> BoolArray | None:
        """bool, shape (n_nodes,): the nodes of the snapshot with pods that *pod* may evict; None if that is not
        known before the dry run."""
        return None

    def take_away(self, state: CycleState, pod: Pod, node: NodeInfo) -> list[Pod] | Status:
        """Remove all pods that *pod* may evict from *node*; returns them, or why it failed."""
        potential = self.potential_victims(node, pod)
        for other in potential:
            if not (status := self._move(state, pod, other, node, add=False)).is_success:
                return status
        return potential

    def is_satisfied(self, state: CycleState, pod: Pod, *, sparing: bool) -> Status:
        """Whether *pod* may run in the current what-if, apart from the filters; *sparing*: a pod was put back."""
        return SUCCESS

    def why_not_eligible(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> str:
        """Why *pod* may not preempt now; empty if it may."""
        if pod.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        if self._handle.is_preempting(pod):
            return TERMINATING
        nominated = pod.status.nominated_node_name
        if not nominated or diagnosis.status(nominated).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        position = self._handle.snapshot.nodes.position(nominated)
        if position is not None:
            node = self._handle.snapshot.nodes[position]
            if any(other.is_terminating and self.makes_room(state, node, other, pod) for other in node.pods):
                return TERMINATING
        return ""

    # --- mechanism --------------------------------------------------------------------------------

    def preempt(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterResult:
        if (left := state.get(EXTENDER_CANDIDATES, ExtenderCandidates)) is not None:
            return _after_extenders(left, self._now())
        if reason := self.why_not_eligible(state, pod, diagnosis):
            return PostFilterResult(None, Status.unschedulable(reason))
        report = self._find_candidates(state, pod, diagnosis)
        if not report.candidates:
            # Many consecutive nodes have the same status object.
            runs = [list(run) for _, run in groupby(report.refused.values(), id)]
            errors = [run[0].message for run in runs if run[0].code is Code.ERROR]
            if errors:
                return PostFilterResult(None, Status.failed(_joined(errors)), detail=report)
            message = _not_helpful(len(diagnosis.nodes), [(run[0], len(run)) for run in runs])
            return PostFilterResult("", Status.unschedulable(message), detail=report)
        return _best_of(report)

    def _find_candidates(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PreemptionReport:
        """Dry runs on the nodes where evicting pods may help, until there are enough candidates."""
        rows = diagnosis.rows_with(Code.UNSCHEDULABLE)
        found = CandidateList(self._n_candidates(len(rows)))
        now = self._now()
        if not len(rows):
            return PreemptionReport([], {}, now.timestamp())
        order = np.roll(rows, -self._random.randrange(len(rows)))
        if self._has_no_victims(pod):
            return PreemptionReport([], self._refused_at(rows), now.timestamp())
        dry_run = self._dry_run_by(DryRun(state, pod, self._budgets.list(), now, self._rules))
        while len(order) and not found.is_complete:
            chunk, order = np.split(order, [found.n_next])
            found.note(dry_run(chunk))
        return PreemptionReport(found.candidates, found.refused, now.timestamp())

    def _has_no_victims(self, pod: Pod) -> bool:
        """Whether every dry run would return NO_VICTIMS."""
        if not self._keeps_rules((*ONE_BY_ONE, *NOT_CACHED)):
            return False
        lowest = self._handle.snapshot.lowest_priority
        return lowest is None or lowest >= pod.priority

    def _refused_at(self, rows: IntArray) -> dict[str, Status]:
        """Node name → NO_VICTIMS, for the nodes at *rows*. For the same nodes it is the same object as last time:
        records refer to it, and pods that fit no node are retried often."""
        names = self._handle.snapshot.nodes.names
        last = self._last_refused
        if last is None or last[0] is not names or not np.array_equal(last[1], rows):
            last = self._last_refused = names, rows, dict.fromkeys(names[rows].tolist(), NO_VICTIMS)
        return last[2]

    def _keeps_rules(self, rules: Sequence[str]) -> bool:
        """Whether the policy overrides none of *rules*."""
        return all(getattr(type(self), name) is getattr(Preemption, name) for name in rules)

    def _n_candidates(self, n_nodes: int) -> int:
        return min(max(n_nodes * self._percentage // 100, self._absolute), n_nodes)

    def _dry_run_by(self, given: DryRun) -> Callable[[IntArray], Iterable[tuple[str, Candidate | Status]]]:
        """The function to make dry runs with: on many nodes at once if the result is the same, else one by one."""
        if self._keeps_rules(ONE_BY_ONE) and self._handle.evaluation.judges_by_amounts(given.state):
            cached = None
            if self._keeps_rules(NOT_CACHED):
                cached = self._handle.evaluation.cached_dry_runs(given.state, given.pod)
            return BatchedDryRun(
                given, self._handle, self.potential_victims, self._dry_run_one, self.no_victims, cached
            ).at
        return lambda rows: self._one_by_one(given, rows)

    def _one_by_one(self, given: DryRun, rows: IntArray) -> Iterator[tuple[str, Candidate | Status]]:
        nodes, has_victims = self._handle.snapshot.nodes, self.with_victims(given.state, given.pod)
        names = nodes.names
        for row in rows.tolist():
            if has_victims is None or has_victims[row]:
                node = nodes[row]
                yield node.name, self._dry_run_one(given, node)
            else:
                yield names[row], self.no_victims(names[row], given.pod)

    def _dry_run_one(self, given: DryRun, node: NodeInfo) -> Candidate | Status:
        with self._handle.evaluation.what_if():
            found = self.select_victims(given.state.clone(), given.pod, node, given.budgets)
        if isinstance(found, Status):
            return found
        if not found.pods:
            return none_needed(node.name)
        return candidate_of(node.name, found, given.now)

    def potential_victims(self, node: NodeInfo, pod: Pod) -> list[Pod]:
        """The pods of *node* that *pod* may evict."""
        if self._goes_by_priority:
            priority = pod.priority
            return [other for other in node.pods if other.priority < priority]
        return [other for other in node.pods if self.is_victim(node, other, pod)]

    def select_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo, budgets: Sequence[PodDisruptionBudget]
    ) -> Victims | Status:
        """The fewest and least important pods of *node* to evict; a Status if that does not help."""
        # 1. Without all potential victims the pod must fit.
        potential = self.take_away(state, pod, node)
        if isinstance(potential, Status):
            return potential
        if not potential:
            return self.no_victims(node.name, pod)
        if not (status := self._fits(state, pod, node, sparing=False)).is_success:
            return status
        # 2. Spare as many as possible: first pods whose budget would be violated, the most important first.
        now = self._now()
        rules = self._rules
        sort_by_importance(potential, now, keeps_first_unstarted=rules.keeps_first_unstarted)
        protected, others = split_by_budget(
            potential, budgets, first_violated_only=rules.first_violated_budget_only
        )
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
        if self._fits(state, pod, node, sparing=True).is_success:
            return True
        status = self._move(state, pod, other, node, add=False)
        return False if status.is_success else status

    def _fits(self, state: CycleState, pod: Pod, node: NodeInfo, *, sparing: bool) -> Status:
        status = self._handle.evaluation.filter_node(state, pod, node.name)
        return self.is_satisfied(state, pod, sparing=sparing) if status.is_success else status

    def _move(self, state: CycleState, pod: Pod, other: Pod, node: NodeInfo, *, add: bool) -> Status:
        return self._handle.evaluation.move_pod(state, pod, other, node.name, add=add)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._handle.clock.now(), UTC)


def _best_of(report: PreemptionReport) -> PostFilterResult:
    best = report.best[0]
    return PostFilterResult(best.node_name, Status.success(), best.victims.pods, report)


def _after_extenders(left: ExtenderCandidates, now: datetime) -> PostFilterResult:
    """The result of the second call, after the extenders have filtered the candidates."""
    report = PreemptionReport(left.candidates, {}, now.timestamp())
    if not left.status.is_success:
        return PostFilterResult(None, left.status, detail=report)
    if not left.candidates:
        return PostFilterResult(None, Status.unschedulable(NO_CANDIDATE), detail=report)
    return _best_of(report)


def _is_being_preempted(pod: Pod) -> bool:
    """Whether a terminating pod is being preempted by a scheduler."""
    return any(
        condition.type == "DisruptionTarget"
        and condition.status == "True"
        and condition.reason == "PreemptionByScheduler"
        for condition in pod.status.conditions
    )


def _not_helpful(n_nodes: int, refusals: Iterable[tuple[Status, int]]) -> str:
    """*refusals*: statuses, and how many nodes have each."""
    reasons: Counter[str] = Counter()
    n_untried = n_nodes
    for status, count in refusals:
        n_untried -= count
        for reason in status.reasons:
            reasons[reason] += count
    if n_untried:
        reasons["Preemption is not helpful for scheduling"] += n_untried
    return none_available(n_nodes, reasons)


def _joined(errors: Sequence[str]) -> str:
    """As Go prints several errors at once."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else "[" + ", ".join(distinct) + "]"
