"""ResourceClaim, ResourceClaimTemplate and DeviceClass: requests for devices, and what was allocated."""

from typing import Any, ClassVar, Final

from bayplan.model.kube_object import ApiStruct, Condition, KubeObject, ObjectMeta
from bayplan.model.pod_fields import NodeSelector
from bayplan.model.read_only import EMPTY, freeze
from bayplan.model.taints import Toleration
from bayplan.model.volume_sources import QuantityText

EXACT_COUNT: Final = "ExactCount"
ALL_DEVICES: Final = "All"
#: Keeps an allocated claim from being removed before its devices are released.
CLAIM_FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: On the claim that the scheduler creates for a pod's extended resources.
EXTENDED_RESOURCE_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"


# --- requests ---------------------------------------------------------------------------------------------


class CELDeviceSelector(ApiStruct, frozen=True, kw_only=True):
    """An expression that is true for the devices that match."""

    expression: str = ""


class DeviceSelector(ApiStruct, frozen=True, kw_only=True):
    """A condition on devices."""

    cel: CELDeviceSelector | None = None


class CapacityRequirements(ApiStruct, frozen=True, kw_only=True):
    """How much of a device's capacity is requested, by name."""

    requests: dict[str, QuantityText] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "requests")


class ExactDeviceRequest(ApiStruct, frozen=True, kw_only=True):
    """A request for devices of one class."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(ApiStruct, frozen=True, kw_only=True):
    """One of the alternatives of a request."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(ApiStruct, frozen=True, kw_only=True):
    """A request of a claim: either exact, or alternatives of which the first that is available is taken."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(ApiStruct, frozen=True, kw_only=True):
    """An attribute that must be the same, or different, for all devices of the named requests (all if empty)."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueDeviceConfiguration(ApiStruct, frozen=True, kw_only=True):
    """Parameters that only the driver understands."""

    driver: str = ""
    parameters: Any = None


class DeviceClaimConfiguration(ApiStruct, frozen=True, kw_only=True):
    """Configuration of the devices of the named requests (all if empty)."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(ApiStruct, frozen=True, kw_only=True):
    """What a claim asks for."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(ApiStruct, frozen=True, kw_only=True):
    """The specification of a claim; immutable."""

    devices: DeviceClaim = DeviceClaim()


# --- allocation -------------------------------------------------------------------------------------------


class DeviceRequestAllocationResult(ApiStruct, frozen=True, kw_only=True):
    """One device that was allocated for a request."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[Toleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = None
    consumed_capacity: dict[str, QuantityText] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "consumed_capacity")


class DeviceAllocationConfiguration(ApiStruct, frozen=True, kw_only=True):
    """Configuration of allocated devices, from the class or from the claim."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(ApiStruct, frozen=True, kw_only=True):
    """All devices of a claim with their configuration."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(ApiStruct, frozen=True, kw_only=True):
    """What was allocated for a claim, and the nodes where it can be used (None: all)."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(ApiStruct, frozen=True, kw_only=True):
    """Who may use an allocated claim; usually a pod."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(ApiStruct, frozen=True, kw_only=True):
    """What a driver reports of an allocated device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = None
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(ApiStruct, frozen=True, kw_only=True):
    """The status of a claim: allocated or not, and who may use it."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


# --- kinds ------------------------------------------------------------------------------------------------


class ResourceClaim(KubeObject, frozen=True, kw_only=True):
    """A claim on devices."""

    KIND: ClassVar[str] = "ResourceClaim"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "resourceclaims"

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    def is_reserved_for(self, uid: str) -> bool:
        """Whether the pod with that uid may use the claim."""
        return any(consumer.uid == uid for consumer in self.status.reserved_for)


class ResourceClaimTemplateSpec(ApiStruct, frozen=True, kw_only=True):
    """The claims that are created from a template."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubeObject, frozen=True, kw_only=True):
    """A template from which a claim is created for every pod that names it."""

    KIND: ClassVar[str] = "ResourceClaimTemplate"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "resourceclaimtemplates"

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceClassConfiguration(ApiStruct, frozen=True, kw_only=True):
    """Configuration of every device that is allocated by a class."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(ApiStruct, frozen=True, kw_only=True):
    """Which devices are of a class, how they are configured, and the extended resource they provide."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubeObject, frozen=True, kw_only=True):
    """A class of devices that claims can request."""

    KIND: ClassVar[str] = "DeviceClass"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "deviceclasses"
    NAMESPACED: ClassVar[bool] = False

    spec: DeviceClassSpec = DeviceClassSpec()
