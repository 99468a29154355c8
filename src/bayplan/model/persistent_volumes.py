"""PersistentVolume and PersistentVolumeClaim."""

from typing import ClassVar, Final

from bayplan.model.kube_object import ApiStruct, Condition, KubeObject, Marker, ObjectReference
from bayplan.model.pod_fields import NodeSelector
from bayplan.model.quantity import Quantity
from bayplan.model.read_only import EMPTY, freeze
from bayplan.model.resource_names import STORAGE
from bayplan.model.volume_sources import (
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    CSIPersistentVolume,
    GCEPersistentDisk,
    PersistentVolumeClaimSpec,
    PortworxVolume,
    QuantityText,
    VsphereVolume,
)

#: The older way to name a storage class; it takes precedence over the field.
_BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class VolumeNodeAffinity(ApiStruct, frozen=True, kw_only=True):
    """The nodes that can access a volume."""

    required: NodeSelector | None = None


class LocalVolume(ApiStruct, frozen=True, kw_only=True):
    """A disk of one node."""

    path: str = ""


class PersistentVolumeSpec(ApiStruct, frozen=True, kw_only=True):
    """The specification of a volume, and the claim it is bound to."""

    capacity: dict[str, QuantityText] = EMPTY
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSIPersistentVolume | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    vsphere_volume: VsphereVolume | None = None
    portworx_volume: PortworxVolume | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    local: LocalVolume | None = None
    host_path: Marker | None = None
    nfs: Marker | None = None

    def __post_init__(self) -> None:
        freeze(self, "capacity")


class PersistentVolumeStatus(ApiStruct, frozen=True, kw_only=True):
    """Available, Bound, Released, Failed."""

    phase: str = ""


class PersistentVolume(KubeObject, frozen=True, kw_only=True):
    """A volume of the cluster."""

    KIND: ClassVar[str] = "PersistentVolume"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "persistentvolumes"
    NAMESPACED: ClassVar[bool] = False

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()

    @property
    def storage_class_name(self) -> str:
        """The class, by annotation or field; empty if none."""
        return self.annotations.get(_BETA_STORAGE_CLASS, self.spec.storage_class_name)

    @property
    def storage(self) -> Quantity:
        """The capacity of the volume."""
        return Quantity.parse(self.spec.capacity.get(STORAGE))


class PersistentVolumeClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """Pending, Bound or Lost, and what was provisioned."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, QuantityText] = EMPTY
    conditions: tuple[Condition, ...] = ()
    current_volume_attributes_class_name: str | None = None

    def __post_init__(self) -> None:
        freeze(self, "capacity")


class PersistentVolumeClaim(KubeObject, frozen=True, kw_only=True):
    """A claim on a volume."""

    KIND: ClassVar[str] = "PersistentVolumeClaim"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "persistentvolumeclaims"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def storage_class_name(self) -> str:
        """The class, by annotation or field; empty if none was requested."""
        return self.annotations.get(_BETA_STORAGE_CLASS, self.spec.storage_class_name or "")

    @property
    def storage(self) -> Quantity:
        """How much storage the claim requests."""
        return Quantity.parse(self.spec.resources.requests.get(STORAGE))
