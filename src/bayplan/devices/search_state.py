"""What a search has taken so far, on top of what is allocated: devices, capacity and counters."""

from __future__ import annotations

from typing import NamedTuple

from bayplan.devices.allocated_devices import AllocatedDevices
from bayplan.devices.capacity import Amounts, Consumption, consumption_of
from bayplan.devices.claim_plans import RequestPlan
from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.pooled_slices import CounterId, DeviceId, PooledDevice, PoolId
from bayplan.devices.pools import Pool


class Taken(NamedTuple):
    """A device that was taken for a request."""

    device: PooledDevice
    plan: RequestPlan
    #: What it consumes of a device that several claims share; None if the claim has the device for itself.
    consumption: Consumption | None
    counters_of: Pool | None


class SearchState:
    """See the module's docstring."""

    def __init__(self, n_claims: int, allocated: AllocatedDevices, features: DeviceFeatures) -> None:
        self._allocated = allocated
        self._features = features
        self._shares = features.consumable_capacity
        #: For each claim, in the order in which they were taken.
        self.taken: list[list[Taken]] = [[] for _ in range(n_claims)]
        #: Device → the claims that have it for themselves.
        self._holders: dict[DeviceId, set[int]] = {}
        #: Shared device → how many shares were taken, and what they consume.
        self._n_shares: dict[DeviceId, int] = {}
        self._consuming: dict[DeviceId, Amounts] = {}
        #: Pool → what is left of its counters, without what is taken.
        self._counters: dict[PoolId, dict[CounterId, int] | None] = {}

    # --- questions --------------------------------------------------------------------------------

    def is_taken(self, i: int, plan: RequestPlan, device: PooledDevice) -> bool:
        """Whether claim *i* cannot get the device; an administrator can, unless the same claim has it."""
        if plan.admin_access:
            return i in self._holders.get(device.id, ())
        return device.id in self._allocated.exclusive or bool(self._holders.get(device.id))

    def is_blocked(self, i: int, plan: RequestPlan, device: PooledDevice) -> bool:
        """The same, but an administrator may take a shared device several times."""
        return not (plan.admin_access and self._is_shared(device)) and self.is_taken(i, plan, device)

    def has_capacity(self, plan: RequestPlan, device: PooledDevice) -> bool:
        """Whether enough of the device's capacity is left."""
        if not self._shares:
            return True
        consumption = self._consumption(plan, device)
        return consumption is not None and consumption.fits(
            self._allocated.consumed.get(device.id), self._consuming.get(device.id)
        )

    def has_capacity_at_all(self, plan: RequestPlan, device: PooledDevice) -> bool:
        """Whether the device's capacity is enough if nothing of it is consumed."""
        if not self._shares:
            return True
        consumption = self._consumption(plan, device)
        return consumption is not None and consumption.fits_alone

    def _consumption(self, plan: RequestPlan, device: PooledDevice) -> Consumption | None:
        return consumption_of(plan.capacity, device.content, self._features)

    def has_counters(self, device: PooledDevice, pool: Pool) -> bool:
        """Whether enough of the counters is left that the device consumes."""
        if not self._consumes_counters(device):
            return True
        left = self._left(pool)
        return left is not None and all(left[name] >= amount for name, amount in device.counters)

    # --- taking and giving back -------------------------------------------------------------------

    def take(self, i: int, plan: RequestPlan, device: PooledDevice, pool: Pool) -> None:
        counters_of = pool if self._consumes_counters(device) else None
        if counters_of is not None:
            self._count(device, pool, -1)
        consumption = None
        if self._is_shared(device):
            consumption = self._consumption(plan, device)
            self._share(device, consumption, 1)
        else:
            self._holders.setdefault(device.id, set()).add(i)
        self.taken[i].append(Taken(device, plan, consumption, counters_of))

    def give_back(self, i: int) -> None:
        """Give back the device that claim *i* took last."""
        device, _, consumption, counters_of = self.taken[i].pop()
        if self._is_shared(device):
            self._share(device, consumption, -1)
        else:
            self._holders[device.id].discard(i)
        if counters_of is not None:
            self._count(device, counters_of, 1)

    # --- shares and counters ----------------------------------------------------------------------

    def _is_shared(self, device: PooledDevice) -> bool:
        return self._shares and device.allows_multiple

    def _share(self, device: PooledDevice, consumption: Consumption | None, change: int) -> None:
        n_shares = self._n_shares.get(device.id, 0) + change
        self._n_shares[device.id] = n_shares
        amounts = self._consuming.setdefault(device.id, {})
        for name, (amount, _) in consumption.amounts.items() if consumption is not None else ():
            amounts[name] = amounts.get(name, 0) + change * amount

    def _consumes_counters(self, device: PooledDevice) -> bool:
        """A further share of a device consumes no further counters."""
        if not device.counters:
            return False
        return not (self._is_shared(device) and self._is_in_use(device.id))

    def _is_in_use(self, device: DeviceId) -> bool:
        allocated = self._allocated
        if device in allocated.consumed or self._n_shares.get(device, 0) > 0:
            return True
        return self._features.facts.counts_shares_without_capacity and device in allocated.shared

    def _left(self, pool: Pool) -> dict[CounterId, int] | None:
        """What is left of the counters of the pool; None if one of them is overdrawn already."""
        if pool.id not in self._counters:
            left = counters_left(pool, self._allocated)
            self._counters[pool.id] = None if any(amount < 0 for amount in left.values()) else left
        return self._counters[pool.id]

    def _count(self, device: PooledDevice, pool: Pool, change: int) -> None:
        left = self._left(pool)
        for name, amount in device.counters if left is not None else ():
            left[name] += change * amount  # type: ignore[index]


def counters_left(pool: Pool, allocated: AllocatedDevices) -> dict[CounterId, int]:
    """What allocated devices leave of the counters of a pool; below zero if they were given too much."""
    left = dict(pool.counters)
    for device in pool.all_devices:
        if device.counters and allocated.is_allocated(device.id):
            for name, amount in device.counters:
                if name in left:
                    left[name] -= amount
    return left
