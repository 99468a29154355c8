"""Slices as the search sees them: their devices with everything that does not depend on the node worked out."""

from __future__ import annotations

from typing import TypeAlias

from bayplan.devices.capacity import nanos
from bayplan.devices.selector_results import DeviceContents
from bayplan.model import Device, ResourceSlice, Taint

#: Driver, pool and name.
DeviceId: TypeAlias = tuple[str, str, str]
#: Driver and name.
PoolId: TypeAlias = tuple[str, str]
#: The name of a counter set, and the name of a counter in it.
CounterId: TypeAlias = tuple[str, str]

#: Taints with other effects do not keep anybody from a device.
_EFFECTS = frozenset(("NoSchedule", "NoExecute"))


class PooledDevice:
    """A device of a slice."""

    __slots__ = ("allows_multiple", "content", "counters", "id", "shape", "slice", "spec", "taints")

    def __init__(self, slice_: PooledSlice, spec: Device, contents: DeviceContents) -> None:
        self.id: DeviceId = (*slice_.pool_id, spec.name)
        self.slice = slice_
        self.spec = spec
        self.content = contents.of(slice_.spec.driver, spec)
        self.allows_multiple = spec.allow_multiple_allocations is True
        self.taints: tuple[Taint, ...] = tuple(taint for taint in spec.taints if taint.effect in _EFFECTS)
        #: What it consumes while it is allocated, in billionths.
        self.counters = tuple(_consumed_counters(spec).items())
        #: The same for devices that no search can tell apart.
        self.shape = contents.shape(self.content.number, self.taints, self.counters)


class PooledSlice:
    """A slice of a pool."""

    __slots__ = ("devices", "has_binding_conditions", "name", "pool_id", "spec")

    def __init__(self, value: ResourceSlice, contents: DeviceContents) -> None:
        self.name = value.name
        self.spec = value.spec
        self.pool_id: PoolId = (value.spec.driver, value.spec.pool.name)
        self.devices = tuple(PooledDevice(self, device, contents) for device in value.spec.devices)
        self.has_binding_conditions = any(device.binding_conditions for device in value.spec.devices)

    @property
    def has_counters(self) -> bool:
        """Whether the slice has the counters that devices of the pool share, in place of devices."""
        return bool(self.spec.shared_counters)

    @property
    def generation(self) -> int:
        return self.spec.pool.generation


def _consumed_counters(device: Device) -> dict[CounterId, int]:
    amounts: dict[CounterId, int] = {}
    for consumption in device.consumes_counters:
        for name, counter in consumption.counters.items():
            key = (consumption.counter_set, name)
            amounts[key] = amounts.get(key, 0) + nanos(counter.value)
    return amounts


def counter_amounts(slices: list[PooledSlice]) -> dict[CounterId, int]:
    """The counters of the slices, in billionths. Raises ValueError if a set is there twice."""
    amounts: dict[CounterId, int] = {}
    seen: set[str] = set()
    for slice_ in slices:
        for counter_set in slice_.spec.shared_counters:
            if counter_set.name in seen:
                raise ValueError(f"duplicate counter set name {counter_set.name}")
            seen.add(counter_set.name)
            for name, counter in counter_set.counters.items():
                amounts[counter_set.name, name] = nanos(counter.value)
    return amounts


def check_device_names(slices: list[PooledSlice]) -> None:
    """Raises ValueError if two devices have the same name."""
    seen: set[str] = set()
    for slice_ in slices:
        for device in slice_.devices:
            if device.spec.name in seen:
                raise ValueError(f"duplicate device name {device.spec.name}")
            seen.add(device.spec.name)


def check_consumption(
    counter_sets: frozenset[str], counters: dict[CounterId, int], slices: list[PooledSlice]
) -> None:
    """Raises ValueError if a device consumes a counter that the pool does not have."""
    for slice_ in slices:
        for device in slice_.devices:
            for consumption in device.spec.consumes_counters:
                if consumption.counter_set not in counter_sets:
                    raise ValueError(f"counter set {consumption.counter_set} not found")
                for name in consumption.counters:
                    if (consumption.counter_set, name) not in counters:
                        raise ValueError(f"counter {name} not found in counter set {consumption.counter_set}")
