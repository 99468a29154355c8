"""Counters that partitions share, capacity that claims share, and administrators who look at what others use."""

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
from bayplan.model import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceSlice,
)

WHOLE = "device.attributes['gpu.example.com'].parts == 4"


def partition(name: str, gi: int, **fields: Any) -> dict[str, Any]:
    consumes = [{"counterSet": "gpu0", "counters": {"memory": {"value": f"{gi}Gi"}}}]
    return make_device(name, {"parts": gi // 10}, consumesCounters=consumes, **fields)


def counters(gi: int, count: int = 2) -> ResourceSlice:
    shared = [{"name": "gpu0", "counters": {"memory": {"value": f"{gi}Gi"}}}]
    return make_slice("counters", count=count, sharedCounters=shared)


# --- counters ---------------------------------------------------------------------------------------------


def partitions() -> DeviceStand:
    """A device of 40 Gi, whole or in halves or as a quarter."""
    devices = [partition("whole", 40), partition("half0", 20), partition("half1", 20), partition("quarter", 10)]
    return DeviceStand(make_slice("s", *devices, count=2), counters(40))


def test_partitions_consume_counters_together() -> None:
    stand = partitions()
    assert stand.find(make_claim("c", exactly())) == [["whole"]]
    assert stand.find(make_claim("c", exactly(count=2))) == [["half0", "half1"]]
    assert stand.find(make_claim("c", exactly(count=3))) is None
    assert stand.find(make_claim("c", exactly()), make_claim("d", exactly("r", 1, WHOLE))) is None


def test_allocated_partitions_have_consumed_their_counters() -> None:
    stand = partitions()
    half = make_claim("half", exactly(count=1, selectors=[{"cel": {"expression": f"!({WHOLE})"}}]))
    stand.allocate(half)
    assert stand.find(make_claim("c", exactly("r", 1, WHOLE))) is None
    assert stand.find(make_claim("c", exactly())) == [["half1"]]
    stand.release(half)
    assert stand.find(make_claim("c", exactly())) == [["whole"]]


def test_all_partitions_are_more_than_there_is() -> None:
    assert partitions().find(make_claim("c", all_devices())) is None


def test_devices_of_other_nodes_consume_the_same_counters() -> None:
    here, there = (
        make_slice("s0", partition("d0", 20), count=3),
        make_slice("s1", partition("d1", 30), count=3, node="b"),
    )
    stand = DeviceStand(here, there, counters(40, count=3))
    stand.allocate(make_claim("other", exactly()), node="b")
    assert stand.find(make_claim("c", exactly()), node="a") is None


def test_overdrawn_counters_leave_nothing() -> None:
    """Somebody gave away the whole, and a half besides."""
    stand = partitions()
    results = tuple(
        DeviceRequestAllocationResult(request="r", driver=DRIVER, pool="pool", device=name)
        for name in ("whole", "half0")
    )
    stand.manager.allocated.hold("uid", AllocationResult(devices=DeviceAllocationResult(results=results)))
    assert stand.find(make_claim("c", exactly())) is None


def test_counters_without_their_feature() -> None:
    """The counters are not looked at, and devices that consume some cannot be taken."""
    features = DeviceFeatures(partitionable_devices=False)
    stand = DeviceStand(make_slice("s", partition("d0", 10), "plain"), features=features)
    assert stand.find(make_claim("c", exactly())) == [["plain"]]


# --- capacity ---------------------------------------------------------------------------------------------


def shared(name: str = "d0", gi: int = 10, **fields: Any) -> dict[str, Any]:
    return make_device(name, capacity={"memory": {"value": f"{gi}Gi"}}, allowMultipleAllocations=True, **fields)


def asking(gi: int, name: str = "r", **fields: Any) -> dict[str, Any]:
    return exactly(name, capacity={"requests": {"memory": f"{gi}Gi"}}, **fields)


def test_claims_share_the_capacity_of_a_device() -> None:
    stand = DeviceStand(make_slice("s", shared()))
    first, second = make_claim("first", asking(6)), make_claim("second", asking(4))
    result = stand.allocate(first)
    assert result is not None
    (given,) = result.devices.results
    assert (given.device, given.share_id, given.consumed_capacity) == ("d0", "share-1", {"memory": "6Gi"})
    assert stand.find(make_claim("c", asking(5))) is None
    assert stand.allocate(second) is not None
    assert stand.find(make_claim("c", asking(1))) is None
    stand.release(first)
    assert stand.find(make_claim("c", asking(6))) == [["d0"]]


def test_requests_of_one_pod_share_too() -> None:
    """Within one request each device is taken once."""
    stand = DeviceStand(make_slice("s", shared()))
    assert stand.find(make_claim("c", asking(6, "x"), asking(4, "y"))) == [["d0", "d0"]]
    assert stand.find(make_claim("c", asking(6, "x"), asking(5, "y"))) is None
    assert stand.find(make_claim("c", asking(6)), make_claim("d", asking(4))) == [["d0"], ["d0"]]
    assert stand.find(make_claim("c", asking(1, count=2))) is None


def test_request_for_no_particular_amount_takes_the_whole() -> None:
    stand = DeviceStand(make_slice("s", shared()))
    stand.allocate(make_claim("all", exactly()))
    assert stand.find(make_claim("c", asking(1))) is None


def test_request_for_a_capacity_that_a_device_does_not_have() -> None:
    stand = DeviceStand(make_slice("s", "plain", shared("d1")))
    assert stand.find(make_claim("c", asking(1))) == [["d1"]]


def test_device_that_is_not_shared_is_given_once() -> None:
    """However little of its capacity is asked for."""
    device = make_device("d0", capacity={"memory": {"value": "10Gi"}})
    stand = DeviceStand(make_slice("s", device))
    assert stand.find(make_claim("c", asking(11))) is None
    result = stand.allocate(make_claim("first", asking(1)))
    assert result is not None
    assert (result.devices.results[0].share_id, result.devices.results[0].consumed_capacity) == (None, {})
    assert stand.find(make_claim("c", asking(1))) is None


def test_only_the_first_share_consumes_counters() -> None:
    device = partition("d0", 10, capacity={"memory": {"value": "8Gi"}}, allowMultipleAllocations=True)
    stand = DeviceStand(make_slice("s", device, count=2), counters(10))
    assert stand.find(make_claim("c", asking(4, "x"), asking(4, "y"))) == [["d0", "d0"]]
    stand.allocate(make_claim("first", asking(4)))
    assert stand.find(make_claim("c", asking(4))) == [["d0"]]


def test_capacity_without_its_feature() -> None:
    stand = DeviceStand(make_slice("s", shared()), features=DeviceFeatures(consumable_capacity=False))
    with pytest.raises(
        AllocationError, match="has capacity requests, but the DRAConsumableCapacity feature is disabled"
    ):
        stand.find(make_claim("c", asking(1)))
    stand.allocate(make_claim("first", exactly()))
    assert stand.find(make_claim("c", exactly())) is None


# --- admin access -----------------------------------------------------------------------------------------


def test_administrator_gets_devices_that_others_use() -> None:
    """And keeps nobody from them."""
    stand = DeviceStand(make_slice("s", "d0"))
    stand.allocate(make_claim("user", exactly()))
    admin = make_claim("admin", exactly(adminAccess=True))
    result = stand.allocate(admin)
    assert result is not None
    assert result.devices.results[0].admin_access is True
    assert stand.find(make_claim("c", all_devices(adminAccess=True))) == [["d0"]]
    stand.manager.allocated.hold("uid-user", None)
    assert stand.find(make_claim("c", exactly())) == [["d0"]]


def test_administrator_gets_a_device_once_for_each_claim() -> None:
    stand = DeviceStand(make_slice("s", "d0"))
    requests = exactly("x", adminAccess=True), exactly("y", adminAccess=True)
    assert stand.find(make_claim("c", *requests)) is None
    assert stand.find(make_claim("c", requests[0]), make_claim("d", requests[1])) == [["d0"], ["d0"]]


def test_admin_access_without_its_feature() -> None:
    stand = DeviceStand(make_slice("s", "d0"), features=DeviceFeatures(admin_access=False))
    with pytest.raises(AllocationError, match="request r: admin access is requested, but the feature is disabled"):
        stand.find(make_claim("c", exactly(adminAccess=True)))
