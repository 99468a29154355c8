"""matchAttribute and distinctAttribute: values of one type, across the requests that are named."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devices.device_objects import (
    DRIVER,
    DeviceStand,
    exactly,
    first_available,
    make_claim,
    make_device,
    make_slice,
)

from bayplan.devices import DeviceFeatures
from bayplan.release import release_named

NUMA = f"{DRIVER}/numa"
FOUR = make_slice(
    "s",
    make_device("d0", {"numa": 0}),
    make_device("d1", {"numa": 1}),
    make_device("d2", {"numa": 0}),
    make_device("d3", {"numa": 1}),
)


def find(*requests: dict[str, Any], **constraint: object) -> list[list[str]] | None:
    return DeviceStand(FOUR).find(make_claim("c", *requests, constraints=[constraint]))


def test_devices_with_the_same_value() -> None:
    assert find(exactly(count=2), matchAttribute=NUMA) == [["d0", "d2"]]
    assert find(exactly("x"), exactly("y"), matchAttribute=NUMA) == [["d0", "d2"]]
    assert find(exactly(count=3), matchAttribute=NUMA) is None


def test_another_first_device_if_too_few_have_its_value() -> None:
    """d0 is the only free one with its value, so the pair starts with d1."""
    stand = DeviceStand(FOUR)
    stand.allocate(make_claim("other", exactly("r", 1, f"device.attributes['{DRIVER}'].numa == 0")))
    claim = make_claim("c", exactly(count=2), constraints=[{"matchAttribute": NUMA}])
    assert stand.find(claim) == [["d1", "d3"]]


def test_constraint_on_some_requests() -> None:
    requests = exactly("x"), exactly("free"), exactly("y")
    assert find(*requests, matchAttribute=NUMA, requests=["x", "y"]) == [["d0", "d1", "d2"]]


def test_constraint_on_an_alternative() -> None:
    """It may name the request as a whole, or one of the alternatives."""
    requests = exactly("x"), first_available("y", exactly("one"))
    assert find(*requests, matchAttribute=NUMA, requests=["x", "y"]) == [["d0", "d2"]]
    assert find(*requests, matchAttribute=NUMA, requests=["x", "y/one"]) == [["d0", "d2"]]
    assert find(*requests, matchAttribute=NUMA, requests=["x", "y/other"]) == [["d0", "d1"]]


def test_devices_with_different_values() -> None:
    assert find(exactly("x"), exactly("y"), distinctAttribute=NUMA) == [["d0", "d1"]]
    assert find(exactly("x"), exactly("y"), exactly("z"), distinctAttribute=NUMA) is None


@pytest.mark.parametrize("kind", ["matchAttribute", "distinctAttribute"])
def test_device_without_the_attribute(kind: str) -> None:
    """It cannot be taken, not even as the only one."""
    stand = DeviceStand(make_slice("s", "without", make_device("with", {"numa": 0})))
    assert stand.find(make_claim("c", exactly(), constraints=[{kind: NUMA}])) == [["with"]]


def test_attribute_with_the_domain_written_out() -> None:
    """A device may name the attribute with a domain; one without is of the driver's domain only."""
    slices = make_slice("s", make_device("d0", {"numa": 0}), make_device("d1", {NUMA: 0}))
    stand = DeviceStand(slices)
    assert stand.find(make_claim("c", exactly(count=2), constraints=[{"matchAttribute": NUMA}])) == [["d0", "d1"]]
    other = [{"matchAttribute": "other.example.com/numa"}]
    assert stand.find(make_claim("c", exactly(), constraints=other)) is None


def test_values_of_different_types_are_different() -> None:
    slices = make_slice("s", make_device("d0", {"numa": 1}), make_device("d1", {"numa": "1"}))
    requests = exactly("x"), exactly("y")
    stand = DeviceStand(slices)
    assert stand.find(make_claim("c", *requests, constraints=[{"matchAttribute": NUMA}])) is None
    assert stand.find(make_claim("c", *requests, constraints=[{"distinctAttribute": NUMA}])) == [["d0", "d1"]]


def test_all_constraints_must_be_satisfied() -> None:
    """A device that the second constraint refuses must not count for the first."""
    slices = make_slice(
        "s",
        make_device("d0", {"numa": 0, "slot": 0}),
        make_device("d1", {"numa": 0, "slot": 0}),
        make_device("d2", {"numa": 0, "slot": 1}),
    )
    claim = make_claim(
        "c",
        exactly("x"),
        exactly("y"),
        constraints=[{"matchAttribute": NUMA}, {"distinctAttribute": f"{DRIVER}/slot"}],
    )
    assert DeviceStand(slices).find(claim) == [["d0", "d2"]]


@pytest.mark.parametrize(("release", "found"), [("1.36", [["d0", "d1", "d2"]]), ("1.37", None)])
def test_distinct_values_within_one_request(release: str, found: list[list[str]] | None) -> None:
    """There are two values: three devices differ only if each is compared with the one before it alone."""
    stand = DeviceStand(FOUR, features=DeviceFeatures.of(release_named(release)))
    claim = make_claim("c", exactly(count=3), constraints=[{"distinctAttribute": NUMA}])
    assert stand.find(claim) == found
