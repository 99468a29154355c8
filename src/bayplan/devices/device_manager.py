"""DeviceManager: everything about devices that all profiles share, and what plugins may ask about it."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.devices.allocated_devices import AllocatedDevices
from bayplan.devices.claim_plans import GetClass, plan_claim
from bayplan.devices.claim_tracker import ClaimTracker
from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.device_index import DeviceIndex
from bayplan.devices.device_search import SearchContext, search
from bayplan.devices.node_classes import NodeClasses
from bayplan.devices.pooled_slices import PooledDevice
from bayplan.model import HasLabels, ResourceClaim
from bayplan.release import DEFAULT


class DeviceManager:
    """Which devices there are, which are taken, and by which claims. Fed with the changes of claims and slices."""

    def __init__(self, features: DeviceFeatures | None = None) -> None:
        """*features*: those of the default release where they are not given."""
        features = features if features is not None else DeviceFeatures.of(DEFAULT)
        self.features = features
        self.index = DeviceIndex(features)
        self.allocated = AllocatedDevices(features, self.index.device_changed)
        self.claims = ClaimTracker(self.allocated)
        self.classes = NodeClasses(self.index, self.allocated)

    # --- questions of plugins ---------------------------------------------------------------------

    def of_node(self, node: HasLabels) -> tuple[PooledDevice, ...]:
        """The devices that can be used on the node, taken or not, in the order in which they are tried.

        Raises AllocationError if a slice cannot be read.
        """
        return tuple(device for device, _ in self.index.of_node(node).devices)

    def is_taken(self, device: PooledDevice) -> bool:
        """Whether a claim has the device, or is about to have it; of a shared one, a part."""
        return self.allocated.is_allocated(device.id)

    def would_take(
        self, claims: Iterable[ResourceClaim], node: HasLabels, get_class: GetClass
    ) -> tuple[PooledDevice, ...] | None:
        """The devices that the claims would be given, were their pod placed on the node; None if there are none.

        Claims that are allocated already get nothing. *get_class* is the `get` of a lister of DeviceClass.
        Raises what `search` raises.
        """
        plans = [
            plan_claim(claim, get_class, self.features) for claim in claims if claim.status.allocation is None
        ]
        found = search(plans, self.index.of_node(node), SearchContext(self.allocated, self.features))
        return None if found is None else tuple(taken.device for each in found.devices for taken in each)
