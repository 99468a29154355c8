"""Preemption: which pods to evict so that a pod fits, and from which node.

Comes in: a pod that fits nowhere and what each node said. Goes out: the best candidate with its victims, or
why there is none. Nothing is evicted here. A plugin with other rules about who may be evicted derives from
`Preemption` and overrides `is_victim` or `select_victims`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from bayplan.framework.diagnosis import Diagnosis, none_available
from bayplan.framework.nodes import NodeInfo
from bayplan.framework.plugin import PostFilterResult
from bayplan.framework.state import CycleState
from bayplan.framework.status import Code, Status
from bayplan.model import (
    Pod,
    PodDisruptionBudget,
    SelectorError,
    compile_selector,
    earliest_start_time,
    importance_key,
)

if TYPE_CHECKING:
    from bayplan.framework.handle import Handle

#: Added to every priority, so that a sum over more victims is never the smaller one (upstream MaxInt32+1).
_PRIORITY_SHIFT = 2**31


class Victims(NamedTuple):
    """The pods to evict from one node, the most important first."""

    pods: tuple[Pod, ...]
    #: How many of them their PodDisruptionBudgets would have spared.
    n_violations: int = 0


class Candidate(NamedTuple):
    """A node on which the pod would fit without the victims."""

    node_name: str
    victims: Victims
    #: Lower is better; equal ranks are equally good.
    rank: tuple[int, int, int, int, float]


class Considered(NamedTuple):
    """What preemption looked at, for the record."""

    candidates: Sequence[Candidate]
    #: Node → why evicting pods there does not help.
    refused: dict[str, Status]


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
        """Whether *preemptor* may evict *victim*."""
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
        candidates, refused = self._find_candidates(state, pod, diagnosis)
        considered = Considered(candidates, refused)
        if not candidates:
            errors = [status.message for status in refused.values() if status.code is Code.ERROR]
            if errors:
                return PostFilterResult(None, Status.failed(_joined(errors)), detail=considered)
            message = _not_helpful(len(diagnosis.nodes), refused)
            return PostFilterResult("", Status.unschedulable(message), detail=considered)
        best = min(candidates, key=lambda candidate: candidate.rank)
        return PostFilterResult(best.node_name, Status.success(), best.victims.pods, considered)

    def _find_candidates(
        self, state: CycleState, pod: Pod, diagnosis: Diagnosis
    ) -> tuple[list[Candidate], dict[str, Status]]:
        """Dry runs on the nodes where evicting pods may help, until there are enough candidates."""
        rows = diagnosis.rows_with(Code.UNSCHEDULABLE)
        violating: list[Candidate] = []
        sparing: list[Candidate] = []
        refused: dict[str, Status] = {}
        if not len(rows):
            return [], refused
        budgets = self._handle.informers.lister(PodDisruptionBudget).list()
        wanted = self._n_candidates(len(rows))
        offset = self._random.randrange(len(rows))
        for row in [*rows[offset:].tolist(), *rows[:offset].tolist()]:
            node = self._handle.snapshot.nodes[row]
            found = self._dry_run(state, pod, node, budgets)
            if isinstance(found, Status):
                refused[node.name] = found
                continue
            candidate = Candidate(node.name, found, self._rank(found))
            (violating if found.n_violations else sparing).append(candidate)
            if sparing and len(sparing) + len(violating) >= wanted:
                break
        return sparing + violating, refused

    def _n_candidates(self, n_nodes: int) -> int:
        return min(max(n_nodes * self._percentage // 100, self._absolute), n_nodes)

    def _dry_run(
        self, state: CycleState, pod: Pod, node: NodeInfo, budgets: Sequence[PodDisruptionBudget]
    ) -> Victims | Status:
        with self._handle.evaluation.what_if():
            found = self.select_victims(state.clone(), pod, node, budgets)
        if isinstance(found, Victims) and not found.pods:
            return Status.failed(f'expected at least one victim pod on node "{node.name}"')
        return found

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
            return Status.unresolvable("No preemption victims found for incoming pod")
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

    def _rank(self, victims: Victims) -> tuple[int, int, int, int, float]:
        # 1. The fewest violated budgets. 2. The lowest highest priority. 3. The lowest sum of priorities.
        # 4. The fewest victims. 5. The latest start of the most important ones.
        pods = victims.pods
        earliest = earliest_start_time(pods, self._now())
        return (
            victims.n_violations,
            pods[0].priority,
            sum(pod.priority + _PRIORITY_SHIFT for pod in pods),
            len(pods),
            -earliest.timestamp() if earliest is not None else 0.0,
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._handle.clock.now(), UTC)


def split_by_budget(pods: Sequence[Pod], budgets: Sequence[PodDisruptionBudget]) -> tuple[list[Pod], list[Pod]]:
    """The pods whose eviction a budget forbids, counted in the given order, and the others."""
    allowed = {budget.key: budget.status.disruptions_allowed for budget in budgets}
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        is_violated = False
        for budget in budgets:
            if _protects(budget, pod):
                allowed[budget.key] -= 1
                is_violated |= allowed[budget.key] < 0
        (violating if is_violated else others).append(pod)
    return violating, others


def _protects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    if not pod.labels or budget.namespace != pod.namespace or pod.name in budget.status.disrupted_pods:
        return False
    try:
        selector = compile_selector(budget.spec.selector)
    except SelectorError:
        return False
    return not selector.is_empty and selector.matches(pod.labels)


def _is_being_preempted(pod: Pod) -> bool:
    if not pod.is_terminating:
        return False
    return any(
        condition.type == "DisruptionTarget"
        and condition.status == "True"
        and condition.reason == "PreemptionByScheduler"
        for condition in pod.status.conditions
    )


def _not_helpful(n_nodes: int, refused: dict[str, Status]) -> str:
    reasons = Counter(reason for status in refused.values() for reason in status.reasons)
    if len(refused) < n_nodes:
        reasons["Preemption is not helpful for scheduling"] += n_nodes - len(refused)
    return none_available(n_nodes, reasons)


def _joined(errors: Sequence[str]) -> str:
    """As Go prints several errors at once."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else "[" + ", ".join(distinct) + "]"
