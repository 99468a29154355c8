"""DeviceFeatures: the feature gates that change how devices are allocated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DeviceFeatures:
    """The gates, with the defaults of Kubernetes 1.36."""

    #: DRAAdminAccess
    admin_access: bool = True
    #: DRAConsumableCapacity
    consumable_capacity: bool = True
    #: DRADeviceBindingConditions and DRAResourceClaimDeviceStatus
    binding_conditions: bool = True
    #: DRADeviceTaints
    device_taints: bool = True
    #: DRAExtendedResource
    extended_resources: bool = True
    #: DRAPartitionableDevices
    partitionable_devices: bool = True
    #: DRAPrioritizedList
    prioritized_list: bool = True


FEATURES_1_36: Final = DeviceFeatures()
