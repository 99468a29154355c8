"""Selectors of devices: what expressions see of a device, and what they answer."""

from __future__ import annotations

import pytest

from bayplan.cel import CelRuntimeError, DeviceAttributes, compile_device_selector

GPU = DeviceAttributes(
    "gpu.example.com",
    {
        "model": {"string": "a100"},
        "index": {"int": 1},
        "healthy": {"bool": True},
        "version": {"version": "1.3.1"},
        "rack.example.com/row": {"int": 7},
    },
    {"memory": "40Gi"},
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "gpu.example.com"', True),
        ("device.allowMultipleAllocations", False),
        ('device.attributes["gpu.example.com"].model in ["a100", "h100"]', True),
        ('device.attributes["gpu.example.com"].healthy', True),
        ('device.attributes["rack.example.com"].row == 7', True),
        ('device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.3.2"))', False),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0', True),
        ('"other.example.com" in device.attributes', False),
        ('size(device.attributes["other.example.com"]) == 0', True),
        ('has(device.attributes["other.example.com"].model)', False),
        ('device.attributes["gpu.example.com"].?numa.orValue(7) == 7', True),
    ],
)
def test_answers(expression: str, expected: bool) -> None:
    """Attributes by domain and name, an unknown domain is empty."""
    selector = compile_device_selector(expression)

    assert selector.error is None
    assert selector.matches(GPU) is expected


def test_unknown_name_is_an_error() -> None:
    """A name that a known domain does not have; so it is upstream."""
    selector = compile_device_selector('device.attributes["gpu.example.com"].numa == 0')

    with pytest.raises(CelRuntimeError, match=r"^no such key: numa$"):
        selector.matches(GPU)


def test_selector_must_be_bool() -> None:
    """Anything else is refused when it is compiled."""
    selector = compile_device_selector("device.driver")

    assert selector.error == "must evaluate to bool or the unknown type, not string"


def test_bad_attribute_fails_every_selector() -> None:
    """Even one that does not look at it."""
    device = DeviceAttributes("d", {"version": {"version": "one"}}, {})

    with pytest.raises(CelRuntimeError, match=r"^attribute version: parse semantic version: No Major"):
        compile_device_selector("true").matches(device)
