"""VolumeBinding: a pod with claims fits where its volumes are available, can be bound, or can be provisioned.

Filter finds volumes for all nodes; Reserve assumes the result for the chosen node; PreBind writes it to the API
server and waits for the PV controller and the provisioners. Claims with immediate binding must be bound before the
pod is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.config.args import VolumeBindingArgs
from bayplan.framework import (
    SKIP,
    SKIP_ALIKE,
    SUCCESS_ALONE,
    Action,
    ClusterEvent,
    CycleState,
    Handle,
    Hint,
    NodeTable,
    Plugin,
    PreBindPreFlight,
    Reads,
    Resource,
    Status,
)
from bayplan.model import PersistentVolumeClaim, PodClaim, StorageClass, claim_made_for, pod_claims
from bayplan.plugins._missing_state import NOT_FOUND, fail_all
from bayplan.plugins.volumes._assume_cache import AssumeCache, AssumeError, VolumeIndex
from bayplan.plugins.volumes._capacity_scores import CapacityScorer
from bayplan.plugins.volumes._claims import (
    binding_mode_not_set,
    claim_not_found,
    not_made_for,
    storage_signature,
    uses_claim,
)
from bayplan.plugins.volumes._csi_migration import MIGRATED_PLUGINS
from bayplan.plugins.volumes._volume_binder import BindError, PodVolumes, VolumeBinder, is_fully_bound
from bayplan.plugins.volumes._volume_finder import PodVolumeClaims, VolumeFinder
from bayplan.plugins.volumes._volume_matching import MatchError
from bayplan.plugins.volumes._volume_provisioning import ProvisionError, volume_limit

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from bayplan.framework import IntArray, Verdict
    from bayplan.model import CSIDriver, CSINode, CSIStorageCapacity, Pod

UNBOUND_IMMEDIATE: Final = "pod has unbound immediate PersistentVolumeClaims"


@dataclass(slots=True)
class Attempt:
    """The state of one attempt; shared by the clones of its cycle state."""

    claims: PodVolumeClaims
    #: What Reserve has assumed; None before, and if everything is already bound.
    volumes: PodVolumes | None = None
    #: Whether Filter has looked for volumes.
    is_filtered: bool = False


#: The state of a pod without claims; never modified.
_NO_CLAIMS: Final = Attempt(PodVolumeClaims((), ()))


class VolumeBinding(Plugin[VolumeBindingArgs]):
    name = "VolumeBinding"
    # For the pods that have a signature, those without storage; what is found for others is for one pod alone.
    reads = Reads.NODE

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        index = VolumeIndex(handle.informers)
        self._stored_claims = handle.informers.lister(PersistentVolumeClaim)
        self._claims = AssumeCache(handle.informers, PersistentVolumeClaim)
        self._classes = handle.informers.lister(StorageClass)
        self._finder = VolumeFinder(handle.informers, index)
        self._binder = VolumeBinder(handle, index, self._claims, self._finder)
        has_scores = handle.release.is_enabled("StorageCapacityScoring")
        self._scorer = CapacityScorer(args.shape) if has_scores else None

    def sign(self, pod: Pod) -> Hashable | None:
        return storage_signature(pod)

    def events_to_register(self) -> Sequence[ClusterEvent]:
        changed = Action.ADD | Action.UPDATE
        return (
            ClusterEvent(Resource.STORAGE_CLASS, changed, self._after_class_change),
            ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, changed, self._after_claim_change),
            ClusterEvent(Resource.PERSISTENT_VOLUME, changed),
            ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            ClusterEvent(Resource.CSI_NODE, changed, self._after_csi_node_change),
            ClusterEvent(Resource.CSI_DRIVER, Action.UPDATE, self._after_driver_update),
            ClusterEvent(Resource.CSI_STORAGE_CAPACITY, changed, self._after_capacity_change),
        )

    # --- Filter -----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status:
        claims = pod_claims(pod) if pod.spec.volumes else ()
        if not claims:
            state.write(self.name, _NO_CLAIMS)
            return SKIP_ALIKE
        for claim in claims:
            if (problem := self._problem(pod, claim)) is not None:
                return Status.unresolvable(problem)
        sorted_claims = self._sort(pod, claims)
        if isinstance(sorted_claims, Status):
            return sorted_claims
        state.write(self.name, Attempt(sorted_claims))
        return SUCCESS_ALONE

    def _problem(self, pod: Pod, wanted: PodClaim) -> str | None:
        """Why the pod cannot use a claim, whatever the node."""
        name = wanted.claim_name
        claim = self._stored_claims.get(name, pod.namespace)
        if claim is None and wanted.is_ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        if claim is None:
            return claim_not_found(name)
        if claim.status.phase == "Lost":
            volume = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if wanted.is_ephemeral and not claim_made_for(pod, claim):
            return not_made_for(pod, claim)
        return None

    def _sort(self, pod: Pod, wanted: Sequence[PodClaim]) -> PodVolumeClaims | Status:
        bound: list[PersistentVolumeClaim] = []
        delayed: list[PersistentVolumeClaim] = []
        has_immediate = False
        for each in wanted:
            claim = self._claims.get(each.claim_name, pod.namespace)
            if claim is None:
                key = f"{pod.namespace}/{each.claim_name}"
                return Status.failed(f'error getting PVC "{key}": persistentvolumeclaims "{key}" not found')
            if is_fully_bound(claim):
                bound.append(claim)
                continue
            storage_class = self._classes.get(claim.storage_class_name) if claim.storage_class_name else None
            if storage_class is not None and storage_class.volume_binding_mode is None:
                return Status.failed(binding_mode_not_set(storage_class.name))
            waits = storage_class is not None and storage_class.waits_for_first_consumer
            # A claim that already names its volume is bound by the PV controller.
            if waits and not claim.spec.volume_name:
                delayed.append(claim)
            else:
                has_immediate = True
        if has_immediate:
            return Status.unresolvable(UNBOUND_IMMEDIATE)
        return PodVolumeClaims(tuple(bound), tuple(delayed))

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status:
        attempt = state.get(self.name, Attempt)
        if attempt is None:
            return fail_all(nodes, NOT_FOUND)
        attempt.is_filtered = True
        try:
            return self._finder.find(attempt.claims, nodes).verdict()
        except (MatchError, ProvisionError) as error:
            return Status.failed(error)

    # --- Score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        if self._scorer is None:
            return SKIP_ALIKE
        attempt = state.get(self.name, Attempt)
        if attempt is None:
            return Status.failed(NOT_FOUND)
        return None if attempt is _NO_CLAIMS else SUCCESS_ALONE

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray | Status:
        attempt = state.get(self.name, Attempt)
        if attempt is None:
            return Status.failed(NOT_FOUND)
        if self._scorer is None or not (attempt.claims.delayed and attempt.is_filtered):
            return np.zeros(len(nodes), dtype=np.int64)
        try:
            found = self._finder.find(attempt.claims, nodes)
        except (MatchError, ProvisionError) as error:
            return Status.failed(error)
        return self._scorer.scores(found, len(nodes))

    # --- Reserve ----------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        attempt = state.get(self.name, Attempt)
        if attempt is None:
            return Status.failed(NOT_FOUND)
        if not attempt.claims.delayed:
            return None
        nodes = self.handle.snapshot.nodes
        position = nodes.position(node_name)
        if position is None:
            return Status.failed(f'node "{node_name}" not found')
        alone = nodes.select(np.array([position], dtype=np.int64))
        try:
            found = self._finder.find(attempt.claims, alone)
            attempt.volumes = self._binder.assume(PodVolumes(found.bindings(0), found.provisions(0)), node_name)
        except (AssumeError, MatchError, ProvisionError) as error:
            return Status.failed(error)
        return None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        attempt = state.get(self.name, Attempt)
        if attempt is not None and attempt.volumes is not None:
            self._binder.revert(attempt.volumes)

    # --- PreBind ----------------------------------------------------------------------------------

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> PreBindPreFlight | Status:
        attempt = state.get(self.name, Attempt)
        if attempt is None or not attempt.claims.delayed:
            return SKIP
        if attempt.volumes is None:
            return Status.failed(f'no pod volume found for node "{node_name}"')
        return PreBindPreFlight(allow_parallel=True)

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        attempt = state.get(self.name, Attempt)
        if attempt is None or attempt.volumes is None:
            return None
        try:
            await self._binder.write(attempt.volumes)
        except Exception as error:  # any error of the API server or the connection
            return Status.failed(error)
        try:
            await self._binder.wait(attempt.volumes, pod, node_name, self.args.bind_timeout_seconds)
        except BindError as error:
            return Status.failed(f"binding volumes: {error}")
        return None

    # --- queueing hints ---------------------------------------------------------------------------

    def _after_class_change(self, pod: Pod, old: StorageClass | None, new: StorageClass) -> Hint:
        changed = old is None or old.allowed_topologies != new.allowed_topologies
        return Hint.QUEUE if changed else Hint.SKIP

    def _after_claim_change(self, pod: Pod, old: object, new: PersistentVolumeClaim) -> Hint:
        return Hint.QUEUE if uses_claim(pod, new) else Hint.SKIP

    def _after_csi_node_change(self, pod: Pod, old: CSINode | None, new: CSINode) -> Hint:
        if old is None:
            return Hint.QUEUE
        before, after = (each.annotations.get(MIGRATED_PLUGINS, "") for each in (old, new))
        return Hint.QUEUE if before != after else Hint.SKIP

    def _after_driver_update(self, pod: Pod, old: CSIDriver, new: CSIDriver) -> Hint:
        stopped = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
        uses = any(volume.csi is not None and volume.csi.driver == new.name for volume in pod.spec.volumes)
        return Hint.QUEUE if stopped and uses else Hint.SKIP

    def _after_capacity_change(self, pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> Hint:
        if old is None:
            return Hint.QUEUE
        before, after = volume_limit(old), volume_limit(new)
        grew = after is not None and (before is None or after > before)
        return Hint.QUEUE if grew else Hint.SKIP
