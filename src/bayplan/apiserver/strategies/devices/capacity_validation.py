"""Validation of capacity that several claims share: which amounts a claim may request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.devices.device_lists import set_causes
from bayplan.apiserver.validation.field_errors import forbidden, invalid, required
from bayplan.model.quantity import Quantity
from bayplan.release import ReleaseFacts

_MAX_VALUES: Final = 10


def single_capacity_causes(capacity: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Errors of the capacity of a device that one claim has alone."""
    if "requestPolicy" in capacity:
        yield forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")


def shared_capacity_causes(facts: ReleaseFacts, capacity: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Errors of the capacity of a device that several claims can share."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    path = f"{path}.requestPolicy"
    values, valid_range = policy.get("validValues", ()), policy.get("validRange")
    if values and valid_range is not None:
        text = (
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        )
        yield forbidden(path, text)
        return
    kind = "validValues" if values else "validRange" if valid_range is not None else None
    if kind is None:
        return
    default = policy.get("default")
    if default is None:
        yield required(f"{path}.default", f"required when {kind} is defined")
        return
    capacity_value = capacity.get("value", "0")
    if values:
        yield from _value_causes(values, default, capacity_value, f"{path}.validValues")
    else:
        at_default = facts.locates_device_errors
        yield from _RangeCheck(valid_range, default, capacity_value, f"{path}.validRange").causes(at_default)


def _value_causes(values: list[str], default: str, capacity: str, path: str) -> Iterator[StatusCause]:
    amounts = [Quantity.parse(value) for value in values]
    for i in range(1, len(amounts)):
        if amounts[i - 1] > amounts[i]:
            yield invalid(f"{path}[{i}]", values[i], "values must be sorted in ascending order")

    def too_large(value: str, where: str) -> Iterator[StatusCause]:
        if Quantity.parse(value) > Quantity.parse(capacity):
            yield invalid(where, value, f"option is larger than capacity value: {capacity}")

    yield from set_causes(values, _MAX_VALUES, path, too_large, lambda value: str(Quantity.parse(value).value))
    if len(values) > _MAX_VALUES or Quantity.parse(default) not in amounts:
        yield invalid(path, default, "default value is not valid according to the requestPolicy")


class _RangeCheck:
    """Validates a range of amounts; paths are relative to it."""

    def __init__(self, valid_range: Mapping[str, str], default: str, capacity: str, path: str) -> None:
        self._range = valid_range
        self._default = default
        self._capacity = capacity
        self._path = path

    def causes(self, at_default: bool) -> Iterator[StatusCause]:
        """*at_default*: whether a wrong default is reported at the default, not at the limit."""
        if "min" not in self._range:
            yield required(f"{self._path}.min", "required when validRange is defined")
            return
        minimum = self._range["min"]
        yield from self._not_above("min", minimum, self._capacity, "min is larger than capacity value")
        if _amount(self._default) < _amount(minimum):
            where = f"{self._path}.{'default' if at_default else 'min'}"
            yield invalid(where, self._default, f"default is less than min: {minimum}")
        if "max" in self._range:
            maximum = self._range["max"]
            yield from self._not_above("max", minimum, maximum, "min is larger than max")
            yield from self._not_above("max", maximum, self._capacity, "max is larger than capacity value")
            key = "default" if at_default else "max"
            yield from self._not_above(key, self._default, maximum, "default is more than max")
        if "step" in self._range:
            yield from self._step_causes(minimum, self._range["step"])

    def _not_above(self, key: str, value: str, limit: str, text: str) -> Iterator[StatusCause]:
        if _amount(value) > _amount(limit):
            yield invalid(f"{self._path}.{key}", value, f"{text}: {limit}")

    def _step_causes(self, minimum: str, step: str) -> Iterator[StatusCause]:
        path = f"{self._path}.step"
        first = _amount(minimum) + _amount(step)
        if first > _amount(self._capacity):
            text = f"one step {first} is larger than capacity value: {self._capacity}"
            yield invalid(path, step, text)
        for value in (self._default, *([self._range["max"]] if "max" in self._range else [])):
            # A step of zero makes upstream fail; here nothing is a multiple of it.
            size = _amount(step).value
            if not size or (_amount(value).value - _amount(minimum).value) % size:
                text = f"value is not a multiple of a given step ({step}) from ({minimum})"
                yield invalid(path, value, text)


def _amount(text: str) -> Quantity:
    return Quantity.parse(text)
