"""CapacityScheduling: elastic quotas for namespaces.

A namespace with an ElasticQuota never uses more than its max. Up to its min it gets resources even if pods of
other namespaces have to be evicted; above, it borrows what other namespaces leave unused of their min.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.framework import (
    Action,
    ClusterEvent,
    CycleState,
    Diagnosis,
    Handle,
    Hint,
    NodeInfo,
    NodeTable,
    Plugin,
    PostFilterResult,
    Resource,
    Status,
)
from bayplan.model import ElasticQuota, Pod
from bayplan.plugins.gangs._pod_groups import group_key
from bayplan.plugins.quotas._elastic_quotas import QuotaTracker, added
from bayplan.plugins.quotas._quota_preemption import STATE_KEY, QuotaPreemption, QuotaState

if TYPE_CHECKING:
    from bayplan.model import Resources
    from bayplan.plugins.quotas._elastic_quotas import QuotaUsage

ELASTIC_QUOTAS: Final = "elasticquotas.v1alpha1.scheduling.x-k8s.io"


def _after_quota_change(pod: Pod, old: ElasticQuota | None, new: ElasticQuota | None) -> Hint:
    """Status updates, which the controller writes often, are skipped."""
    is_same = old is not None and new is not None and old.whole.get("spec") == new.whole.get("spec")
    return Hint.SKIP if is_same else Hint.QUEUE


def _after_bind(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    """A waiting pod that a gang member of another namespace could not evict may be evicted once it is bound."""
    is_spared = bool(group_key(new)) and new.namespace != pod.namespace
    return Hint.QUEUE if is_spared and group_key(pod) else Hint.SKIP


class CapacityScheduling(Plugin[None]):
    name = "CapacityScheduling"
    events_to_register = (
        ClusterEvent(Resource.POD, Action.DELETE),
        ClusterEvent(Resource.POD, Action.ADD, _after_bind),
        ClusterEvent(ELASTIC_QUOTAS, Action.ALL, _after_quota_change),
    )

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._tracker = QuotaTracker(handle)
        self._preemption = QuotaPreemption(
            handle, min_candidate_nodes_percentage=100, min_candidate_nodes_absolute=0
        )

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        usage = self._tracker.usage()
        if not usage.has_quota(pod.namespace):
            state.write(STATE_KEY, QuotaState(usage, pod.requests, pod.requests))
            return None
        here, everywhere = self._with_nominated(pod, usage)
        state.write(STATE_KEY, QuotaState(usage, here, everywhere))
        if usage.is_over_max(pod.namespace, here):
            reason = f"ElasticQuota {pod.namespace} is more than Max"
        elif usage.is_over_total_min(everywhere):
            reason = "total ElasticQuota used is more than min"
        else:
            return None
        return Status.unschedulable(f"Pod {pod.key} is rejected in PreFilter because {reason}")

    def _with_nominated(self, pod: Pod, usage: QuotaUsage) -> tuple[Resources, Resources]:
        """The requests of *pod* and of the nominated pods that come first: in its own namespace, and in all.

        Nominated pods of another namespace come first as long as that namespace is below its min.
        """
        here = everywhere = pod.requests
        nominator = self.handle.nominator
        for node_name in nominator.nodes():
            for other in nominator.nominated(node_name):
                if other.uid == pod.uid or not usage.has_quota(other.namespace):
                    continue
                if other.namespace != pod.namespace:
                    if not usage.is_over_min(other.namespace):
                        everywhere = added(everywhere, other.requests)
                elif other.priority >= pod.priority:
                    here, everywhere = added(here, other.requests), added(everywhere, other.requests)
        return here, everywhere

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node: NodeInfo) -> None:
        state.read(STATE_KEY, QuotaState).usage.move(pod_to_add, add=True)

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: Pod, node: NodeInfo) -> None:
        state.read(STATE_KEY, QuotaState).usage.move(pod_to_remove, add=False)

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> PostFilterResult:
        return self._preemption.preempt(state, pod, verdicts)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing to do: the snapshot has the pod since it was assumed. The extension point exists for
        configurations that name it."""

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing to do: the snapshot no longer has the pod once it is forgotten."""
