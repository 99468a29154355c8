"""AllocatedDevices: which devices are taken, how many share one, and how much of its capacity is consumed.

Kept up to date as allocations come and go. An allocation is known by the uid of its claim. If two claims hold the
same device (somebody else allocated it twice), it is taken until both are gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from bayplan.devices.capacity import Amounts, nanos
from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.pooled_slices import DeviceId
from bayplan.model import AllocationResult, DeviceRequestAllocationResult


class AllocatedDevices:
    """See the module's docstring."""

    def __init__(self, features: DeviceFeatures, changed: Callable[[DeviceId], None] | None = None) -> None:
        """*changed* is told of every device that was taken or given back."""
        self._shares = features.consumable_capacity
        self._changed = changed
        #: By uid: what the claim's status says, what is decided but not written, and which of them is counted.
        self._written: dict[str, AllocationResult] = {}
        self._pending: dict[str, AllocationResult] = {}
        self._counted: dict[str, AllocationResult] = {}
        #: Devices that belong to one claim → how many hold them.
        self.exclusive: Counter[DeviceId] = Counter()
        #: Devices that several claims can hold → how many do.
        self.shared: Counter[DeviceId] = Counter()
        #: Devices of whose capacity something is consumed → how much.
        self.consumed: dict[DeviceId, Amounts] = {}

    def hold(self, uid: str, allocation: AllocationResult | None) -> None:
        """The status of the claim with that uid has this allocation now; None for none."""
        _put(self._written, uid, allocation)
        self._update(uid)

    def hold_pending(self, uid: str, allocation: AllocationResult | None) -> None:
        """This allocation is decided for the claim with that uid, but not in its status yet; None for none."""
        _put(self._pending, uid, allocation)
        self._update(uid)

    def _update(self, uid: str) -> None:
        held, counted = self._written.get(uid), self._counted.get(uid)
        if held is None:
            held = self._pending.get(uid)
        if held is counted or (held is not None and counted is not None and held.devices == counted.devices):
            return
        _put(self._counted, uid, held)
        if held is not None:
            self._count(held.devices.results, 1)
        if counted is not None:
            self._count(counted.devices.results, -1)

    def is_allocated(self, device: DeviceId) -> bool:
        """Whether any claim holds the device, administrators apart."""
        return device in self.exclusive or device in self.shared

    def _count(self, results: Iterable[DeviceRequestAllocationResult], change: int) -> None:
        for result in results:
            if result.admin_access:
                continue
            device = (result.driver, result.pool, result.device)
            if self._shares and result.share_id is not None:
                _add(self.shared, device, change)
                self._consume(device, result, change)
            else:
                _add(self.exclusive, device, change)
            if self._changed is not None:
                self._changed(device)

    def _consume(self, device: DeviceId, result: DeviceRequestAllocationResult, change: int) -> None:
        if not result.consumed_capacity:
            return
        amounts = self.consumed.setdefault(device, {})
        for name, amount in result.consumed_capacity.items():
            amounts[name] = amounts.get(name, 0) + change * nanos(amount)
        if not any(amounts.values()):
            del self.consumed[device]


def _add(counts: Counter[DeviceId], device: DeviceId, change: int) -> None:
    counts[device] += change
    if counts[device] <= 0:
        del counts[device]


def _put(allocations: dict[str, AllocationResult], uid: str, allocation: AllocationResult | None) -> None:
    if allocation is None:
        allocations.pop(uid, None)
    else:
        allocations[uid] = allocation
