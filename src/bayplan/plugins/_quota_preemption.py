"""Preemption under elastic quotas: who may evict whom is a matter of quotas first, and of priority second.

A pod that would bring its namespace above min evicts pods of its own namespace with lower priority, nobody else.
One that its namespace is sure of takes the place of pods of other namespaces that use more than their min,
whatever their priority. Pods without a quota, among themselves, go by priority.

A member of a gang that is not whole yet evicts for the gang, or nobody:

- It evicts nobody if the gang as a whole is above max, or needs what other namespaces are sure of and use.
- It takes nothing from pods of other namespaces that wait at Permit. It would have to wait there itself, and they
  could take the place back by the same right, for ever. They do not wait for long: either they are bound, and then
  they may be evicted, or they give their places back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bayplan.framework import (
    SUCCESS,
    BoolArray,
    Code,
    CycleState,
    Diagnosis,
    NodeInfo,
    PodQuery,
    PostFilterResult,
    Preemption,
    Status,
)
from bayplan.model import Pod, Resources, importance_key
from bayplan.plugins._elastic_quotas import Usage, sum_of
from bayplan.plugins._no_victims import no_victims

STATE_KEY: Final = "CapacityScheduling"
NO_STATE: Final = "not eligible due to failed to read from cycleState"
OVER_QUOTA: Final = "global quota max exceeded"
GANG_OVER_QUOTA: Final = "not eligible due to quotas that its group as a whole does not fit into."


@dataclass(frozen=True, slots=True)
class QuotaState:
    """What PreFilter found out about a pod; usage follows the pods that are moved in a what-if."""

    usage: Usage
    #: What the pod requests, with nominated pods of its namespace that go first.
    here: Resources
    #: The same, with nominated pods of other namespaces that do.
    everywhere: Resources
    #: Pods (uid) of other namespaces that it may not take anything from.
    spared: frozenset[str] = frozenset()

    def clone(self) -> QuotaState:
        return replace(self, usage=self.usage.clone())

    def may_evict(self, pod: Pod, other: Pod, *, borrows: bool) -> bool:
        """Whether *pod* may evict *other* as things stand now; *borrows*: *pod* brings its namespace above min."""
        usage = self.usage
        if not usage.has_quota(pod.namespace):
            return not usage.has_quota(other.namespace) and other.priority < pod.priority
        if borrows:
            return other.namespace == pod.namespace and other.priority < pod.priority
        return (
            other.namespace != pod.namespace
            and other.uid not in self.spared
            and usage.has_quota(other.namespace)
            and usage.is_over_min(other.namespace)
        )

    def borrows(self, pod: Pod) -> bool:
        return self.usage.has_quota(pod.namespace) and self.usage.is_over_min(pod.namespace, self.here)


class QuotaPreemption(Preemption):
    """See the module's text."""

    def why_not_eligible(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> str:
        if pod.preemption_policy != "Never" and state.get(STATE_KEY, QuotaState) is None:
            return NO_STATE
        return super().why_not_eligible(state, pod, diagnosis)

    def preempt(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterResult:
        found = state.get(STATE_KEY, QuotaState)
        if found is None or not (lacking := self._lacking(found, pod, diagnosis)):
            return super().preempt(state, pod, diagnosis)
        # Whoever refuses to evict is asked what may change it.
        if not self._may_be_whole(found.usage, lacking):
            diagnosis.unschedulable_plugins.add(STATE_KEY)
            return PostFilterResult("", Status.unschedulable(GANG_OVER_QUOTA))
        if spared := self._waiting_borrowers(found.usage, pod):
            diagnosis.unschedulable_plugins.add(STATE_KEY)
            state.write(STATE_KEY, replace(found, spared=spared))
        return super().preempt(state, pod, diagnosis)

    def _lacking(self, found: QuotaState, pod: Pod, diagnosis: Diagnosis) -> Sequence[Pod]:
        """*pod* and those that it would have to wait for; empty if there are none, or nobody can make room."""
        if not found.usage.has_quota(pod.namespace) or not len(diagnosis.rows_with(Code.UNSCHEDULABLE)):
            return ()
        others = self._handle.evaluation.waits_for(pod)
        return (pod, *others) if others else ()

    def _may_be_whole(self, usage: Usage, lacking: Sequence[Pod]) -> bool:
        """Whether quotas allow all of *lacking*, once those of their own namespace that matter less are gone."""
        asked = sum_of(pod.requests for pod in lacking)
        namespace, priority = lacking[0].namespace, lacking[0].priority
        if usage.leaves_others_theirs(namespace, asked):
            return True
        without = usage.clone()
        for other in self._handle.snapshot.pods():
            if other.namespace == namespace and other.priority < priority:
                without.move(other, add=False)
        return without.leaves_others_theirs(namespace, asked)

    def _waiting_borrowers(self, usage: Usage, pod: Pod) -> frozenset[str]:
        """The pods (uid) that wait at Permit in other namespaces above min."""
        borrowing = usage.over_min() - {pod.namespace}
        return frozenset(each.pod.uid for each in self._handle.waiting_pods if each.pod.namespace in borrowing)

    def makes_room(self, state: CycleState, node: NodeInfo, leaving: Pod, preemptor: Pod) -> bool:
        found = state.read(STATE_KEY, QuotaState)
        # A pod of the same namespace makes room even for one that its namespace is sure of.
        is_own = found.usage.has_quota(preemptor.namespace) and leaving.namespace == preemptor.namespace
        borrows = is_own or found.borrows(preemptor)
        return found.may_evict(preemptor, leaving, borrows=borrows)

    def no_victims(self, node_name: str, pod: Pod) -> Status:
        return no_victims(self._handle.snapshot.nodes, node_name, pod)

    def with_victims(self, state: CycleState, pod: Pod) -> BoolArray | None:
        """Nodes with pods of the namespaces in question: most pods that a quota rejects find none anywhere."""
        found = state.read(STATE_KEY, QuotaState)
        if not found.usage.has_quota(pod.namespace):
            return None
        namespaces = {pod.namespace} if found.borrows(pod) else found.usage.over_min()
        query = PodQuery(frozenset(namespaces), ())
        return self._handle.snapshot.nodes.count_pods(query) > 0

    def take_away(self, state: CycleState, pod: Pod, node: NodeInfo) -> list[Pod] | Status:
        """The least important first: a namespace is reclaimed from until it is back at its min, and no further."""
        found = state.read(STATE_KEY, QuotaState)
        borrows, now = found.borrows(pod), self._now()
        taken: list[Pod] = []
        for other in sorted(node.pods, key=lambda each: importance_key(each, now), reverse=True):
            if found.may_evict(pod, other, borrows=borrows):
                if not (status := self._move(state, pod, other, node, add=False)).is_success:
                    return status
                taken.append(other)
        return taken

    def is_satisfied(self, state: CycleState, pod: Pod, *, sparing: bool) -> Status:
        found = state.read(STATE_KEY, QuotaState)
        usage = found.usage
        if not usage.has_quota(pod.namespace):
            return SUCCESS
        here, everywhere = (found.here, found.everywhere) if sparing else (pod.requests, pod.requests)
        if usage.is_over_max(pod.namespace, here) or usage.is_over_total_min(everywhere):
            return Status.unschedulable(OVER_QUOTA)
        return SUCCESS
