"""The volume binder: binds the volumes that were chosen for a pod's claims.

Reserve assumes the choice, so that the next pod does not get the same volume. PreBind writes it to the API server,
where the PV controller and the provisioners act on it, and waits until they are done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from bayplan.model import KubeObject, PersistentVolume, PersistentVolumeClaim, Pod
from bayplan.plugins.volumes._assume_cache import AssumeCache, AssumeError, VolumeIndex, is_bound_to
from bayplan.plugins.volumes._volume_finder import SELECTED_NODE, StaticBinding, VolumeFinder

if TYPE_CHECKING:
    from bayplan.framework import Handle, NodeTable

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
#: How long to wait between checks. kube-scheduler checks once a second; most binds are done sooner.
_FIRST_WAIT_SECONDS: Final = 0.1
_LONGEST_WAIT_SECONDS: Final = 1.0

T = TypeVar("T", bound=KubeObject)


class BindError(Exception):
    """Volumes could not be bound, in Kubernetes' words; the pod is tried again."""


class PodVolumes:
    """What is to be bound and provisioned for a pod; written objects replace the planned ones."""

    def __init__(self, bindings: Sequence[StaticBinding], provisions: Sequence[PersistentVolumeClaim]) -> None:
        self.bindings = list(bindings)
        self.provisions = list(provisions)


class VolumeBinder:
    """Assumes bindings, writes them and waits for them."""

    def __init__(
        self, handle: Handle, index: VolumeIndex, claims: AssumeCache[PersistentVolumeClaim], finder: VolumeFinder
    ) -> None:
        self._handle = handle
        self._index = index
        self._claims = claims
        self._finder = finder
        self._pods = handle.informers.lister(Pod)

    # --- assume -----------------------------------------------------------------------------------

    def assume(self, decided: PodVolumes, node_name: str) -> PodVolumes:
        """Assume the bindings. Raises AssumeError, with nothing assumed."""
        assumed = PodVolumes((), ())
        try:
            for claim, volume in decided.bindings:
                bound = bind_to(volume, claim)
                if bound is not volume:
                    self._index.volumes.assume(bound)
                assumed.bindings.append(StaticBinding(claim, bound))
            for claim in decided.provisions:
                selected = _annotated(claim, SELECTED_NODE, node_name)
                self._claims.assume(selected)
                assumed.provisions.append(selected)
        except AssumeError:
            self.revert(assumed)
            raise
        return assumed

    def revert(self, volumes: PodVolumes) -> None:
        """Forget the assumed objects; those that have been written since are not affected."""
        for _, volume in volumes.bindings:
            self._index.volumes.restore(volume)
        for claim in volumes.provisions:
            self._claims.restore(claim)

    # --- write ------------------------------------------------------------------------------------

    async def write(self, volumes: PodVolumes) -> None:
        """Send the volumes with their claims, then the claims with their node.

        After an error the objects that were not sent are no longer assumed; those that were sent stay.
        """
        unsent = PodVolumes(volumes.bindings, volumes.provisions)
        try:
            for i, (claim, volume) in enumerate(volumes.bindings):
                volumes.bindings[i] = StaticBinding(claim, await self._update(volume))
                del unsent.bindings[0]
            for i, claim in enumerate(volumes.provisions):
                volumes.provisions[i] = await self._update(claim)
                del unsent.provisions[0]
        finally:
            self.revert(unsent)

    async def _update(self, value: T) -> T:
        kind = type(value)
        within = f"namespaces/{value.namespace}/" if value.namespace else ""
        body = {"apiVersion": kind.API_VERSION, "kind": kind.KIND, **value.whole}
        response = await self._handle.client.request("PUT", f"/api/v1/{within}{kind.PLURAL}/{value.name}", body)
        return kind.from_dict(response)

    # --- wait -------------------------------------------------------------------------------------

    async def wait(self, volumes: PodVolumes, pod: Pod, node_name: str, timeout_seconds: float) -> None:
        """Wait until every claim is bound. Raises BindError if that has become impossible, or takes too long."""
        clock = self._handle.clock
        deadline = clock.monotonic() + timeout_seconds
        pause = _FIRST_WAIT_SECONDS
        was_listed = self._is_listed(pod)
        while (left := deadline - clock.monotonic()) > 0:
            await clock.sleep(min(pause, left))
            if was_listed and not self._is_listed(pod):
                raise BindError(f'pod does not exist any more: pod "{pod.name}" not found')
            if self._all_bound(volumes, node_name):
                return
            pause = min(2 * pause, _LONGEST_WAIT_SECONDS)
        raise BindError("context deadline exceeded")

    def _is_listed(self, pod: Pod) -> bool:
        return self._pods.get(pod.name, pod.namespace) is not None

    def _all_bound(self, volumes: PodVolumes, node_name: str) -> bool:
        nodes = self._handle.snapshot.nodes
        position = nodes.position(node_name)
        if position is None:
            raise BindError(f'failed to get node "{node_name}": node "{node_name}" not found')
        alone = nodes.select(np.array([position], dtype=np.int64))
        return all(self._is_static_bound(binding, alone) for binding in volumes.bindings) and all(
            self._is_provisioned(claim, alone, node_name) for claim in volumes.provisions
        )

    def _is_static_bound(self, binding: StaticBinding, node: NodeTable) -> bool:
        volume = self._index.volumes.stored(binding.volume.name)
        claim = self._claims.stored(binding.claim.name, binding.claim.namespace)
        if volume is None:
            raise BindError(f'failed to check binding: persistentvolumes "{binding.volume.name}" not found')
        if claim is None:
            raise BindError(f'failed to check binding: persistentvolumeclaims "{binding.claim.key}" not found')
        if _is_older(volume, binding.volume):
            return False
        self._check_affinity(volume, node)
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise BindError(f'ClaimRef got reset for pv "{volume.name}"')
        return is_fully_bound(claim)

    def _is_provisioned(self, wanted: PersistentVolumeClaim, node: NodeTable, node_name: str) -> bool:
        claim = self._claims.stored(wanted.name, wanted.namespace)
        if claim is None:
            raise BindError(f'failed to check provisioning pvc: persistentvolumeclaims "{wanted.key}" not found')
        if _is_older(claim, wanted):
            return False
        if not claim.annotations:
            raise BindError(f'selectedNode annotation reset for PVC "{claim.name}"')
        if claim.annotations.get(SELECTED_NODE) != node_name:
            # Provisioners remove the annotation when they fail.
            raise BindError(f'provisioning failed for PVC "{claim.name}"')
        if claim.spec.volume_name:
            volume = self._index.volumes.stored(claim.spec.volume_name)
            if volume is None:
                return False  # the watch may not have delivered it yet
            self._check_affinity(volume, node)
        return is_fully_bound(claim)

    def _check_affinity(self, volume: PersistentVolume, node: NodeTable) -> None:
        """Check again: the labels of the node or the affinity of the volume may have changed."""
        availability = self._finder.availability(volume, node)
        if availability.error:
            raise BindError(f"failed to translate pv to csi: {availability.error}")
        if not availability.available[0]:
            raise BindError(
                f'pv "{volume.name}" node affinity doesn\'t match node "{node.names[0]}": '
                "no matching NodeSelectorTerms"
            )


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim has its volume, and the PV controller has completed the binding."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.annotations


def bind_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume with a reference to the claim; the same object if it already has one."""
    reference = volume.spec.claim_ref
    is_named = is_bound_to(volume, claim)
    if is_named and reference is not None and reference.uid == claim.uid:
        return volume
    raw: Mapping[str, Any] = volume.whole
    bound = PersistentVolume.from_dict({**raw, "spec": {**raw.get("spec", {}), "claimRef": _reference(claim)}})
    if is_named or BOUND_BY_CONTROLLER in volume.annotations:
        return bound  # the claim was named by a user, and this stays recorded
    return _annotated(bound, BOUND_BY_CONTROLLER, "yes")


def _reference(claim: PersistentVolumeClaim) -> dict[str, str]:
    reference = {
        "apiVersion": claim.API_VERSION,
        "kind": claim.KIND,
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "resourceVersion": claim.resource_version,
    }
    return {key: value for key, value in reference.items() if value}


def _annotated(value: T, key: str, text: str) -> T:
    raw: Mapping[str, Any] = value.whole
    metadata = raw.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), key: text}
    return type(value).from_dict({**raw, "metadata": {**metadata, "annotations": annotations}})


def _is_older(seen: KubeObject, written: KubeObject) -> bool:
    """Whether the watch has not delivered the written version yet."""
    try:
        return int(seen.resource_version or 0) < int(written.resource_version or 0)
    except ValueError:
        return False
