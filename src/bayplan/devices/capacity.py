"""Consumable capacity: how much of a device's capacity a request consumes.

Amounts are counted in billionths, of which every quantity is a multiple.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from bayplan.devices.selector_results import DeviceContent
from bayplan.model import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    DeviceCapacity,
    Quantity,
    QuantityText,
)
from bayplan.model.quantity import BINARY_SI

NANO: Final = 9

#: Name → amount in billionths.
Amounts: TypeAlias = dict[str, int]


class Consumption(NamedTuple):
    """What one allocation consumes of a device."""

    quantities: Mapping[str, Quantity]
    #: Capacity by name → (consumed, there is), in billionths.
    amounts: Mapping[str, tuple[int, int]]
    #: Whether it fits a device of which nothing is consumed.
    fits_alone: bool

    def fits(self, consumed: Amounts | None, consuming: Amounts | None) -> bool:
        """Whether it fits beside what is consumed already, and what is about to be."""
        if not consumed and not consuming:
            return self.fits_alone
        for name, (amount, there_is) in self.amounts.items():
            total = amount + (consumed or {}).get(name, 0) + (consuming or {}).get(name, 0)
            if total > there_is:
                return False
        return True


def nanos(text: QuantityText) -> int:
    """The exact amount in billionths."""
    return _nanos(Quantity.parse(text))


def consumption_of(request: CapacityRequirements | None, content: DeviceContent) -> Consumption | None:
    """What the request consumes of such a device; None if the device cannot serve it at all."""
    wanted = request.requests if request is not None else {}
    key = tuple(sorted(wanted.items())) if wanted else ()
    if key not in content.consumptions:
        content.consumptions[key] = _consumption(wanted, content.capacity)
    found: Consumption | None = content.consumptions[key]
    return found


def _consumption(wanted: Mapping[str, QuantityText], capacity: Mapping[str, DeviceCapacity]) -> Consumption | None:
    if not wanted.keys() <= capacity.keys():
        return None
    quantities = {name: _consumed(wanted.get(name), each) for name, each in capacity.items()}
    if any(_violates(quantities[name], each.request_policy) for name, each in capacity.items()):
        return None
    amounts = {name: (_nanos(quantities[name]), nanos(each.value)) for name, each in capacity.items()}
    return Consumption(quantities, amounts, all(amount <= there_is for amount, there_is in amounts.values()))


def _consumed(wanted: QuantityText | None, capacity: DeviceCapacity) -> Quantity:
    """The amount that a request for *wanted* consumes: the default, or rounded up to an allowed amount."""
    policy = capacity.request_policy
    if wanted is None:
        default = policy.default if policy is not None else None
        return Quantity.parse(capacity.value if default is None else default)
    requested = Quantity.parse(wanted)
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_up(requested, Quantity.parse(policy.valid_range.min), policy.valid_range)
    values = map(Quantity.parse, policy.valid_values)
    return next((value for value in values if requested <= value), requested)


def _round_up(requested: Quantity, lowest: Quantity, allowed: CapacityRequestPolicyRange) -> Quantity:
    if requested < lowest:
        return lowest
    step = Quantity.parse(allowed.step).value
    if step == 0:
        return requested
    n_steps = -(-(requested.value - lowest.value) // step)
    return Quantity(lowest.value + step * n_steps, 0, BINARY_SI)


def _violates(amount: Quantity, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == Quantity.parse(policy.default)):
        return False
    if policy.valid_range is not None:
        return _violates_range(amount, policy.valid_range)
    return bool(policy.valid_values) and all(amount != Quantity.parse(each) for each in policy.valid_values)


def _violates_range(amount: Quantity, allowed: CapacityRequestPolicyRange) -> bool:
    if allowed.max is not None and amount > Quantity.parse(allowed.max):
        return True
    step = Quantity.parse(allowed.step).value
    return step != 0 and (amount.value - Quantity.parse(allowed.min).value) % step != 0


def _nanos(quantity: Quantity) -> int:
    shift = quantity.scale + NANO
    return int(quantity.unscaled * 10**shift) if shift >= 0 else int(quantity.unscaled // 10**-shift)
