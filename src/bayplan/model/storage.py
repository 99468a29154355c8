"""Storage classes and CSI: StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment."""

from typing import ClassVar

from bayplan.model.kube_object import ApiStruct, KubeObject, LabelSelector
from bayplan.model.read_only import EMPTY, freeze
from bayplan.model.volume_sources import QuantityText

_STORAGE_V1 = "storage.k8s.io/v1"


class TopologySelectorLabelRequirement(ApiStruct, frozen=True, kw_only=True):
    """A key and the values of it that are allowed."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(ApiStruct, frozen=True, kw_only=True):
    """Requirements that must all hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(KubeObject, frozen=True, kw_only=True):
    """How volumes of this class are provisioned, and in which topology."""

    KIND: ClassVar[str] = "StorageClass"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "storageclasses"
    NAMESPACED: ClassVar[bool] = False

    provisioner: str = ""
    parameters: dict[str, str] = EMPTY
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "parameters")

    @property
    def waits_for_first_consumer(self) -> bool:
        """Whether volumes are bound only once a pod that uses them is scheduled."""
        return self.volume_binding_mode == "WaitForFirstConsumer"


class VolumeNodeResources(ApiStruct, frozen=True, kw_only=True):
    """How many volumes of a driver can be attached to a node; no count means no limit."""

    count: int | None = None


class CSINodeDriver(ApiStruct, frozen=True, kw_only=True):
    """A driver that runs on the node."""

    name: str = ""
    node_id: str = ""
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(ApiStruct, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject, frozen=True, kw_only=True):
    """The CSI drivers on the node of the same name."""

    KIND: ClassVar[str] = "CSINode"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "csinodes"
    NAMESPACED: ClassVar[bool] = False

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(ApiStruct, frozen=True, kw_only=True):
    """The fields of a driver that affect scheduling."""

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
    """The storage capacity of a class in a topology segment."""

    KIND: ClassVar[str] = "CSIStorageCapacity"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "csistoragecapacities"

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None


class VolumeAttachmentSource(ApiStruct, frozen=True, kw_only=True):
    """The volume that is attached; None for an inline volume."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(ApiStruct, frozen=True, kw_only=True):
    """The attacher, the volume and the node."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(ApiStruct, frozen=True, kw_only=True):
    """Whether the volume is attached."""

    attached: bool = False


class VolumeAttachment(KubeObject, frozen=True, kw_only=True):
    """A volume that is attached, or will be, to a node."""

    KIND: ClassVar[str] = "VolumeAttachment"
    API_VERSION: ClassVar[str] = _STORAGE_V1
    PLURAL: ClassVar[str] = "volumeattachments"
    NAMESPACED: ClassVar[bool] = False

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
