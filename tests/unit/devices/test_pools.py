"""Which slices count: those of the newest generation, if all of them are there and nothing is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devices.device_objects import (
    DeviceStand,
    all_devices,
    exactly,
    make_claim,
    make_device,
    make_slice,
)

from bayplan.devices import AllocationError, NodeAllocationError
from bayplan.testing import make_node

ONE = make_claim("c", exactly())
ALL = make_claim("c", all_devices())


def selector(key: str, value: str) -> dict[str, Any]:
    expression = {"key": key, "operator": "In", "values": [value]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


# --- order ------------------------------------------------------------------------------------------------


def test_pools_are_searched_by_driver_and_name() -> None:
    """Whatever the order in which they came; slices of a pool by name."""
    stand = DeviceStand(
        make_slice("s0", "b-z", driver="b.example.com", pool="z"),
        make_slice("s1", "b-y", driver="b.example.com", pool="y"),
        make_slice("s3", "a-x1", driver="a.example.com", pool="x", count=2),
        make_slice("s2", "a-x0", driver="a.example.com", pool="x", count=2),
    )
    assert stand.find(make_claim("c", exactly(count=4))) == [["a-x0", "a-x1", "b-y", "b-z"]]


def test_pools_with_binding_conditions_come_last() -> None:
    remote = make_device("remote", bindingConditions=["Attached"], bindingFailureConditions=["Failed"])
    stand = DeviceStand(make_slice("s0", remote, pool="x"), make_slice("s1", "local", pool="y"))
    assert stand.find(make_claim("c", exactly(count=2))) == [["local", "remote"]]


# --- generations ------------------------------------------------------------------------------------------


def test_incomplete_pool_is_passed_over() -> None:
    """One of its two slices is missing; devices of other pools can be taken."""
    half = make_slice("s0", "d0", pool="x", count=2)
    assert DeviceStand(half).find(ONE) is None
    assert DeviceStand(half, make_slice("s1", "d1", pool="y")).find(ONE) == [["d1"]]
    assert DeviceStand(half, make_slice("s1", "d1", pool="x", count=2)).find(ONE) == [["d0"]]


def test_all_devices_of_an_incomplete_pool() -> None:
    """Nobody knows yet what all devices are, even if other pools have some."""
    stand = DeviceStand(make_slice("s0", "d0", pool="x", count=2), make_slice("s1", "d1", pool="y"))
    with pytest.raises(AllocationError) as error:
        stand.find(ALL)
    assert str(error.value) == (
        "claim default/c, request r: asks for all devices, "
        "but resource pool gpu.example.com/x is currently being updated"
    )


def test_newer_generation_replaces_the_older() -> None:
    old = make_slice("old", "d0", generation=1)
    assert DeviceStand(old, make_slice("new", "d1", generation=2)).find(ALL) == [["d1"]]
    assert DeviceStand(old, make_slice("new", "d1", generation=2, count=2)).find(ONE) is None


def test_generation_that_another_node_has_superseded() -> None:
    """Slices for this node are of the old generation, and incomplete without others: the pool does not count."""
    old = make_slice("old", "d0", generation=1, count=2)
    new = make_slice("new", "d1", generation=2, count=2, node="b")
    extra = make_slice("extra", "e0", pool="extra")
    assert DeviceStand(old, new).find(ONE) is None
    assert DeviceStand(old, new, extra).find(ALL) == [["e0"]]


def test_complete_old_generation_can_still_be_used() -> None:
    """Where the slices for the node are all that the old generation had, nobody looks for newer ones."""
    old = make_slice("old", "d0", generation=1)
    new = make_slice("new", "d1", generation=2, node="b")
    assert DeviceStand(old, new).find(ONE) == [["d0"]]


def test_slice_that_was_deleted() -> None:
    slice_ = make_slice("s", "d0")
    stand = DeviceStand(slice_)
    assert stand.find(ONE) == [["d0"]]
    stand.manager.index.slice_changed(slice_, None)
    assert stand.find(ONE) is None


# --- invalid pools ----------------------------------------------------------------------------------------


def test_pool_with_two_devices_of_one_name() -> None:
    """Another pool will do; if there is none, the node is rejected with that reason."""
    twice = make_slice("s0", "d0", pool="x", count=2), make_slice("s1", "d0", pool="x", count=2)
    assert DeviceStand(*twice, make_slice("s2", "d1", pool="y")).find(ONE) == [["d1"]]
    with pytest.raises(NodeAllocationError, match=r"^invalid resource pools were encountered$"):
        DeviceStand(*twice).find(ONE)
    with pytest.raises(AllocationError, match=r"resource pool gpu\.example\.com/x is currently invalid"):
        DeviceStand(*twice).find(ALL)


@pytest.mark.parametrize("counter_set", ["missing", "there"])
def test_device_that_consumes_a_counter_that_is_not_there(counter_set: str) -> None:
    consumes = [{"counterSet": counter_set, "counters": {"missing": {"value": "1"}}}]
    counters = [{"name": "there", "counters": {"memory": {"value": "1"}}}]
    stand = DeviceStand(
        make_slice("s0", make_device("d0", consumesCounters=consumes), count=2),
        make_slice("s1", count=2, sharedCounters=counters),
    )
    with pytest.raises(NodeAllocationError):
        stand.find(ONE)


# --- nodes ------------------------------------------------------------------------------------------------


def test_slice_for_all_nodes() -> None:
    stand = DeviceStand(make_slice("s", "d0", allNodes=True))
    assert stand.find(ONE, node="a") == stand.find(ONE, node="b") == [["d0"]]


def test_slice_for_nodes_with_a_label() -> None:
    nodes = [make_node("a", labels={"rack": "1"}), make_node("b", labels={"rack": "2"})]
    stand = DeviceStand(make_slice("s", "d0", nodeSelector=selector("rack", "2")), nodes=nodes)
    assert stand.find(ONE, node="a") is None
    assert stand.find(ONE, node="b") == [["d0"]]


def test_devices_that_name_their_nodes_themselves() -> None:
    devices = [
        make_device("for-a", nodeName="a"),
        make_device("for-b", nodeName="b"),
        make_device("for-all", allNodes=True),
    ]
    stand = DeviceStand(make_slice("s", *devices, perDeviceNodeSelection=True))
    assert stand.find(ALL, node="a") == [["for-a", "for-all"]]
    assert stand.find(ALL, node="b") == [["for-b", "for-all"]]


def test_slices_for_other_nodes_count_for_completeness() -> None:
    """A pool with a slice for each node is complete, and each node gets its own devices."""
    stand = DeviceStand(make_slice("s0", "d0", count=2), make_slice("s1", "d1", count=2, node="b"))
    assert stand.find(ALL, node="a") == [["d0"]]
    assert stand.find(ALL, node="b") == [["d1"]]


def test_selector_that_cannot_be_parsed() -> None:
    wrong = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}]}
    with pytest.raises(AllocationError, match="failed to perform node selection for slice s: "):
        DeviceStand(make_slice("s", "d0", nodeSelector=wrong)).find(ONE)
