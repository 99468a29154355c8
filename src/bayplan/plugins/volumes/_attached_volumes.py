"""Volumes as CSI drivers count them: those of a pod, those already attached to a node, and the limits of nodes.

A volume is identified by `driver/handle`. An unbound claim counts for the driver of its storage class.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import Code, Status
from bayplan.model import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    claim_made_for,
    ephemeral_claim_name,
)
from bayplan.plugins.volumes._claims import claim_not_found, not_made_for
from bayplan.plugins.volumes._csi_migration import (
    PLUGIN_BY_NAME,
    TranslationError,
    in_tree_plugin,
    persistent_volume_handle,
    volume_handle,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bayplan.framework import BoolArray, Handle, Informers, IntArray, NodeTable
    from bayplan.model import Pod, Volume

NO_LIMIT: Final = -1
#: Keys of columns that are not about a driver; no driver has a space in its name.
_HAS_CSI_NODE: Final = "has CSINode"
_ATTACHMENTS: Final = "VolumeAttachments"


class VolumeCountError(Exception):
    """The volumes of a pod cannot be counted; `status` is the result of the attempt."""

    def __init__(self, message: str, code: Code = Code.ERROR) -> None:
        super().__init__(message)
        self.status = Status(code, (message,))


class AttachedVolumes:
    """Finds the CSI volumes of pods."""

    def __init__(self, informers: Informers) -> None:
        self._volumes = informers.lister(PersistentVolume)
        self._claims = informers.lister(PersistentVolumeClaim)
        self._classes = informers.lister(StorageClass)

    def of_pod(self, pod: Pod, *, has_csi_node: bool, is_new: bool) -> dict[str, str]:
        """`driver/handle` → driver, on a node with or without a CSINode: without one nothing is migrated.

        A missing claim of a new pod is an error; a missing claim of a running pod is ignored. Raises
        VolumeCountError.
        """
        found: dict[str, str] = {}
        for volume in pod.spec.volumes:
            counted = self._count(pod, volume, has_csi_node=has_csi_node, is_new=is_new)
            if counted is not None:
                driver, handle = counted
                found[f"{driver}/{handle}"] = driver
        return found

    def _count(self, pod: Pod, volume: Volume, *, has_csi_node: bool, is_new: bool) -> tuple[str, str] | None:
        is_ephemeral = False
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            name = ephemeral_claim_name(pod, volume)
            is_ephemeral = True
        else:
            return _count_inline(volume) if has_csi_node else None
        if not name:
            raise VolumeCountError("PersistentVolumeClaim had no name")
        claim = self._claims.get(name, pod.namespace)
        if claim is None:
            if not is_new:
                return None
            text = f"looking up PVC {pod.namespace}/{name}: {claim_not_found(name)}"
            raise VolumeCountError(text, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        if is_ephemeral and not claim_made_for(pod, claim):
            raise VolumeCountError(not_made_for(pod, claim))
        driver, handle = self._of_claim(claim, has_csi_node=has_csi_node)
        return (driver, handle) if driver and handle else None

    def _of_claim(self, claim: PersistentVolumeClaim, *, has_csi_node: bool) -> tuple[str, str]:
        volume = self._volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is None:
            return self._of_class(claim, has_csi_node=has_csi_node)
        if (csi := volume.spec.csi) is not None:
            return csi.driver, csi.volume_handle
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.is_migrated or not has_csi_node:
            return "", ""
        try:
            return plugin.driver, persistent_volume_handle(volume)
        except TranslationError:
            return "", ""

    def _of_class(self, claim: PersistentVolumeClaim, *, has_csi_node: bool) -> tuple[str, str]:
        """Without a volume yet: a unique handle, of the driver that will provision it."""
        storage_class = self._classes.get(claim.storage_class_name) if claim.storage_class_name else None
        if storage_class is None:
            return "", ""
        handle = f"unbound claim {claim.namespace}/{claim.name}"
        plugin = PLUGIN_BY_NAME.get(storage_class.provisioner)
        if plugin is None:
            return storage_class.provisioner, handle
        return (plugin.driver, handle) if plugin.is_migrated and has_csi_node else ("", "")

    def attached(self, attachments: Iterable[VolumeAttachment]) -> dict[str, str]:
        """`driver/handle` → driver of the volumes in VolumeAttachments; only CSI volumes count."""
        found: dict[str, str] = {}
        for attachment in attachments:
            attacher, name = attachment.spec.attacher, attachment.spec.source.persistent_volume_name
            volume = self._volumes.get(name) if attacher and name is not None else None
            if volume is not None and volume.spec.csi is not None:
                found[f"{attacher}/{volume.spec.csi.volume_handle}"] = attacher
        return found


def _count_inline(volume: Volume) -> tuple[str, str] | None:
    plugin = in_tree_plugin(volume)
    if plugin is None or not plugin.is_migrated:
        return None
    try:
        return plugin.driver, volume_handle(volume)
    except TranslationError as error:
        raise VolumeCountError(f"converting volume({volume.name}) from inline to csi: {error}") from None


class NodeLimits:
    """Limits of nodes and the VolumeAttachments to them, as columns over the whole table.

    A column is computed when it is first needed, and cached until a node is added or removed or an object changes.
    """

    def __init__(self, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._csi_nodes = handle.informers.lister(CSINode)
        self._attachments: defaultdict[str, dict[str, VolumeAttachment]] = defaultdict(dict)
        self._cached: dict[str, IntArray] = {}
        self._cached_for: NodeTable | None = None
        for attachment in handle.informers.lister(VolumeAttachment).list():
            self._attachment_changed(None, attachment)
        handle.informers.on_change(CSINode, lambda old, new: self._cached.clear())
        handle.informers.on_change(VolumeAttachment, self._attachment_changed)

    def has_csi_node(self, nodes: NodeTable) -> BoolArray:
        return self._column(_HAS_CSI_NODE, nodes, lambda name: self._csi_nodes.get(name) is not None).astype(
            np.bool_
        )

    def has_driver(self, driver: str, nodes: NodeTable) -> BoolArray:
        """The nodes on which *driver* runs."""
        return self._column(f"runs {driver}", nodes, lambda name: self._runs(name, driver)).astype(np.bool_)

    def _runs(self, node_name: str, driver: str) -> bool:
        csi_node = self._csi_nodes.get(node_name)
        return csi_node is not None and any(each.name == driver for each in csi_node.spec.drivers)

    def limits(self, driver: str, nodes: NodeTable) -> IntArray:
        """How many volumes of *driver* each node takes; NO_LIMIT where its CSINode does not say."""
        return self._column(driver, nodes, lambda name: self.limits_of(name).get(driver, NO_LIMIT))

    def limits_of(self, node_name: str) -> dict[str, int]:
        """Driver → limit of one node."""
        return _limits(self._csi_nodes.get(node_name))

    def n_attachments(self, nodes: NodeTable) -> IntArray:
        return self._column(_ATTACHMENTS, nodes, lambda name: len(self._attachments.get(name, ())))

    def attachments(self, node_name: str) -> Iterable[VolumeAttachment]:
        return self._attachments.get(node_name, {}).values()

    def _column(self, key: str, nodes: NodeTable, value: Callable[[str], int]) -> IntArray:
        whole = self._snapshot.nodes
        if self._cached_for is not whole:
            self._cached.clear()
            self._cached_for = whole
        column = self._cached.get(key)
        if column is None:
            column = np.fromiter(map(value, whole.names), dtype=np.int64, count=len(whole))
            self._cached[key] = column
        return column if nodes.is_whole else column[nodes.rows]

    def _attachment_changed(self, old: VolumeAttachment | None, new: VolumeAttachment | None) -> None:
        if old is not None:
            self._attachments[old.spec.node_name].pop(old.name, None)
        if new is not None:
            self._attachments[new.spec.node_name][new.name] = new
        self._cached.pop(_ATTACHMENTS, None)


def _limits(csi_node: CSINode | None) -> dict[str, int]:
    """Driver → limit, of the drivers that have one."""
    return {
        driver.name: driver.allocatable.count
        for driver in (csi_node.spec.drivers if csi_node is not None else ())
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
