"""PersistentVolume and PersistentVolumeClaim: storage and the claims on it."""

from typing import ClassVar, Final

from msgspec import field

from bayplan.model.affinity import NodeSelector
from bayplan.model.base import Marker, Part
from bayplan.model.meta import Condition, ObjectReference
from bayplan.model.objects import KubeObject
from bayplan.model.quantity import Quantity
from bayplan.model.resource_names import STORAGE
from bayplan.model.volumes import (
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

#: Older way to name a storage class; where present it wins over the field.
_BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class VolumeNodeAffinity(Part, frozen=True, kw_only=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class LocalVolume(Part, frozen=True, kw_only=True):
    """A disk of one node."""

    path: str = ""


class PersistentVolumeSpec(Part, frozen=True, kw_only=True):
    """What a volume is and who has claimed it."""

    capacity: dict[str, QuantityText] = field(default_factory=dict)
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


class PersistentVolumeStatus(Part, frozen=True, kw_only=True):
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
        """How much the volume holds."""
        return Quantity.parse(self.spec.capacity.get(STORAGE))


class PersistentVolumeClaimStatus(Part, frozen=True, kw_only=True):
    """Pending, Bound or Lost, and what was got."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, QuantityText] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    current_volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(KubeObject, frozen=True, kw_only=True):
    """A claim on a volume."""

    KIND: ClassVar[str] = "PersistentVolumeClaim"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "persistentvolumeclaims"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def storage_class_name(self) -> str:
        """The class, by annotation or field; empty if none was asked for."""
        return self.annotations.get(_BETA_STORAGE_CLASS, self.spec.storage_class_name or "")

    @property
    def storage(self) -> Quantity:
        """How much the claim asks for."""
        return Quantity.parse(self.spec.resources.requests.get(STORAGE))
