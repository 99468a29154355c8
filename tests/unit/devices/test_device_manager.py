"""What plugins may ask about devices."""

from __future__ import annotations

import pytest
from tests.unit.devices.device_objects import DeviceStand, exactly, make_claim, make_class, make_slice

from bayplan.devices import AllocationError
from bayplan.testing import make_node, make_pod

NODE = make_node("a")
CLASSES = {"gpu": make_class()}


def names(devices: object) -> list[str]:
    assert isinstance(devices, tuple)
    return [device.id[2] for device in devices]


def test_devices_of_a_node_are_known_taken_or_not() -> None:
    stand = DeviceStand(make_slice("s", "d0", "d1"), make_slice("other", "d0", pool="other", node="b"))
    stand.allocate(make_claim("c", exactly()))

    devices = stand.manager.of_node(NODE)
    assert names(devices) == ["d0", "d1"]
    assert [stand.manager.is_taken(device) for device in devices] == [True, False]


def test_devices_that_claims_would_take_are_those_that_they_are_given() -> None:
    """Asking takes nothing."""
    stand = DeviceStand(make_slice("s", "d0", "d1", "d2"))
    claims = [make_claim("first", exactly(count=2)), make_claim("second", exactly())]

    would = stand.manager.would_take(claims, NODE, CLASSES.get)
    assert names(would) == ["d0", "d1", "d2"]
    assert stand.find(*claims) == [["d0", "d1"], ["d2"]]


def test_nothing_would_be_taken_where_there_are_too_few_devices() -> None:
    stand = DeviceStand(make_slice("s", "d0"))

    assert stand.manager.would_take([make_claim("c", exactly(count=2))], NODE, CLASSES.get) is None


def test_allocated_claims_take_nothing_more() -> None:
    stand = DeviceStand(make_slice("s", "d0"))
    result = {"request": "r", "driver": "gpu.example.com", "pool": "pool", "device": "d0"}
    status = {"allocation": {"devices": {"results": [result]}}}

    assert stand.manager.would_take([make_claim("c", exactly(), status=status)], NODE, CLASSES.get) == ()


def test_claim_that_cannot_be_allocated_anywhere_says_why() -> None:
    stand = DeviceStand(make_slice("s", "d0"))

    with pytest.raises(AllocationError, match="could not retrieve device class gone"):
        stand.manager.would_take([make_claim("c", exactly(cls="gone"))], NODE, CLASSES.get)


def test_claims_of_a_pod_are_found_by_name_and_by_status() -> None:
    """Those that do not exist yet are left out."""
    tracker = DeviceStand().manager.claims
    for name in ("plain", "made"):
        tracker.claim_changed(None, make_claim(name, exactly()))
    pod = make_pod(
        "p",
        spec={
            "resourceClaims": [
                {"name": "a", "resourceClaimName": "plain"},
                {"name": "b", "resourceClaimTemplateName": "t"},
                {"name": "c", "resourceClaimTemplateName": "t"},
                {"name": "d", "resourceClaimName": "missing"},
            ]
        },
        status={"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "made"}]},
    )

    assert [claim.name for claim in tracker.of_pod(pod)] == ["plain", "made"]
