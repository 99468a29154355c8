"""What CEL selectors say about devices, remembered.

An expression sees nothing of a device but its driver, attributes, capacity and whether it can be shared. So
devices that agree in these share one `DeviceContent`, and an expression is evaluated once for each content. The
results are stored with the content and disappear with the last slice that has such a device.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from bayplan.cel import CelRuntimeError, DeviceAttributes, compile_device_selector
from bayplan.model import Device, DeviceCapacity

RUNTIME_ERROR: Final = "CEL runtime error"


class DeviceContent:
    """What an expression sees of a device, and what expressions made of it."""

    __slots__ = ("__weakref__", "capacity", "consumptions", "number", "results", "seen")

    def __init__(self, driver: str, device: Device, number: int) -> None:
        #: Unlike that of any other content.
        self.number = number
        self.capacity: Mapping[str, DeviceCapacity] = device.capacity
        self.seen = DeviceAttributes(
            driver,
            msgspec.to_builtins(device.attributes),
            {name: str(each.value) for name, each in device.capacity.items()},
            allow_multiple_allocations=device.allow_multiple_allocations is True,
        )
        #: Expression → whether it matches, or why there is no result.
        self.results: dict[str, bool | str] = {}
        #: Requested capacity → what it consumes of this device; see `capacity`.
        self.consumptions: dict[Any, Any] = {}

    def matches(self, expression: str) -> bool | str:
        """Whether the expression is true for the device, or the error, as upstream words it."""
        result = self.results.get(expression)
        if result is None:
            result = self.results[expression] = self._evaluate(expression)
        return result

    def _evaluate(self, expression: str) -> bool | str:
        selector = compile_device_selector(expression)
        if selector.error is not None:
            return f"CEL compile error: {selector.error}"
        try:
            return selector.matches(self.seen)
        except CelRuntimeError as error:
            return f"{RUNTIME_ERROR}: {error}"


class DeviceContents:
    """The contents of all devices, each once."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._shapes: dict[Hashable, int] = {}
        self._by_encoding: WeakValueDictionary[bytes, DeviceContent] = WeakValueDictionary()

    def of(self, driver: str, device: Device) -> DeviceContent:
        seen = (driver, device.attributes, device.capacity, device.allow_multiple_allocations)
        encoding = msgspec.msgpack.encode(seen)
        found = self._by_encoding.get(encoding)
        if found is None:
            found = self._by_encoding[encoding] = DeviceContent(driver, device, next(self._numbers))
        return found

    def shape(self, *parts: Hashable) -> int:
        """A number that is the same for equal *parts* only."""
        return self._shapes.setdefault(parts, len(self._shapes))
