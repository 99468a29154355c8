"""ResourceSlice and DeviceTaintRule: the devices that a driver offers in a pool, and taints that are added."""

from typing import ClassVar

from bayplan.model.kube_object import ApiStruct, KubeObject
from bayplan.model.pod_fields import NodeSelector
from bayplan.model.read_only import EMPTY, freeze
from bayplan.model.taints import Taint
from bayplan.model.volume_sources import QuantityText


class ResourcePool(ApiStruct, frozen=True, kw_only=True):
    """The pool that a slice belongs to; only the slices of the highest generation count."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class Counter(ApiStruct, frozen=True, kw_only=True):
    """An amount that devices of a pool share."""

    value: QuantityText = "0"


class CounterSet(ApiStruct, frozen=True, kw_only=True):
    """Counters that the devices of a pool consume from, by name."""

    name: str = ""
    counters: dict[str, Counter] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "counters")


class DeviceCounterConsumption(ApiStruct, frozen=True, kw_only=True):
    """What a device consumes from one counter set while it is allocated."""

    counter_set: str = ""
    counters: dict[str, Counter] = EMPTY

    def __post_init__(self) -> None:
        freeze(self, "counters")


class DeviceAttribute(ApiStruct, frozen=True, kw_only=True):
    """The value of an attribute; exactly one of the fields is set."""

    int_: int | None = None
    bool_: bool | None = None
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class CapacityRequestPolicyRange(ApiStruct, frozen=True, kw_only=True):
    """The amounts that can be consumed: min, min + step, … up to max."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(ApiStruct, frozen=True, kw_only=True):
    """How much of a capacity a request can consume; requests are rounded up to an allowed amount."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(ApiStruct, frozen=True, kw_only=True):
    """An amount that a device has, and how requests can consume it."""

    value: QuantityText = "0"
    request_policy: CapacityRequestPolicy | None = None


class Device(ApiStruct, frozen=True, kw_only=True):
    """One device of a slice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = EMPTY
    capacity: dict[str, DeviceCapacity] = EMPTY
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[Taint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None

    def __post_init__(self) -> None:
        freeze(self, "attributes", "capacity")


class ResourceSliceSpec(ApiStruct, frozen=True, kw_only=True):
    """The contents of a slice, and the nodes that can use its devices."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubeObject, frozen=True, kw_only=True):
    """A part of a pool of devices."""

    KIND: ClassVar[str] = "ResourceSlice"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "resourceslices"
    NAMESPACED: ClassVar[bool] = False

    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceTaintSelector(ApiStruct, frozen=True, kw_only=True):
    """Devices to which a rule applies: those with everything that is given."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(ApiStruct, frozen=True, kw_only=True):
    """A taint and its devices; without a selector there are none."""

    device_selector: DeviceTaintSelector | None = None
    taint: Taint = Taint()


class DeviceTaintRule(KubeObject, frozen=True, kw_only=True):
    """Adds a taint to all devices that it selects, as if their driver had published it."""

    KIND: ClassVar[str] = "DeviceTaintRule"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "devicetaintrules"
    NAMESPACED: ClassVar[bool] = False

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
