"""VolumeZone: a bound volume with zone or region labels can only be used on nodes with matching labels.

A label may list several zones, joined by two underscores. A node without any such label accepts every volume. The
beta label of a volume is compared with the newer label of a node that lacks the beta label.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import (
    SKIP_ALIKE,
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Handle,
    Hint,
    NodeTable,
    Plugin,
    Resource,
    Status,
)
from bayplan.model import PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.plugins.volumes._claims import (
    binding_mode_not_set,
    claim_not_found,
    class_not_found,
    named_claims,
    storage_signature,
    volume_not_found,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from bayplan.framework import BoolArray, Verdict
    from bayplan.model import Pod

CONFLICT: Final = "node(s) had no available volume zone"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
TOPOLOGY_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)
#: Beta label → the label that replaced it.
_NEWER: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}
_SEPARATOR: Final = "__"


class TopologyLabel(NamedTuple):
    """A topology label of a volume: the node must have one of *values*."""

    key: str
    values: frozenset[str]


class VolumeZone(Plugin[None]):
    name = "VolumeZone"

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._volumes = handle.informers.lister(PersistentVolume)
        self._claims = handle.informers.lister(PersistentVolumeClaim)
        self._classes = handle.informers.lister(StorageClass)

    def sign(self, pod: Pod) -> Hashable | None:
        return storage_signature(pod)

    def events_to_register(self) -> Sequence[ClusterEvent]:
        added_or_updated = Action.ADD | Action.UPDATE
        return (
            ClusterEvent(Resource.STORAGE_CLASS, Action.ADD, self._after_class_added),
            ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, added_or_updated, self._after_claim_change),
            ClusterEvent(Resource.PERSISTENT_VOLUME, added_or_updated, self._after_volume_change),
        )

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        if not pod.spec.volumes:
            return SKIP_ALIKE
        required = self._required_topology(pod)
        if isinstance(required, Status):
            return required
        if not required:
            return SKIP_ALIKE
        state.write(self.name, required)
        return None

    def _required_topology(self, pod: Pod) -> tuple[TopologyLabel, ...] | Status:
        """The topology labels of all volumes of the pod."""
        required: list[TopologyLabel] = []
        for name in named_claims(pod):
            found = self._topology_of_claim(name, pod.namespace)
            if isinstance(found, Status):
                return found
            required += found
        return tuple(required)

    def _topology_of_claim(self, claim_name: str, namespace: str) -> Sequence[TopologyLabel] | Status:
        """The topology labels of the claim's volume; empty for a claim that is bound together with its pod."""
        if not claim_name:
            return Status.unresolvable("PersistentVolumeClaim had no name")
        claim = self._claims.get(claim_name, namespace)
        if claim is None:
            return Status.unresolvable(claim_not_found(claim_name))
        if not claim.spec.volume_name:
            return self._refusal_of_unbound(claim) or ()
        volume = self._volumes.get(claim.spec.volume_name)
        if volume is None:
            return Status.unresolvable(volume_not_found(claim.spec.volume_name))
        return topology_of(volume)

    def _refusal_of_unbound(self, claim: PersistentVolumeClaim) -> Status | None:
        class_name = claim.storage_class_name
        if not class_name:
            return Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = self._classes.get(class_name)
        if storage_class is None:
            return Status.unresolvable(class_not_found(class_name))
        if storage_class.volume_binding_mode is None:
            return Status.unresolvable(binding_mode_not_set(class_name))
        return (
            None if storage_class.waits_for_first_consumer else Status.unresolvable("PersistentVolume had no name")
        )

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        if not pod.spec.volumes:
            return nodes.accept_all()
        required: tuple[TopologyLabel, ...] | Status | None = state.get(self.name, tuple)
        if required is None:
            required = self._required_topology(pod)  # PreFilter did not run; kube-scheduler does the same
        if isinstance(required, Status):
            return nodes.reject(np.ones(len(nodes), dtype=np.bool_), required.message, required.code)
        misplaced = np.zeros(len(nodes), dtype=np.bool_)
        for label in required:
            misplaced |= ~_matching_nodes(label, nodes)
        labelled = np.zeros(len(nodes), dtype=np.bool_)
        for key in TOPOLOGY_LABELS:
            labelled |= nodes.label(key).present
        return nodes.reject(misplaced & labelled, CONFLICT, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    # --- queueing hints ------------------------------------------------------------------------------------

    def _after_class_added(self, pod: Pod, old: object, new: StorageClass) -> Hint:
        return Hint.QUEUE if new.waits_for_first_consumer else Hint.SKIP

    def _after_claim_change(self, pod: Pod, old: object, new: PersistentVolumeClaim) -> Hint:
        wanted = new.namespace == pod.namespace and new.name in named_claims(pod)
        return Hint.QUEUE if wanted else Hint.SKIP

    def _after_volume_change(self, pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> Hint:
        moved = old is None or topology_of(old) != topology_of(new)
        return Hint.QUEUE if moved else Hint.SKIP


def topology_of(volume: PersistentVolume) -> list[TopologyLabel]:
    """The topology labels of a volume; a label that lists an empty zone is ignored."""
    required = ((key, zones_in(volume.labels[key])) for key in TOPOLOGY_LABELS if key in volume.labels)
    return [TopologyLabel(key, zones) for key, zones in required if zones is not None]


@lru_cache(maxsize=4096)
def zones_in(label: str) -> frozenset[str] | None:
    """The zones that a label lists, `a__b` for two; None if one of them is empty."""
    zones = frozenset(zone.strip() for zone in label.split(_SEPARATOR))
    return None if "" in zones else zones


def _matching_nodes(label: TopologyLabel, nodes: NodeTable) -> BoolArray:
    column = nodes.label(label.key)
    matches = column.isin(label.values)
    if label.key in _NEWER:
        newer = nodes.label(_NEWER[label.key])
        matches = np.where(column.present, matches, newer.isin(label.values))
    return matches
