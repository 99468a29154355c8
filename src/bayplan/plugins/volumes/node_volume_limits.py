"""NodeVolumeLimits: limits the volumes of a CSI driver on a node to what its CSINode allows.

A volume that several pods of the node use counts once; so does one that a VolumeAttachment names. An upper bound
in the cache shows which nodes are far from their limits, so that their pods need not be examined.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

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
from bayplan.model import CSIDriver
from bayplan.plugins.volumes._attached_volumes import NO_LIMIT, AttachedVolumes, NodeLimits, VolumeCountError
from bayplan.plugins.volumes._claims import storage_signature, uses_claim
from bayplan.plugins.volumes._csi_migration import TranslationError, in_tree_plugin, volume_handle

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from bayplan.framework import BoolArray, NodeInfo, Verdict
    from bayplan.model import CSINode, PersistentVolumeClaim, Pod, Volume, VolumeAttachment

NOT_INSTALLED: Final = "{driver} CSI driver is not installed on the node"
EXCEEDED: Final = "node(s) exceed max volume count"


class NodeVolumeLimits(Plugin[None]):
    name = "NodeVolumeLimits"

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._volumes = AttachedVolumes(handle.informers)
        self._nodes = NodeLimits(handle)
        self._drivers = handle.informers.lister(CSIDriver)
        self._requires_drivers = handle.release.is_enabled("VolumeLimitScaling")

    def sign(self, pod: Pod) -> Hashable | None:
        return storage_signature(pod)

    def events_to_register(self) -> Sequence[ClusterEvent]:
        return (
            ClusterEvent(Resource.CSI_NODE, Action.ADD),
            ClusterEvent(Resource.CSI_NODE, Action.UPDATE, self._after_csi_node_updated),
            ClusterEvent(Resource.POD, Action.DELETE, self._after_pod_deleted),
            ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, self._after_claim_added),
            ClusterEvent(Resource.VOLUME_ATTACHMENT, Action.DELETE, self._after_attachment_deleted),
        )

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        return None if any(map(_may_count, pod.spec.volumes)) else SKIP_ALIKE

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        has_csi_node = self._nodes.has_csi_node(nodes)
        verdict = nodes.accept_all()
        for where, migrated in ((has_csi_node, True), (~has_csi_node, False)):
            if not where.any():
                continue
            try:
                wanted = self._volumes.of_pod(pod, has_csi_node=migrated, is_new=True)
            except VolumeCountError as error:
                verdict = verdict.reject(where, error.status.message, error.status.code)
                continue
            for driver in self._required_drivers(wanted):
                lacking = where & ~self._nodes.has_driver(driver, nodes)
                verdict = verdict.reject(lacking, NOT_INSTALLED.format(driver=driver))
                where = where & ~lacking
            if migrated and wanted:
                verdict = self._reject_full(verdict, wanted, nodes, where)
        return verdict

    def _required_drivers(self, wanted: Mapping[str, str]) -> list[str]:
        """The drivers of *wanted* that keep pods away from nodes where they do not run."""
        if not self._requires_drivers:
            return []
        known = ((driver, self._drivers.get(driver)) for driver in dict.fromkeys(wanted.values()))
        return [
            driver for driver, found in known if found is not None and found.spec.prevent_pod_scheduling_if_missing
        ]

    def _reject_full(
        self, verdict: Verdict, wanted: Mapping[str, str], nodes: NodeTable, where: BoolArray
    ) -> Verdict:
        full = np.zeros(len(nodes), dtype=np.bool_)
        for position in np.flatnonzero(where & self._may_exceed(wanted, nodes)).tolist():
            try:
                full[position] = self._exceeds(wanted, nodes[position])
            except VolumeCountError as error:
                here = np.zeros(len(nodes), dtype=np.bool_)
                here[position] = True
                verdict = verdict.reject(here, error.status.message, Code.ERROR)
        return verdict.reject(full, EXCEEDED)

    def _may_exceed(self, wanted: Mapping[str, str], nodes: NodeTable) -> BoolArray:
        """The nodes that would exceed a limit if every use of a volume counted separately: an upper bound."""
        n_there = nodes.attachable_volumes() + self._nodes.n_attachments(nodes)
        close = np.zeros(len(nodes), dtype=np.bool_)
        for driver, n_wanted in Counter(wanted.values()).items():
            limits = self._nodes.limits(driver, nodes)
            close |= (limits != NO_LIMIT) & (n_there + n_wanted > limits)
        return close

    def _exceeds(self, wanted: Mapping[str, str], node: NodeInfo) -> bool:
        used: dict[str, str] = {}
        for pod in node.pods:
            if pod.spec.volumes:
                used |= self._volumes.of_pod(pod, has_csi_node=True, is_new=False)
        attached = self._volumes.attached(self._nodes.attachments(node.name))
        n_there = Counter(driver for volume, driver in attached.items() if volume not in used)
        n_there.update(used.values())
        n_more = Counter(driver for volume, driver in wanted.items() if volume not in used)
        limits = self._nodes.limits_of(node.name)
        return any(n_there[driver] + n > limits[driver] for driver, n in n_more.items() if driver in limits)

    # --- queueing hints ---------------------------------------------------------------------------

    def _after_csi_node_updated(self, pod: Pod, old: CSINode, new: CSINode) -> Hint:
        before = _counts(old)
        raised = any(count > before.get(driver, 0) for driver, count in _counts(new).items())
        return Hint.QUEUE if raised else Hint.SKIP

    def _after_pod_deleted(self, pod: Pod, old: Pod, new: object) -> Hint:
        had_node = old.spec.node_name or old.status.nominated_node_name
        return Hint.QUEUE if had_node and any(map(_may_count, old.spec.volumes)) else Hint.SKIP

    def _after_claim_added(self, pod: Pod, old: object, new: PersistentVolumeClaim) -> Hint:
        return Hint.QUEUE if uses_claim(pod, new) else Hint.SKIP

    def _after_attachment_deleted(self, pod: Pod, old: VolumeAttachment, new: object) -> Hint:
        relevant = any(_is_attached_by(volume, old.spec.attacher) for volume in pod.spec.volumes)
        return Hint.QUEUE if relevant else Hint.SKIP


def _may_count(volume: Volume) -> bool:
    """Whether a CSI driver may count the volume; the most common kinds are excluded first."""
    if volume.projected or volume.config_map or volume.secret or volume.empty_dir:
        return False
    return bool(volume.persistent_volume_claim or volume.ephemeral) or in_tree_plugin(volume) is not None


def _is_attached_by(volume: Volume, attacher: str) -> bool:
    """Whether detaching a volume of *attacher* may help a pod with *volume*."""
    if volume.persistent_volume_claim is not None:
        return True
    plugin = in_tree_plugin(volume)
    if plugin is None:
        return False
    try:
        volume_handle(volume)
    except TranslationError:
        return True  # a volume that cannot be translated may belong to any driver
    return plugin.driver == attacher


def _counts(csi_node: CSINode) -> dict[str, int]:
    """Driver → limit, 0 where there is none."""
    return {
        driver.name: (driver.allocatable.count or 0) if driver.allocatable is not None else 0
        for driver in csi_node.spec.drivers
    }
