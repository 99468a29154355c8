"""Storage classes and CSI: StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment."""

from typing import ClassVar

from msgspec import field

from bayplan.model.base import Part
from bayplan.model.meta import LabelSelector
from bayplan.model.objects import KubeObject
from bayplan.model.volumes import QuantityText

_STORAGE_V1 = "storage.k8s.io/v1"


class TopologySelectorLabelRequirement(Part, frozen=True, kw_only=True):
    """A key and the values of it that are allowed."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Part, frozen=True, kw_only=True):
    """Requirements that must all hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(KubeObject, frozen=True, kw_only=True):
    """How volumes of this class are made, and where they may be."""

    KIND: ClassVar[str] = "StorageClass"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "storageclasses"
    NAMESPACED: ClassVar[bool] = False

    provisioner: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()

    @property
    def waits_for_first_consumer(self) -> bool:
        """Whether volumes are bound only once a pod that uses them is scheduled."""
        return self.volume_binding_mode == "WaitForFirstConsumer"


class VolumeNodeResources(Part, frozen=True, kw_only=True):
    """How many volumes of a driver a node takes; no count means no limit."""

    count: int | None = None


class CSINodeDriver(Part, frozen=True, kw_only=True):
    """A driver that runs on the node."""

    name: str = ""
    node_id: str = ""
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Part, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject, frozen=True, kw_only=True):
    """The CSI drivers on the node of the same name."""

    KIND: ClassVar[str] = "CSINode"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "csinodes"
    NAMESPACED: ClassVar[bool] = False

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Part, frozen=True, kw_only=True):
    """What a driver wants of the scheduler."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubeObject, frozen=True, kw_only=True):
    """A CSI driver, by its name."""

    KIND: ClassVar[str] = "CSIDriver"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "csidrivers"
    NAMESPACED: ClassVar[bool] = False

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeObject, frozen=True, kw_only=True):
    """How much storage of a class there is in a part of the topology."""

    KIND: ClassVar[str] = "CSIStorageCapacity"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "csistoragecapacities"

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None


class VolumeAttachmentSource(Part, frozen=True, kw_only=True):
    """The volume that is attached; None for an inline volume."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Part, frozen=True, kw_only=True):
    """Who attaches what where."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(Part, frozen=True, kw_only=True):
    """Whether it is done."""

    attached: bool = False


class VolumeAttachment(KubeObject, frozen=True, kw_only=True):
    """A volume that is, or is to be, attached to a node."""

    KIND: ClassVar[str] = "VolumeAttachment"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "volumeattachments"
    NAMESPACED: ClassVar[bool] = False

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
