"""Volumes of the pods on nodes: how many each node has of those that rules of storage are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayplan.cache.part import Column, Part

if TYPE_CHECKING:
    from bayplan.model import Pod, Volume


class VolumePart(Part):
    """Two counts per node. They tell where to look; what is found there is for the plugins."""

    def __init__(self, capacity: int) -> None:
        #: Volumes that may be attached to the node: claims, generic ephemeral volumes, disks of a cloud.
        self.attachable = Column(capacity, np.int64)
        #: Disks that pods cannot share at will: GCE, AWS, iSCSI, RBD.
        self.exclusive = Column(capacity, np.int64)

    def grow(self, capacity: int) -> None:
        self.attachable.grow(capacity)
        self.exclusive.grow(capacity)

    def move_row(self, source: int, target: int) -> None:
        self.attachable.move(source, target)
        self.exclusive.move(source, target)

    def add_pod(self, row: int, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            if not _is_plain(volume):
                self.attachable.data[row] += _is_attachable(volume)
                self.exclusive.data[row] += _is_exclusive(volume)

    def remove_pod(self, row: int, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            if not _is_plain(volume):
                self.attachable.data[row] -= _is_attachable(volume)
                self.exclusive.data[row] -= _is_exclusive(volume)


def _is_plain(volume: Volume) -> bool:
    """The kinds that nearly every pod has, and no rule is about."""
    return (
        volume.projected is not None
        or volume.config_map is not None
        or volume.secret is not None
        or volume.empty_dir is not None
    )


def _is_attachable(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.azure_disk is not None
        or volume.cinder is not None
        or volume.portworx_volume is not None
    )


def _is_exclusive(volume: Volume) -> bool:
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )
