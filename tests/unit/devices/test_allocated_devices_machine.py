"""Claims come, are allocated, deallocated and deleted: no device is given twice, nothing is overdrawn."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.unit.devices.device_objects import (
    DeviceStand,
    all_devices,
    exactly,
    first_available,
    make_claim,
    make_device,
    make_slice,
)

from bayplan.model import AllocationResult, ResourceClaim

#: What the devices of the pool with counters consume, of as much.
PARTITIONS = {"whole": 4, "half0": 2, "half1": 2, "quarter": 1}
COUNTER = 4
#: The capacity of the shared device.
CAPACITY = 5


def _partition(name: str, amount: int) -> dict[str, Any]:
    consumes = [{"counterSet": "set", "counters": {"slices": {"value": str(amount)}}}]
    return make_device(name, {"kind": "partition"}, consumesCounters=consumes)


def _stand() -> DeviceStand:
    plain = [make_device(name, {"kind": "plain"}) for name in ("p0", "p1", "p2")]
    partitions = [_partition(name, amount) for name, amount in PARTITIONS.items()]
    shared = make_device(
        "shared", {"kind": "shared"}, allowMultipleAllocations=True, capacity={"units": {"value": str(CAPACITY)}}
    )
    counters = [{"name": "set", "counters": {"slices": {"value": str(COUNTER)}}}]
    return DeviceStand(
        make_slice("plain", *plain, pool="plain"),
        make_slice("partitions", *partitions, pool="partitions", count=2),
        make_slice("counters", pool="partitions", count=2, sharedCounters=counters),
        make_slice("shared", shared, pool="shared"),
    )


def _kind(kind: str) -> str:
    return f"device.attributes['gpu.example.com'].kind == '{kind}'"


def _units(amount: int) -> dict[str, Any]:
    return exactly("units", 1, _kind("shared"), capacity={"requests": {"units": str(amount)}})


REQUESTS = st.one_of(
    st.builds(lambda count: exactly("any", count), st.integers(1, 3)),
    st.builds(lambda count: exactly("partition", count, _kind("partition")), st.integers(1, 2)),
    st.builds(_units, st.integers(1, CAPACITY)),
    st.just(all_devices("plain", _kind("plain"))),
    st.just(exactly("admin", 2, adminAccess=True)),
    st.just(first_available("either", exactly("two", 2, _kind("plain")), exactly("one", 1, _kind("partition")))),
)
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])


class DeviceMachine(RuleBasedStateMachine):
    """Keeps its own books of what every claim was given."""

    def __init__(self) -> None:
        super().__init__()
        self.stand = _stand()
        self.tracker = self.stand.manager.claims
        self.claims: dict[str, ResourceClaim] = {}
        self.given: dict[str, AllocationResult] = {}
        self.version = 0

    def _show(self, name: str, new: ResourceClaim | None) -> None:
        self.tracker.claim_changed(self.claims.get(name), new)
        if new is None:
            del self.claims[name]
        else:
            self.claims[name] = new

    def _versioned(self, claim: ResourceClaim, allocation: dict[str, Any] | None) -> ResourceClaim:
        self.version += 1
        metadata = {**claim.raw["metadata"], "resourceVersion": str(self.version)}
        status = {} if allocation is None else {"allocation": allocation}
        return ResourceClaim.from_dict({**claim.raw, "metadata": metadata, "status": status})

    @rule(name=NAMES, request=REQUESTS)
    def create(self, name: str, request: dict[str, Any]) -> None:
        if name not in self.claims:
            self._show(name, self._versioned(make_claim(name, request), None))

    @rule(name=NAMES, write=st.booleans())
    def allocate(self, name: str, write: bool) -> None:
        """Reserve, and if it is written, what the API server answers; or Reserve alone."""
        claim = self.claims.get(name)
        if claim is None or claim.uid in self.given:
            return
        result = self.stand.solution(claim)
        if result is None:
            return
        self.given[claim.uid] = result
        self.tracker.set_pending(claim.uid, result)
        if write:
            self.write(name)

    @rule(name=NAMES)
    def write(self, name: str) -> None:
        claim = self.claims.get(name)
        result = self.tracker.pending(claim.uid) if claim is not None else None
        if claim is None or result is None:
            return
        written = self._versioned(claim, msgspec.to_builtins(result))
        assert self.tracker.assume(written)
        self.tracker.drop_pending(claim.uid)
        self._show(name, written)

    @rule(name=NAMES)
    def deallocate(self, name: str) -> None:
        claim = self.claims.get(name)
        if claim is None:
            return
        self.given.pop(claim.uid, None)
        if not self.tracker.drop_pending(claim.uid):
            self._show(name, self._versioned(claim, None))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        claim = self.claims.get(name)
        if claim is None:
            return
        self.given.pop(claim.uid, None)
        self.tracker.drop_pending(claim.uid)
        self._show(name, None)

    def _holders(self) -> Counter[str]:
        return Counter(
            each.device
            for result in self.given.values()
            for each in result.devices.results
            if not each.admin_access
        )

    @invariant()
    def no_device_is_given_twice(self) -> None:
        assert [name for name, n in self._holders().items() if n > 1 and name != "shared"] == []

    @invariant()
    def counters_are_not_overdrawn(self) -> None:
        assert sum(PARTITIONS.get(name, 0) for name in self._holders()) <= COUNTER

    @invariant()
    def capacity_is_not_overdrawn(self) -> None:
        amounts = [
            int(each.consumed_capacity["units"])
            for result in self.given.values()
            for each in result.devices.results
            if each.device == "shared" and not each.admin_access
        ]
        assert sum(amounts) <= CAPACITY

    @invariant()
    def what_is_counted_is_what_was_given(self) -> None:
        holders, allocated = self._holders(), self.stand.manager.allocated
        n_shares = holders.pop("shared", 0)
        assert {device[2]: n for device, n in allocated.exclusive.items()} == holders
        assert sum(allocated.shared.values()) == n_shares


DeviceMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestDevices = DeviceMachine.TestCase
