"""Preemption under elastic quotas: victims are chosen by quota first and by priority second.

A pod that would bring its namespace above min evicts only pods of its own namespace with lower priority. A pod
within the min of its namespace evicts pods of other namespaces that use more than their min, whatever their
priority. Pods without a quota evict only pods without a quota, by priority.

A member of an incomplete gang evicts for the whole gang:

- It evicts no pod if the gang as a whole exceeds max, or needs what other namespaces use within their min.
- It evicts no pod of another namespace that waits at Permit. It would have to wait there itself, and the other pod
  could evict it in turn, forever. Such pods do not wait for long: either they are bound, and may then be evicted,
  or they give up their nodes.
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
from bayplan.plugins.preemption._no_victims import no_victims
from bayplan.plugins.quotas._elastic_quotas import QuotaUsage, sum_of

STATE_KEY: Final = "CapacityScheduling"
NO_STATE: Final = "not eligible due to failed to read from cycleState"
OVER_QUOTA: Final = "global quota max exceeded"
GANG_OVER_QUOTA: Final = "not eligible due to quotas that its group as a whole does not fit into."


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The result of PreFilter for a pod; the usage changes with the pods that a dry run adds and removes."""

    usage: QuotaUsage
    #: The requests of the pod and of the nominated pods of its namespace that come first.
    here: Resources
    #: The same, plus the nominated pods of other namespaces that come first.
    everywhere: Resources
    #: Pods (uid) of other namespaces that it may not evict.
    spared: frozenset[str] = frozenset()

    def clone(self) -> QuotaState:
        return replace(self, usage=self.usage.clone())

    def may_evict(self, pod: Pod, other: Pod, *, borrows: bool) -> bool:
        """Whether *pod* may evict *other* with the current usage; *borrows*: *pod* brings its namespace above
        min."""
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
    """Implements the rules in the module docstring."""

    def why_not_eligible(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> str:
        if pod.preemption_policy != "Never" and state.get(STATE_KEY, QuotaState) is None:
            return NO_STATE
        return super().why_not_eligible(state, pod, diagnosis)

    def preempt(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterResult:
        found = state.get(STATE_KEY, QuotaState)
        if found is None or not (lacking := self._lacking(found, pod, diagnosis)):
            return super().preempt(state, pod, diagnosis)
        # This plugin declines to evict, so the queue must ask it for hints about what may change that.
        if not self._may_be_whole(found.usage, lacking):
            diagnosis.unschedulable_plugins.add(STATE_KEY)
            return PostFilterResult("", Status.unschedulable(GANG_OVER_QUOTA))
        if spared := self._waiting_borrowers(found.usage, pod):
            diagnosis.unschedulable_plugins.add(STATE_KEY)
            state.write(STATE_KEY, replace(found, spared=spared))
        return super().preempt(state, pod, diagnosis)

    def _lacking(self, found: QuotaState, pod: Pod, diagnosis: Diagnosis) -> Sequence[Pod]:
        """*pod* and the pods that it would have to wait for; empty if there are none, or if no eviction can
        help."""
        if not found.usage.has_quota(pod.namespace) or not len(diagnosis.rows_with(Code.UNSCHEDULABLE)):
            return ()
        others = self._handle.evaluation.waits_for(pod)
        return (pod, *others) if others else ()

    def _may_be_whole(self, usage: QuotaUsage, lacking: Sequence[Pod]) -> bool:
        """Whether quotas allow all of *lacking* after evicting the pods of their namespace with lower priority."""
        requested = sum_of(pod.requests for pod in lacking)
        namespace, priority = lacking[0].namespace, lacking[0].priority
        if usage.fits_beside_others(namespace, requested):
            return True
        without = usage.clone()
        for other in self._handle.snapshot.pods():
            if other.namespace == namespace and other.priority < priority:
                without.move(other, add=False)
        return without.fits_beside_others(namespace, requested)

    def _waiting_borrowers(self, usage: QuotaUsage, pod: Pod) -> frozenset[str]:
        """The pods (uid) that wait at Permit in other namespaces above min."""
        borrowing = usage.over_min() - {pod.namespace}
        return frozenset(each.pod.uid for each in self._handle.waiting_pods if each.pod.namespace in borrowing)

    def makes_room(self, state: CycleState, node: NodeInfo, leaving: Pod, preemptor: Pod) -> bool:
        found = state.read(STATE_KEY, QuotaState)
        # A pod of the same namespace makes room even for a pod within its min.
        is_own = found.usage.has_quota(preemptor.namespace) and leaving.namespace == preemptor.namespace
        borrows = is_own or found.borrows(preemptor)
        return found.may_evict(preemptor, leaving, borrows=borrows)

    def no_victims(self, node_name: str, pod: Pod) -> Status:
        return no_victims(self._handle.snapshot.nodes, node_name, pod)

    def with_victims(self, state: CycleState, pod: Pod) -> BoolArray | None:
        """The nodes with pods of the namespaces in question; for most pods that a quota rejects there are none."""
        found = state.read(STATE_KEY, QuotaState)
        if not found.usage.has_quota(pod.namespace):
            return None
        namespaces = {pod.namespace} if found.borrows(pod) else found.usage.over_min()
        query = PodQuery(frozenset(namespaces), ())
        return self._handle.snapshot.nodes.count_pods(query) > 0

    def take_away(self, state: CycleState, pod: Pod, node: NodeInfo) -> list[Pod] | Status:
        """The least important first; a namespace loses pods only until it is back at its min."""
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
