"""Consumable capacity: how much of a device's capacity a request consumes.

Amounts are counted in billionths, of which every quantity is a multiple.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from bayplan.devices.device_features import DeviceFeatures
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
MILLI: Final = -3
_NANOS_IN_MILLI: Final = 10**6
_NANOS_IN_UNIT: Final = 10**9
_MAX_INT64: Final = (1 << 63) - 1
_UNCOUNTABLE: Final = "capacity request cannot be represented in the device's range arithmetic"

#: Name → amount in billionths.
Amounts: TypeAlias = dict[str, int]


class CapacityError(Exception):
    """An amount that cannot be a capacity: no other device is tried."""


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


def consumption_of(
    request: CapacityRequirements | None, content: DeviceContent, features: DeviceFeatures
) -> Consumption | None:
    """What the request consumes of such a device; None if the device cannot serve it. Raises CapacityError."""
    wanted = request.requests if request is not None else {}
    key = tuple(sorted(wanted.items())) if wanted else ()
    if key not in content.consumptions:
        content.consumptions[key] = _Rounding(features).consumption(wanted, content.capacity)
    found: Consumption | None = content.consumptions[key]
    return found


class _Rounding:
    """How requests are rounded to the amounts that a device allows."""

    def __init__(self, features: DeviceFeatures) -> None:
        self._fractional = features.fractional_ranges
        self._in_format_of_step = features.facts.rounds_capacity_in_format_of_step
        self._is_strict = features.facts.refuses_uncountable_capacity

    def consumption(
        self, wanted: Mapping[str, QuantityText], capacity: Mapping[str, DeviceCapacity]
    ) -> Consumption | None:
        if not wanted.keys() <= capacity.keys():
            return None
        quantities = {name: self._checked(name, wanted.get(name), each) for name, each in capacity.items()}
        if any(self._violates(quantities[name], each.request_policy) for name, each in capacity.items()):
            return None
        amounts = {name: (_nanos(quantities[name]), nanos(each.value)) for name, each in capacity.items()}
        return Consumption(quantities, amounts, all(amount <= there_is for amount, there_is in amounts.values()))

    def _checked(self, name: str, wanted: QuantityText | None, capacity: DeviceCapacity) -> Quantity:
        try:
            consumed = self._consumed(wanted, capacity)
        except CapacityError as error:
            raise CapacityError(f'capacity "{name}": {error}') from None
        if self._is_strict and consumed.unscaled < 0:
            raise CapacityError(f'capacity "{name}": capacity value is negative')
        return consumed

    def _consumed(self, wanted: QuantityText | None, capacity: DeviceCapacity) -> Quantity:
        """The amount that a request for *wanted* consumes: the default, or rounded up to an allowed amount."""
        policy = capacity.request_policy
        if wanted is None:
            default = policy.default if policy is not None else None
            return Quantity.parse(capacity.value if default is None else default)
        requested = Quantity.parse(wanted)
        if policy is None:
            return requested
        if policy.valid_range is not None and policy.valid_range.min is not None:
            return self._round_up(requested, Quantity.parse(policy.valid_range.min), policy.valid_range)
        values = map(Quantity.parse, policy.valid_values)
        return next((value for value in values if requested <= value), requested)

    def _round_up(self, requested: Quantity, lowest: Quantity, allowed: CapacityRequestPolicyRange) -> Quantity:
        if requested < lowest:
            return lowest
        if allowed.step is None:
            return requested
        step = Quantity.parse(allowed.step)
        unit = self._unit(allowed)
        size = _units(step, unit)
        if size == 0:
            return requested
        start = _units(lowest, unit)
        if self._is_strict:
            _check_countable(requested, unit)
        amount = start + size * _n_steps(_units(requested, unit) - start, size)
        if self._is_strict and amount > _MAX_INT64:
            most = "the milli-value range" if unit else "MaxInt64"
            raise CapacityError(f"{_UNCOUNTABLE}: rounding request {requested} up to the next step passes {most}")
        # Whole amounts are written without a fraction.
        scale, unscaled = (0, amount // 1000) if unit and amount % 1000 == 0 else (unit, amount)
        return Quantity(unscaled, scale, step.format if self._in_format_of_step else BINARY_SI)

    def _unit(self, allowed: CapacityRequestPolicyRange) -> int:
        """The power of ten in which steps are counted: thousandths where they are enabled and exact."""
        if not self._fractional:
            return 0
        given = [Quantity.parse(each) for each in (allowed.min, allowed.max, allowed.step) if each is not None]
        return MILLI if all(map(_is_exact_in_milli, given)) else 0

    def _violates(self, amount: Quantity, policy: CapacityRequestPolicy | None) -> bool:
        if policy is None or (policy.default is not None and amount == Quantity.parse(policy.default)):
            return False
        if policy.valid_range is not None:
            return self._violates_range(amount, policy.valid_range)
        return bool(policy.valid_values) and all(amount != Quantity.parse(each) for each in policy.valid_values)

    def _violates_range(self, amount: Quantity, allowed: CapacityRequestPolicyRange) -> bool:
        if allowed.max is not None and amount > Quantity.parse(allowed.max):
            return True
        if allowed.step is None:
            return False
        unit = self._unit(allowed)
        if unit and not _is_exact_in_milli(amount):
            return True
        step = _units(Quantity.parse(allowed.step), unit)
        return step != 0 and (_units(amount, unit) - _units(Quantity.parse(allowed.min), unit)) % step != 0


def _check_countable(requested: Quantity, unit: int) -> None:
    if unit and not _is_exact_in_milli(requested):
        raise CapacityError(f"{_UNCOUNTABLE}: request {requested} is not a representable milli value")
    if not unit and _nanos(requested) > _MAX_INT64 * _NANOS_IN_UNIT:
        raise CapacityError(f"{_UNCOUNTABLE}: request {requested} exceeds MaxInt64")


def _is_exact_in_milli(quantity: Quantity) -> bool:
    """Whether it is a whole number of thousandths, and an int64 can count them."""
    return _nanos(quantity) == quantity.milli_value * _NANOS_IN_MILLI


def _n_steps(amount: int, size: int) -> int:
    """The steps up to the amount, a started one included. Go divides towards zero, for amounts that overflowed."""
    n_whole = abs(amount) // size if amount >= 0 else -(abs(amount) // size)
    return n_whole + 1 if amount % size else n_whole


def _units(quantity: Quantity, unit: int) -> int:
    """How many whole ones, or thousandths; rounded up."""
    return -(-_nanos(quantity) // _NANOS_IN_MILLI) if unit else quantity.value


def _nanos(quantity: Quantity) -> int:
    shift = quantity.scale + NANO
    return int(quantity.unscaled * 10**shift) if shift >= 0 else int(quantity.unscaled // 10**-shift)
