"""How much of a capacity a request consumes: the policy of the device rounds up, or refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devices.device_objects import (
    DRIVER,
    DeviceStand,
    all_devices,
    exactly,
    make_claim,
    make_device,
    make_slice,
)

from bayplan.devices import AllocationError, DeviceFeatures
from bayplan.release import release_named

RANGE = {"default": "2Gi", "validRange": {"min": "2Gi", "max": "8Gi", "step": "2Gi"}}
NO_STEP = {"default": "2Gi", "validRange": {"min": "2Gi", "max": "8Gi"}}
VALUES = {"default": "1Gi", "validValues": ["1Gi", "4Gi", "8Gi"]}


@pytest.mark.parametrize(
    ("policy", "requested", "consumed"),
    [
        pytest.param(None, "3Gi", "3Gi", id="no policy: as requested"),
        pytest.param(None, None, "16Gi", id="no policy: everything"),
        pytest.param(None, "17Gi", None, id="more than there is"),
        pytest.param(RANGE, None, "2Gi", id="range: the default"),
        pytest.param(RANGE, "1Gi", "2Gi", id="range: at least the least"),
        pytest.param(RANGE, "4Gi", "4Gi", id="range: a step"),
        pytest.param(RANGE, "5Gi", "6Gi", id="range: up to the next step"),
        pytest.param(RANGE, "9Gi", None, id="range: above the most"),
        pytest.param(NO_STEP, "5Gi", "5Gi", id="range without steps: as requested"),
        pytest.param(NO_STEP, "9Gi", None, id="range without steps: above the most"),
        pytest.param(VALUES, None, "1Gi", id="values: the default"),
        pytest.param(VALUES, "2Gi", "4Gi", id="values: up to the next"),
        pytest.param(VALUES, "8Gi", "8Gi", id="values: one of them"),
        pytest.param(VALUES, "9Gi", None, id="values: above the last"),
    ],
)
def test_policy(policy: dict[str, Any] | None, requested: str | None, consumed: str | None) -> None:
    """None if the device cannot serve the request."""
    capacity = {"memory": {"value": "16Gi", **({} if policy is None else {"requestPolicy": policy})}}
    stand = DeviceStand(make_slice("s", make_device("d0", capacity=capacity, allowMultipleAllocations=True)))
    wanted = None if requested is None else {"requests": {"memory": requested}}
    request = exactly(capacity=wanted)
    result = stand.allocate(make_claim("c", request))
    given = None if result is None else result.devices.results[0].consumed_capacity
    assert given == (None if consumed is None else {"memory": consumed})


UNCOUNTABLE = "capacity request cannot be represented in the device's range arithmetic"


@pytest.mark.parametrize(
    ("request_", "device", "problem"),
    [
        (
            exactly(capacity={"requests": {"memory": "10E"}}),
            f"{DRIVER}/a/d0",
            f"{UNCOUNTABLE}: request 10E exceeds MaxInt64",
        ),
        (
            exactly(capacity={"requests": {"memory": "9223372036854775807"}}),
            f"{DRIVER}/a/d0",
            f"{UNCOUNTABLE}: rounding request 9223372036854775807 up to the next step passes MaxInt64",
        ),
        (
            all_devices(capacity={"requests": {"memory": "10E"}}),
            "d0",
            f"{UNCOUNTABLE}: request 10E exceeds MaxInt64",
        ),
    ],
    ids=["too large a number", "too large when rounded up", "all devices"],
)
def test_request_that_cannot_be_counted_in_steps(request_: dict[str, Any], device: str, problem: str) -> None:
    """The search ends, whatever other devices there are."""
    capacity = {"memory": {"value": "16Gi", "requestPolicy": RANGE}}
    devices = [make_device(name, capacity=capacity, allowMultipleAllocations=True) for name in ("d0", "d1")]
    stand = DeviceStand(make_slice("s", *devices, pool="a"), features=DeviceFeatures.of(release_named("1.37")))
    with pytest.raises(AllocationError) as failed:
        stand.find(make_claim("c", request_))
    message = f'claim default/c, request r: checking capacity for device {device}: capacity "memory": {problem}'
    assert str(failed.value) == message


def test_negative_capacity() -> None:
    """Of an object that is older than the validation which forbids it."""
    device = make_device("d0", capacity={"memory": {"value": "-1Gi"}}, allowMultipleAllocations=True)
    stand = DeviceStand(make_slice("s", device, pool="a"), features=DeviceFeatures.of(release_named("1.37")))
    with pytest.raises(AllocationError, match='capacity "memory": capacity value is negative'):
        stand.find(make_claim("c", exactly()))


def test_amounts_are_exact() -> None:
    """Ten times a tenth is one, and a billionth more is too much."""
    capacity = {"cores": {"value": "1"}}
    stand = DeviceStand(make_slice("s", make_device("d0", capacity=capacity, allowMultipleAllocations=True)))

    def asking(amount: str) -> dict[str, Any]:
        return exactly(capacity={"requests": {"cores": amount}})

    for i in range(9):
        assert stand.allocate(make_claim(f"c{i}", asking("100m"))) is not None
    assert stand.find(make_claim("last", asking("100000001n"))) is None
    assert stand.find(make_claim("last", asking("100m"))) == [["d0"]]
