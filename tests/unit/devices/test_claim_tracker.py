"""Claims ahead of the watch: pending, assumed, shown."""

from __future__ import annotations

from tests.unit.devices.device_objects import DRIVER, exactly, make_claim

from bayplan.devices import DeviceManager
from bayplan.model import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult, ResourceClaim

RESULT = {"request": "r", "driver": DRIVER, "pool": "pool", "device": "d0"}
PENDING = AllocationResult(
    devices=DeviceAllocationResult(
        results=(DeviceRequestAllocationResult(request="r", driver=DRIVER, pool="pool", device="d0"),)
    )
)
DEVICE = (DRIVER, "pool", "d0")


def claim(version: int, *, has_device: bool = False, uid: str = "u") -> ResourceClaim:
    status = {"allocation": {"devices": {"results": [RESULT]}}} if has_device else {}
    return make_claim("c", exactly(), status=status, metadata={"uid": uid, "resourceVersion": str(version)})


def test_device_is_taken_all_the_way_from_reserve_to_the_watch() -> None:
    manager = DeviceManager()
    tracker, allocated = manager.claims, manager.allocated
    tracker.claim_changed(None, claim(1))
    tracker.set_pending("u", PENDING)
    assert allocated.is_allocated(DEVICE)
    assert tracker.assume(claim(2, has_device=True))
    assert tracker.drop_pending("u")
    assert allocated.is_allocated(DEVICE)
    tracker.claim_changed(claim(1), claim(2, has_device=True))
    assert allocated.exclusive == {DEVICE: 1}
    tracker.claim_changed(claim(2, has_device=True), None)
    assert not allocated.is_allocated(DEVICE)


def test_assumed_claim_is_not_replaced_by_an_older_one() -> None:
    manager = DeviceManager()
    manager.claims.claim_changed(None, claim(1))
    assert manager.claims.assume(claim(5, has_device=True))
    manager.claims.claim_changed(claim(1), claim(3))
    assert manager.allocated.is_allocated(DEVICE)
    manager.claims.restore("default", "c")
    assert not manager.allocated.is_allocated(DEVICE)


def test_claim_that_is_unknown_or_newer_is_not_assumed() -> None:
    tracker = DeviceManager().claims
    assert not tracker.assume(claim(2))
    tracker.claim_changed(None, claim(3))
    assert not tracker.assume(claim(2, has_device=True))
    assert not tracker.drop_pending("u")


def test_claim_of_the_same_name_that_was_created_anew() -> None:
    """The devices of the old one are free."""
    manager = DeviceManager()
    manager.claims.claim_changed(None, claim(8, has_device=True))
    manager.claims.claim_changed(claim(8, has_device=True), claim(9, uid="new"))
    assert not manager.allocated.is_allocated(DEVICE)


def test_device_that_somebody_gave_away_twice_is_taken_until_both_are_gone() -> None:
    """Whoever did that: it is not given away a third time."""
    manager = DeviceManager()
    first, second = (
        make_claim(
            name,
            exactly(),
            status={"allocation": {"devices": {"results": [RESULT]}}},
            metadata={"uid": name, "resourceVersion": "1"},
        )
        for name in ("first", "second")
    )
    for each in (first, second):
        manager.claims.claim_changed(None, each)
    assert manager.allocated.exclusive == {DEVICE: 2}
    manager.claims.claim_changed(first, None)
    assert manager.allocated.is_allocated(DEVICE)
    manager.claims.claim_changed(second, None)
    assert not manager.allocated.is_allocated(DEVICE)
