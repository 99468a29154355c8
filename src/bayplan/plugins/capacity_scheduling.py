"""CapacityScheduling: elastic quotas for namespaces.

A namespace with an ElasticQuota never uses more than its max. Up to its min it is served even if others have to
go; above, it borrows what other namespaces are sure of and do not use, until they want it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
from bayplan.plugins._elastic_quotas import QuotaBook, added
from bayplan.plugins._pod_groups import group_key
from bayplan.plugins._quota_preemption import STATE_KEY, QuotaPreemption, QuotaState

if TYPE_CHECKING:
    from bayplan.model import Resources
    from bayplan.plugins._elastic_quotas import Usage

ELASTIC_QUOTAS: Final = "elasticquotas.v1alpha1.scheduling.x-k8s.io"


def _after_quota_change(pod: Pod, old: ElasticQuota | None, new: ElasticQuota | None) -> Hint:
    """A controller keeps writing the status of quotas, which helps nobody."""
    is_same = old is not None and new is not None and old.raw.get("spec") == new.raw.get("spec")
    return Hint.SKIP if is_same else Hint.QUEUE


def _after_bind(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    """A pod that a member of another gang had to spare while it waited may be evicted as soon as it is bound."""
    is_spared = bool(group_key(new)) and new.namespace != pod.namespace
    return Hint.QUEUE if is_spared and group_key(pod) else Hint.SKIP


class CapacityScheduling(Plugin):
    name = "CapacityScheduling"
    events_to_register = (
        ClusterEvent(Resource.POD, Action.DELETE),
        ClusterEvent(Resource.POD, Action.ADD, _after_bind),
        ClusterEvent(ELASTIC_QUOTAS, Action.ALL, _after_quota_change),
    )

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._book = QuotaBook(handle)
        self._preemption = QuotaPreemption(
            handle, min_candidate_nodes_percentage=100, min_candidate_nodes_absolute=0
        )

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        usage = self._book.usage()
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

    def _with_nominated(self, pod: Pod, usage: Usage) -> tuple[Resources, Resources]:
        """What *pod* requests, with pods that were promised a node and go first: of its own quota, and of all.

        Of other namespaces they go first as long as those have not got what they are sure of.
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
        """The pod counts already: the snapshot has it from the moment it was assumed. The extension point is there
        for configurations that name it."""

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """And it counts no more when it is forgotten."""
