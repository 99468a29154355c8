"""How much of a capacity a request consumes: the policy of the device rounds up, or refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devices.device_objects import DeviceStand, exactly, make_claim, make_device, make_slice

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
