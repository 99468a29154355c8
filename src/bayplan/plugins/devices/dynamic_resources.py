"""DynamicResources: a pod with resource claims fits where its devices are, or can be allocated.

Filter asks whether devices can be found; Reserve finds them on the chosen node and counts them as taken; PreBind
writes the allocation. Extended resources that a device class provides become a claim that the scheduler creates.
"""

from __future__ import annotations

import uuid
from collections.abc import Hashable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.config.args import DynamicResourcesArgs
from bayplan.devices import AllocationError, AllocationTimeout, NodeAllocationError, allocation_results
from bayplan.framework import (
    SKIP,
    SKIP_ALIKE,
    SUCCESS_ALONE,
    Action,
    ClusterEvent,
    CycleState,
    Hint,
    IntArray,
    NodeTable,
    Plugin,
    PreBindPreFlight,
    Reads,
    Resource,
    Status,
    Verdict,
    default_normalize,
    scores_alone,
)
from bayplan.model import (
    AllocationResult,
    DeviceClass,
    DeviceRequest,
    ObjectError,
    Pod,
    ResourceClaim,
    SelectorError,
    is_dra_extended_resource_name,
)
from bayplan.plugins._missing_state import NOT_FOUND, fail_all
from bayplan.plugins.devices._binding_conditions import have_conditions
from bayplan.plugins.devices._claim_binder import ClaimBinder
from bayplan.plugins.devices._claim_filter import NOT_AVAILABLE, ClaimFilter
from bayplan.plugins.devices._extended_resources import is_special_name, special_claim
from bayplan.plugins.devices._node_searches import NodeSearches
from bayplan.plugins.devices._pod_claims import NO_CLAIMS, ClaimError, PodClaims, availability, claims_of
from bayplan.plugins.resources._device_classes import DeviceClasses

if TYPE_CHECKING:
    from bayplan.framework import Diagnosis, Handle

NOTHING_TO_DEALLOCATE: Final = "no new claims to deallocate"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"
STILL_NOT_SCHEDULABLE: Final = "still not schedulable"


class DynamicResources(Plugin[DynamicResourcesArgs]):
    name = "DynamicResources"
    reads = Reads.NODE

    def __init__(self, args: DynamicResourcesArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._devices = handle.devices
        self._classes = handle.informers.lister(DeviceClass)
        self._resources = DeviceClasses(handle.informers)
        self._searches = NodeSearches(handle, args.filter_timeout.total_seconds())
        handle.informers.on_change(DeviceClass, lambda old, new: self._searches.device_classes_changed())
        self._filter = ClaimFilter(handle, args, self._classes, self._resources, self._searches)
        self._binder = ClaimBinder(handle)
        facts = handle.release.facts
        self._explains_idleness = facts.reports_no_deallocation
        self._requeues_after_deletion = facts.requeues_after_claim_deletion
        #: Uids are random, but repeatable if the scheduler's other choices are.
        self._random = None if handle.seed is None else Random(handle.seed)  # noqa: S311  no secret

    # --- queue ------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """A pod waits until all its claims exist."""
        if not pod.spec.resource_claims:
            return None
        try:
            claims_of(pod, self._devices.claims)
        except ClaimError as error:
            return Status.unresolvable(str(error))
        return None

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        node_actions = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        changes = Action.ADD | Action.UPDATE
        claim_changes = changes | Action.DELETE if self._requeues_after_deletion else changes
        return (
            ClusterEvent(Resource.NODE, node_actions),
            ClusterEvent(Resource.RESOURCE_CLAIM, claim_changes, self._after_claim_change),
            ClusterEvent(Resource.POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, self._after_pod_change),
            ClusterEvent(Resource.DEVICE_CLASS, changes),
            ClusterEvent(Resource.RESOURCE_SLICE, changes),
        )

    def _after_claim_change(self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None) -> Hint:
        if new is None:
            return Hint.QUEUE if old is not None and old.status.allocation is not None else Hint.SKIP
        try:
            is_own = any(claim.uid == new.uid for claim in claims_of(pod, self._devices.claims))
        except ClaimError:
            return Hint.SKIP
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return Hint.QUEUE  # its devices are free for others
        if not is_own:
            return Hint.SKIP
        return Hint.SKIP if old is not None and old.status == new.status else Hint.QUEUE

    def _after_pod_change(self, pod: Pod, old: Pod, new: Pod) -> Hint:
        if new.uid != pod.uid:
            return Hint.SKIP
        try:
            claims_of(new, self._devices.claims)
        except ClaimError:
            return Hint.SKIP
        return Hint.QUEUE

    def sign(self, pod: Pod) -> Hashable:
        """Results for pods that need no devices are alike, until device classes change what they need."""
        try:
            needs_devices = pod.spec.resource_claims or self._resources.backed(pod.spec_requests)
        except ObjectError:
            return None
        return None if needs_devices else self.name

    # --- PreFilter --------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        state.write(self.name, NO_CLAIMS)
        try:
            claims = claims_of(pod, self._devices.claims) if pod.spec.resource_claims else []
        except ClaimError as error:
            return Status.unresolvable(str(error))
        backed = self._resources.backed(pod.spec_requests)
        if not claims and not backed:
            return SKIP_ALIKE if not pod.spec.resource_claims else SKIP
        found = PodClaims(claims, len(claims))
        if backed:
            self._add_special(found, pod)
        problem = self._check(found)
        if problem is None:
            state.write(self.name, found)
        return SUCCESS_ALONE if problem is None else problem

    def _add_special(self, found: PodClaims, pod: Pod) -> None:
        """The claim for extended resources: of an earlier attempt, or one that is not created yet."""
        requests = pod.spec_requests
        found.resources = {
            name: amount for name, amount in requests.items() if amount and is_dra_extended_resource_name(name)
        }
        claim = self._devices.claims.extended_resource_claim(pod)
        found.claims.append(claim if claim is not None else special_claim(pod, self._new_uid()))
        found.special_uid = found.claims[-1].uid

    def _check(self, found: PodClaims) -> Status | None:
        """Why no node will do, whatever devices it has."""
        try:
            found.available_on = [availability(claim) for claim in found.claims]
        except SelectorError as error:
            return Status.failed(str(error))
        found.allocations = [None] * len(found.claims)
        for i, claim in found.to_allocate():
            if self._devices.claims.pending(claim.uid) is not None:
                return Status.unresolvable(f"resource claim {claim.key} is in the process of being allocated")
            for request in claim.spec.devices.requests if i < found.n_user else ():
                if (problem := self._check_request(claim, request)) is not None:
                    return problem
        return None

    def _check_request(self, claim: ResourceClaim, request: DeviceRequest) -> Status | None:
        if request.exactly is not None:
            return self._check_class(request.exactly.device_class_name, request.name)
        if not request.first_available:
            return Status.unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
        if not self._devices.features.prioritized_list:
            return Status.unresolvable(
                f"resource claim {claim.key}, request {request.name}: "
                "has subrequests, but the DRAPrioritizedList feature is disabled"
            )
        for each in request.first_available:
            problem = self._check_class(each.device_class_name, f"{request.name}/{each.name}")
            if problem is not None:
                return problem
        return None

    def _check_class(self, class_name: str, request_name: str) -> Status | None:
        if not class_name:
            return Status.failed(f"request {request_name}: unsupported request type")
        if self._classes.get(class_name) is None:
            return Status.unresolvable(f"request {request_name}: device class {class_name} does not exist")
        return None

    # --- Filter, PostFilter, Score ----------------------------------------------------------------

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        found = state.get(self.name, PodClaims)
        if found is None:
            return fail_all(nodes, NOT_FOUND)
        return self._filter.filter(found, pod, nodes) if found.claims else nodes.accept_all()

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> Status:
        """Deallocates one claim that is in the way, and used by nobody else.

        The state may be missing: the PreFilter of an earlier plugin may have ended the attempt.
        """
        found = state.get(self.name, PodClaims)
        if found is None:
            return Status.failed(NOT_FOUND)
        if not found.claims:
            return self._idle(NOTHING_TO_DEALLOCATE)
        for i in sorted(found.unavailable):
            claim = found.claims[i]
            if claim is not found.special and _is_free(claim, pod) and self._is_in_the_way(found, i, verdicts):
                self.handle.start(partial(self._binder.deallocate, claim, pod))
                return Status.unschedulable(DEALLOCATED)
        special = found.special
        if special is not None and not is_special_name(special):
            self.handle.start(lambda: self._binder.delete(special))
            return Status.unschedulable(DELETED)
        return self._idle(STILL_NOT_SCHEDULABLE)

    def _idle(self, reason: str) -> Status:
        """Nothing was deallocated."""
        return Status.unschedulable(reason) if self._explains_idleness else Status.unschedulable()

    def _is_in_the_way(self, found: PodClaims, i: int, verdicts: Diagnosis) -> bool:
        """Whether a node that no other plugin rejected was rejected because of the claim."""
        for names in found.unavailable[i]:
            for name in names.tolist():
                status = verdicts.status(name)
                if status.plugin == self.name and NOT_AVAILABLE in status.reasons:
                    return True
        return False

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray | Status:
        found = state.get(self.name, PodClaims)
        if found is None:
            return Status.failed(NOT_FOUND)
        if found.scores is None:
            return np.zeros(len(nodes), dtype=np.int64)
        return found.scores[nodes.rows]

    @scores_alone
    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return default_normalize(scores)

    # --- Reserve ----------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        found = state.get(self.name, PodClaims)
        if found is None:
            return Status.failed(NOT_FOUND)
        if not found.claims or not found.needs_allocation:
            return None
        nodes = self.handle.snapshot.nodes
        position = nodes.position(node_name)
        if position is None:
            return Status.failed(f'node "{node_name}" not found')
        alone = nodes.select(np.array([position], dtype=np.int64))
        try:
            allocations = self._allocate(found, pod, alone)
        except (AllocationError, NodeAllocationError, AllocationTimeout) as error:
            return Status.failed(str(error))
        if allocations is None:
            return Status.failed("claim allocation not found for node")
        for (i, claim), allocation in zip(found.to_allocate(), allocations, strict=False):
            found.allocations[i] = allocation
            self._devices.claims.set_pending(claim.uid, allocation)
        return None

    def _allocate(self, found: PodClaims, pod: Pod, node: NodeTable) -> list[AllocationResult] | None:
        """The allocations for one node; empty if it needs none, None if there are none."""
        for group in self._filter.groups(found, pod, node, np.ones(1, dtype=np.bool_)):
            plans = self._filter.plans(found, group)
            info = node[0].node
            devices = self._searches.find(plans, info)
            if devices is None:
                return None
            found.special_on_node, found.mappings = group.special, group.mappings
            return allocation_results(plans, devices, info.name, self._devices.features, self._new_uid)
        return []

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        found = state.get(self.name, PodClaims)
        if found is None:
            return
        tracker = self._devices.claims
        for claim in found.claims[: found.n_user]:
            if tracker.drop_pending(claim.uid):
                tracker.restore(claim.namespace, claim.name)
            if claim.status.allocation is not None and claim.is_reserved_for(pod.uid):
                self.handle.start(partial(self._binder.unreserve, claim, pod))
        special = found.special
        if special is None:
            return
        if tracker.drop_pending(found.special_uid) and not is_special_name(special):
            tracker.restore(special.namespace, special.name)
        if not is_special_name(special):
            self.handle.start(lambda: self._binder.delete(special))

    def _new_uid(self) -> str:
        if self._random is None:
            return str(uuid.uuid4())
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    # --- PreBind ----------------------------------------------------------------------------------

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> PreBindPreFlight | Status:
        found = state.get(self.name, PodClaims)
        if found is None:
            return Status.failed(NOT_FOUND)
        return PreBindPreFlight(allow_parallel=True) if found.claims else SKIP

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        found = state.get(self.name, PodClaims)
        if found is None:
            return Status.failed(NOT_FOUND)
        try:
            for i, claim in enumerate(found.claims):
                if not claim.is_reserved_for(pod.uid):
                    found.claims[i] = await self._binder.bind(found, i, pod)
            if self._devices.features.binding_conditions and have_conditions(found.claims):
                await self._await_devices(found, pod, node_name)
        except Exception as error:  # any error of the API server or the connection too
            return Status.failed(error)
        return None

    async def _await_devices(self, found: PodClaims, pod: Pod, node_name: str) -> None:
        self.handle.recorder.event(
            pod,
            kind="Normal",
            reason="BindingConditionsPending",
            action="Scheduling",
            note=f"waiting for binding conditions for device on node {node_name}",
        )
        await self._binder.wait(found, self.args.binding_timeout.total_seconds())


def _is_free(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether nobody but the pod has reserved the claim."""
    consumers = claim.status.reserved_for
    return not consumers or (len(consumers) == 1 and consumers[0].uid == pod.uid)
