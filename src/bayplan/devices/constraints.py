"""Constraints between the devices of a claim: an attribute that must be the same, or different.

A constraint is told of every device that is taken and given back during the search.
"""

from __future__ import annotations

from typing import TypeAlias

from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.pooled_slices import PooledDevice
from bayplan.model import DeviceAttribute, DeviceConstraint

#: The type of an attribute and its value; None for a type that cannot be compared.
AttributeValue: TypeAlias = tuple[str, object] | None


def attribute_of(device: PooledDevice, name: str) -> DeviceAttribute | None:
    """The attribute with a fully qualified name; the domain may be left out if it is that of the driver."""
    attributes = device.spec.attributes
    found = attributes.get(name)
    if found is not None:
        return found
    domain, slash, identifier = name.partition("/")
    return attributes.get(identifier) if slash and domain == device.id[0] else None


def value_of(attribute: DeviceAttribute) -> AttributeValue:
    if attribute.string is not None:
        return "string", attribute.string
    if attribute.int_ is not None:
        return "int", attribute.int_
    if attribute.bool_ is not None:
        return "bool", attribute.bool_
    return None if attribute.version is None else ("version", attribute.version)


class _Constraint:
    """What both constraints have in common."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)
        self._n_devices = 0

    def applies_to(self, request: str, full_name: str) -> bool:
        """Whether it applies to the devices of a request; *full_name* is that of the subrequest, if it is one."""
        return not self._requests or request in self._requests or full_name in self._requests

    def add(self, request: str, device: PooledDevice) -> bool:
        """Take a device, if the constraint allows it."""
        attribute = attribute_of(device, self._attribute)
        if attribute is None:
            return False
        value = value_of(attribute)
        if self._n_devices and not self._allows(value):
            return False
        self._n_devices += 1
        self._note(request, value)
        return True

    def remove(self, request: str) -> None:
        """Give back the last device that was taken for the request."""
        self._n_devices -= 1

    def _allows(self, value: AttributeValue) -> bool:
        raise NotImplementedError

    def _note(self, request: str, value: AttributeValue) -> None:
        raise NotImplementedError


class MatchAttribute(_Constraint):
    """All devices have the same value."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._value: AttributeValue = None

    def _allows(self, value: AttributeValue) -> bool:
        return value is not None and value == self._value

    def _note(self, request: str, value: AttributeValue) -> None:
        self._value = value


class DistinctAttribute(_Constraint):
    """All devices have different values."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._values: list[AttributeValue] = []

    def remove(self, request: str) -> None:
        super().remove(request)
        self._values.pop()

    def _allows(self, value: AttributeValue) -> bool:
        return value is not None and value not in self._values

    def _note(self, request: str, value: AttributeValue) -> None:
        self._values.append(value)


class DistinctByRequest(_Constraint):
    """The same, but of several devices of one request the last alone is remembered."""

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._values: dict[str, AttributeValue] = {}

    def remove(self, request: str) -> None:
        super().remove(request)
        self._values.pop(request, None)

    def _allows(self, value: AttributeValue) -> bool:
        return not self._values or (value is not None and value not in self._values.values())

    def _note(self, request: str, value: AttributeValue) -> None:
        self._values[request] = value


Constraint: TypeAlias = MatchAttribute | DistinctAttribute | DistinctByRequest


def new_constraint(constraint: DeviceConstraint, features: DeviceFeatures) -> Constraint | None:
    """A constraint without devices; None if it is of an unknown kind."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests)
    if constraint.distinct_attribute is None:
        return None
    distinct = DistinctAttribute if features.facts.compares_all_distinct_attributes else DistinctByRequest
    return distinct(constraint.distinct_attribute, constraint.requests)
