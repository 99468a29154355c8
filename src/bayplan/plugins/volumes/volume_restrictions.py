"""VolumeRestrictions: disks that pods on a node cannot share, and claims that only one pod may use.

A GCE, AWS, iSCSI or RBD disk that a pod on a node uses excludes other pods with the same disk from that node,
unless all use it read-only (AWS: always). A claim with the access mode ReadWriteOncePod that a pod uses excludes
other pods from every node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import (
    SKIP,
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
from bayplan.model import PersistentVolumeClaim, Pod, Volume
from bayplan.plugins.volumes._claims import claim_not_found, named_claims, storage_signature

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from bayplan.framework import NodeInfo, Verdict

DISK_CONFLICT: Final = "node(s) had no available disk"
POD_CONFLICT: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
#: The error if PreFilter did not run.
_UNREAD: Final = 'cannot read "PreFilterVolumeRestrictions" from cycleState'
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"


@dataclass(slots=True)
class Conflicts:
    """The result of PreFilter. As in Kubernetes, users are counted by the claim's name, whatever their
    namespace."""

    disks: tuple[Volume, ...]
    once_pod_claims: frozenset[str]
    #: How many of these claims are in use; a pod added or removed in a dry run counts once per volume.
    n_used: int

    def clone(self) -> Conflicts:
        return replace(self)

    def count(self, moved: Pod) -> int:
        return sum(name in self.once_pod_claims for name in named_claims(moved))


class VolumeRestrictions(Plugin[None]):
    name = "VolumeRestrictions"

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._claims = handle.informers.lister(PersistentVolumeClaim)

    def sign(self, pod: Pod) -> Hashable | None:
        return storage_signature(pod)

    def events_to_register(self) -> Sequence[ClusterEvent]:
        return (
            ClusterEvent(Resource.POD, Action.DELETE, self._after_pod_deleted),
            ClusterEvent(Resource.NODE, Action.ADD),
            ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, self._after_claim_added),
        )

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        if not pod.spec.volumes:
            return SKIP_ALIKE
        claims, disks = named_claims(pod), exclusive_disks(pod)
        if not claims and not disks:
            return SKIP
        once_pod: set[str] = set()
        for name in claims:
            claim = self._claims.get(name, pod.namespace)
            if claim is None:
                return Status.unresolvable(claim_not_found(name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                once_pod.add(name)
        n_used = sum(bool(nodes.claim_users(f"{pod.namespace}/{name}").any()) for name in once_pod)
        if not disks and not n_used:
            return SKIP
        state.write(self.name, Conflicts(disks, frozenset(once_pod), n_used))
        return None

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node: NodeInfo) -> None:
        conflicts = state.read(self.name, Conflicts)
        conflicts.n_used += conflicts.count(pod_to_add)

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: Pod, node: NodeInfo) -> None:
        conflicts = state.read(self.name, Conflicts)
        conflicts.n_used -= conflicts.count(pod_to_remove)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        conflicts = state.get(self.name, Conflicts)
        disks = exclusive_disks(pod) if conflicts is None else conflicts.disks
        taken = np.zeros(len(nodes), dtype=np.bool_)
        if disks:
            for position in np.flatnonzero(nodes.exclusive_disks()).tolist():
                taken[position] = any(disks_conflict(disks, other) for other in nodes[position].pods)
        verdict = nodes.reject(taken, DISK_CONFLICT)
        # The disk conflict takes precedence as the reason over that of the claim.
        if conflicts is None:
            return verdict.reject(~taken, _UNREAD, Code.ERROR)
        return verdict.reject(~taken, POD_CONFLICT) if conflicts.n_used > 0 else verdict

    # --- queueing hints ---------------------------------------------------------------------------

    def _after_pod_deleted(self, pod: Pod, old: Pod, new: object) -> Hint:
        if old.namespace != pod.namespace:
            return Hint.SKIP
        # The access mode is not checked: it is enough that the deleted pod used one of the claims.
        shares_claim = not set(named_claims(pod)).isdisjoint(named_claims(old))
        return Hint.QUEUE if shares_claim or disks_conflict(exclusive_disks(pod), old) else Hint.SKIP

    def _after_claim_added(self, pod: Pod, old: object, new: PersistentVolumeClaim) -> Hint:
        wanted = new.namespace == pod.namespace and new.name in named_claims(pod)
        return Hint.QUEUE if wanted else Hint.SKIP


def exclusive_disks(pod: Pod) -> tuple[Volume, ...]:
    """The volumes of the pod that may conflict with those of another pod on the same node."""
    return tuple(
        volume
        for volume in pod.spec.volumes
        if volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.rbd or volume.iscsi
    )


def disks_conflict(disks: Sequence[Volume], other: Pod) -> bool:
    """Whether *other* uses one of *disks* in a way that excludes a second pod."""
    return any(_same_disk(disk, volume) for disk in disks for volume in other.spec.volumes)


def _same_disk(one: Volume, other: Volume) -> bool:
    if (gce := one.gce_persistent_disk) and (gce_there := other.gce_persistent_disk):
        return gce.pd_name == gce_there.pd_name and not (gce.read_only and gce_there.read_only)
    if (ebs := one.aws_elastic_block_store) and (ebs_there := other.aws_elastic_block_store):
        return ebs.volume_id == ebs_there.volume_id  # never shared, not even read-only
    if (iscsi := one.iscsi) and (iscsi_there := other.iscsi):
        return iscsi.iqn == iscsi_there.iqn and not (iscsi.read_only and iscsi_there.read_only)
    if (rbd := one.rbd) and (rbd_there := other.rbd):
        same_image = (rbd.pool, rbd.image) == (rbd_there.pool, rbd_there.image)
        same_cluster = not set(rbd.monitors).isdisjoint(rbd_there.monitors)
        return same_image and same_cluster and not (rbd.read_only and rbd_there.read_only)
    return False
