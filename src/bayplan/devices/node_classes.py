"""NodeClasses: nodes on which any search has the same outcome share a number.

Two nodes are of one class if they have the same devices in the same order, as far as a search can tell, and the
same of them are taken: names of nodes, pools and devices do not matter. So a search on one node of a class answers
for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from bayplan.devices.allocated_devices import AllocatedDevices
from bayplan.devices.allocation_errors import AllocationError
from bayplan.devices.device_index import DeviceIndex
from bayplan.devices.pooled_slices import PooledDevice
from bayplan.devices.pools import NodeDevices, Pool, device_matches
from bayplan.devices.search_state import counters_left
from bayplan.model import HasLabels


class NodeClasses:
    """See the module's docstring."""

    def __init__(self, index: DeviceIndex, allocated: AllocatedDevices) -> None:
        self._index = index
        self._allocated = allocated
        self._numbers: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """How many numbers were given out."""
        return len(self._numbers)

    def clear(self) -> None:
        """Forget all numbers; they will be given out anew."""
        self._numbers.clear()

    def number(self, node: HasLabels) -> int:
        """The class of the node as it is now."""
        try:
            devices = self._index.of_node(node)
            key: Hashable = (*self._parts(devices),)
        except AllocationError:
            key = node.name  # the error is the node's own
        return self._numbers.setdefault(key, len(self._numbers))

    def _parts(self, devices: NodeDevices) -> Iterator[Hashable]:
        for pool in devices.pools:
            if not pool.is_usable:
                yield "incomplete" if pool.is_incomplete else "invalid"
                continue
            yield tuple([self._state(device, pool, devices.node) for device in pool.devices])
            if pool.counters:
                yield tuple(sorted(counters_left(pool, self._allocated).items()))

    def _state(self, device: PooledDevice, pool: Pool, node: HasLabels) -> Hashable:
        """What a search can tell of a device, and how much of it is taken."""
        allocated = self._allocated
        state = 2 * device.shape + (device.id in allocated.exclusive)
        if not device.allows_multiple and not device.slice.spec.per_device_node_selection:
            return state
        matches = not device.slice.spec.per_device_node_selection or device_matches(device, node)
        consumed = allocated.consumed.get(device.id)
        is_shared = device.id in allocated.shared
        return state, matches, is_shared, None if consumed is None else tuple(sorted(consumed.items()))
