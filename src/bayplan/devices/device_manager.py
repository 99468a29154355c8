"""DeviceManager: everything about devices that all profiles share."""

from __future__ import annotations

from bayplan.devices.allocated_devices import AllocatedDevices
from bayplan.devices.claim_tracker import ClaimTracker
from bayplan.devices.device_features import FEATURES_1_36, DeviceFeatures
from bayplan.devices.device_index import DeviceIndex
from bayplan.devices.node_classes import NodeClasses


class DeviceManager:
    """Which devices there are, which are taken, and by which claims. Fed with the changes of claims and slices."""

    def __init__(self, features: DeviceFeatures = FEATURES_1_36) -> None:
        self.features = features
        self.index = DeviceIndex(features)
        self.allocated = AllocatedDevices(features, self.index.device_changed)
        self.claims = ClaimTracker(self.allocated)
        self.classes = NodeClasses(self.index, self.allocated)
