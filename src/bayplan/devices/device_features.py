"""DeviceFeatures: what a release of Kubernetes changes in how devices are allocated."""

from __future__ import annotations

from dataclasses import dataclass

from bayplan.release import DEFAULT, Release, ReleaseFacts


@dataclass(frozen=True, slots=True)
class DeviceFeatures:
    """The feature gates, and the facts of the release."""

    #: DRAAdminAccess
    admin_access: bool = True
    #: DRAConsumableCapacity
    consumable_capacity: bool = True
    #: DRAFractionalCapacityRange
    fractional_ranges: bool = False
    #: DRADeviceBindingConditions and DRAResourceClaimDeviceStatus
    binding_conditions: bool = True
    #: DRADeviceTaints
    device_taints: bool = True
    #: DRADeviceTaintRules
    taint_rules: bool = False
    #: DRAExtendedResource
    extended_resources: bool = True
    #: DRAPartitionableDevices
    partitionable_devices: bool = True
    #: DRAPrioritizedList
    prioritized_list: bool = True
    facts: ReleaseFacts = DEFAULT.facts

    @classmethod
    def of(cls, release: Release) -> DeviceFeatures:
        is_enabled = release.is_enabled
        return cls(
            admin_access=is_enabled("DRAAdminAccess"),
            consumable_capacity=is_enabled("DRAConsumableCapacity"),
            fractional_ranges=is_enabled("DRAFractionalCapacityRange"),
            binding_conditions=is_enabled("DRADeviceBindingConditions")
            and is_enabled("DRAResourceClaimDeviceStatus"),
            device_taints=is_enabled("DRADeviceTaints"),
            taint_rules=is_enabled("DRADeviceTaintRules"),
            extended_resources=is_enabled("DRAExtendedResource"),
            partitionable_devices=is_enabled("DRAPartitionableDevices"),
            prioritized_list=is_enabled("DRAPrioritizedList"),
            facts=release.facts,
        )
