"""Volume sources of pods and of persistent volumes: the fields that the volume plugins read."""

from bayplan.model.kube_object import ApiStruct, LabelSelector, Marker, ObjectMeta
from bayplan.model.read_only import EMPTY, freeze

#: A quantity as JSON has it: "100m", 2, 0.5. `bayplan.model.quantity` parses it.
QuantityText = str | int | float


class GCEPersistentDisk(ApiStruct, frozen=True, kw_only=True):
    """A disk of Google Compute Engine."""

    pd_name: str = ""
    fs_type: str = ""
    partition: int = 0
    read_only: bool = False


class AWSElasticBlockStore(ApiStruct, frozen=True, kw_only=True):
    """A volume of AWS EBS."""

    volume_id: str = ""
    fs_type: str = ""
    partition: int = 0
    read_only: bool = False


class AzureDisk(ApiStruct, frozen=True, kw_only=True):
    """A disk of Azure."""

    disk_name: str = ""
    disk_uri: str = ""
    caching_mode: str | None = None
    fs_type: str | None = None
    read_only: bool | None = None
    kind: str | None = None


class AzureFile(ApiStruct, frozen=True, kw_only=True):
    """A file share of Azure."""

    secret_name: str = ""
    secret_namespace: str | None = None
    share_name: str = ""
    read_only: bool = False


class Cinder(ApiStruct, frozen=True, kw_only=True):
    """A volume of OpenStack Cinder."""

    volume_id: str = ""
    fs_type: str = ""
    read_only: bool = False


class VsphereVolume(ApiStruct, frozen=True, kw_only=True):
    """A disk of vSphere."""

    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""


class PortworxVolume(ApiStruct, frozen=True, kw_only=True):
    """A volume of Portworx."""

    volume_id: str = ""
    fs_type: str = ""
    read_only: bool = False


class ISCSI(ApiStruct, frozen=True, kw_only=True):
    """An iSCSI target."""

    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class RBD(ApiStruct, frozen=True, kw_only=True):
    """An image of a Ceph cluster. The API server fills in pool `rbd` where none is given."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class CSIVolume(ApiStruct, frozen=True, kw_only=True):
    """An inline ephemeral CSI volume of a pod."""

    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: dict[str, str] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "volume_attributes")


class CSIPersistentVolume(ApiStruct, frozen=True, kw_only=True):
    """The CSI source of a persistent volume."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "volume_attributes")


class ImageVolume(ApiStruct, frozen=True, kw_only=True):
    """An OCI image mounted as a volume."""

    reference: str = ""
    pull_policy: str = ""


class VolumeResourceRequirements(ApiStruct, frozen=True, kw_only=True):
    """How much storage a claim requests."""

    requests: dict[str, QuantityText] = EMPTY
    limits: dict[str, QuantityText] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "requests", "limits")


class PersistentVolumeClaimSpec(ApiStruct, frozen=True, kw_only=True):
    """What a claim requests; `volume_name` is set once it is bound."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(ApiStruct, frozen=True, kw_only=True):
    """The claim that is created for a generic ephemeral volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolume(ApiStruct, frozen=True, kw_only=True):
    """A generic ephemeral volume: a claim named `<pod>-<volume>`, created for the pod."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class PersistentVolumeClaimVolume(ApiStruct, frozen=True, kw_only=True):
    """A volume of a pod that is a claim."""

    claim_name: str = ""
    read_only: bool = False


class Volume(ApiStruct, frozen=True, kw_only=True):
    """A volume of a pod; exactly one source is set. Sources that no plugin reads are markers."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    csi: CSIVolume | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    vsphere_volume: VsphereVolume | None = None
    portworx_volume: PortworxVolume | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    image: ImageVolume | None = None
    config_map: Marker | None = None
    secret: Marker | None = None
    projected: Marker | None = None
    downward_api: Marker | None = None
    empty_dir: Marker | None = None
    host_path: Marker | None = None

    @property
    def matters_for_placement(self) -> bool:
        """Whether any plugin reads this volume; none reads the sources that every node can provide."""
        return not (
            self.projected is not None
            or self.config_map is not None
            or self.secret is not None
            or self.downward_api is not None
            or self.empty_dir is not None
            or self.host_path is not None
        )
