"""DynamicResources: devices for pods that claim them.

Bayplan does not allocate resource claims yet. Pods without claims pass as in kube-scheduler, with the same texts
and scores; a pod that claims devices, or whose extended resource only devices could provide, is told so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.config.args import DynamicResourcesArgs
from bayplan.framework import (
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Hint,
    IntArray,
    NodeTable,
    Plugin,
    Reads,
    Resource,
    Status,
    Verdict,
    default_normalize,
    scores_alone,
)
from bayplan.model import ObjectError, Pod, PodResourceClaim
from bayplan.plugins._device_classes import DeviceClasses
from bayplan.plugins._state import NOT_FOUND, fail_all

if TYPE_CHECKING:
    from bayplan.framework import Diagnosis, Handle

REASON_CLAIMS: Final = "pod has resource claims, which Bayplan does not allocate yet"
REASON_DEVICES: Final = (
    "node(s) could provide {resource} through devices only, which Bayplan does not allocate yet"
)
NOTHING_TO_DEALLOCATE: Final = "no new claims to deallocate"
STILL_NOT_SCHEDULABLE: Final = "still not schedulable"


class DynamicResources(Plugin):
    name = "DynamicResources"
    Args = DynamicResourcesArgs
    reads = Reads.NODE

    def __init__(self, args: DynamicResourcesArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._device_classes = DeviceClasses(handle.informers)

    def pre_enqueue(self, pod: Pod) -> None:
        """Every pod is tried, so that one with claims is told why it waits."""

    # --- feasibility ------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        devices = self._backed_by_devices(pod)
        state.write(self.name, devices)
        if any(_needs_claim(pod, claim) for claim in pod.spec.resource_claims):
            return Status.unresolvable(REASON_CLAIMS)
        return None if devices else Status.skip_alike()

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        """Nodes that do not offer such a resource themselves would have to allocate devices."""
        devices = state.get(self.name, frozenset)
        if devices is None:
            return fail_all(nodes, NOT_FOUND)
        verdict = nodes.accept_all()
        for resource in sorted(devices):
            reason = REASON_DEVICES.format(resource=resource)
            verdict = verdict.reject(nodes.allocatable(resource) == 0, reason, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        return verdict

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> Status:
        """An earlier PreFilter may have ended the attempt before this plugin's."""
        devices = state.get(self.name, frozenset)
        if devices is None:
            return Status.failed(NOT_FOUND)
        return Status.unschedulable(STILL_NOT_SCHEDULABLE if devices else NOTHING_TO_DEALLOCATE)

    def _backed_by_devices(self, pod: Pod) -> frozenset[str]:
        return self._device_classes.backed(name for name, amount in pod.spec_requests.items() if amount)

    # --- choice and commitment: nothing to do without claims ---------------------------------------

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray | Status:
        if state.get(self.name, frozenset) is None:
            return Status.failed(NOT_FOUND)
        return np.zeros(len(nodes), dtype=np.int64)

    @scores_alone
    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return default_normalize(scores)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return Status.failed(NOT_FOUND) if state.get(self.name, frozenset) is None else None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None: ...

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.skip()

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> None: ...

    # --- besides ----------------------------------------------------------------------------------

    def sign(self, pod: Pod) -> Hashable:
        """Device classes are in the sign, so that their coming and going makes kept answers void."""
        if pod.spec.resource_claims:
            return None
        try:
            return self._backed_by_devices(pod)
        except ObjectError:
            return None

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        node_actions = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        changes = Action.ADD | Action.UPDATE
        return (
            ClusterEvent(Resource.NODE, node_actions),
            ClusterEvent(Resource.RESOURCE_CLAIM, changes, self._after_claim_change),
            ClusterEvent(Resource.POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, self._after_pod_change),
            ClusterEvent(Resource.DEVICE_CLASS, changes),
            ClusterEvent(Resource.RESOURCE_SLICE, changes),
        )

    def _after_claim_change(self, pod: Pod, old: dict[str, Any] | None, new: dict[str, Any]) -> Hint:
        if old is not None and _is_allocated(old) and not _is_allocated(new):
            return Hint.QUEUE  # its devices are free for others
        meta = new["metadata"]
        if meta.get("namespace", "") != pod.namespace or meta["name"] not in _claim_names(pod):
            return Hint.SKIP
        return Hint.SKIP if old is not None and old.get("status") == new.get("status") else Hint.QUEUE

    def _after_pod_change(self, pod: Pod, old: Pod, new: Pod) -> Hint:
        return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP


def _needs_claim(pod: Pod, claim: PodResourceClaim) -> bool:
    """Whether a claim must be there; for a template the status may say that none was needed."""
    if claim.resource_claim_name is not None:
        return True
    return not any(
        status.name == claim.name and status.resource_claim_name is None
        for status in pod.status.resource_claim_statuses
    )


def _claim_names(pod: Pod) -> Iterator[str]:
    """The claims of the pod that have a name already."""
    yield from (claim.resource_claim_name for claim in pod.spec.resource_claims if claim.resource_claim_name)
    yield from (
        each.resource_claim_name for each in pod.status.resource_claim_statuses if each.resource_claim_name
    )


def _is_allocated(claim: dict[str, Any]) -> bool:
    return bool((claim.get("status") or {}).get("allocation"))
