"""One search for all nodes of a class has the outcome that a search on every node has, whatever changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.devices.device_objects import (
    DRIVER,
    all_devices,
    exactly,
    first_available,
    make_claim,
    make_class,
    make_device,
    make_slice,
)
from tests.unit.plugins.bench import Bench

from bayplan.devices import (
    AllocationError,
    NodeAllocationError,
    SearchContext,
    allocation_results,
    plan_claim,
    search,
)
from bayplan.model import AllocationResult, Node, ResourceClaim, ResourceSlice
from bayplan.plugins.devices._node_searches import CANNOT, FAILED, FITS, NodeSearches, preference
from bayplan.testing import VirtualClock, make_node

NODES = ("a", "b", "c", "d")
IN_ZONE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}]}


class Searches:
    """A cluster, and both ways to search it."""

    def __init__(self, clock: VirtualClock | None = None) -> None:
        self.bench = Bench([make_node(name) for name in NODES])
        self.devices = self.bench.handle.devices
        if clock is not None:
            self.bench.handle.clock = clock
        self.searches = NodeSearches(self.bench.handle, 10.0)
        self.slices: dict[str, ResourceSlice] = {}
        self.held: dict[str, AllocationResult] = {}

    def set_slice(self, slice_: ResourceSlice) -> None:
        self.slices[slice_.name] = slice_
        self.bench.objects.set(slice_)

    def outcomes(self, claim: ResourceClaim) -> list[tuple[int, int, str]]:
        """Code, preference and status of each node."""
        plans = [plan_claim(claim, CLASSES.get, self.devices.features)]
        found = self.searches.outcomes(plans, self.bench.nodes, np.arange(len(NODES)))
        scores = np.zeros(len(NODES), dtype=np.int64) if found.scores is None else found.scores
        return [
            (code, score, found.statuses[i].message if i in found.statuses else "")
            for i, (code, score) in enumerate(zip(found.codes.tolist(), scores.tolist(), strict=True))
        ]

    def each_alone(self, claim: ResourceClaim) -> list[tuple[int, int, str]]:
        """The same, by a search on every node."""
        plans = [plan_claim(claim, CLASSES.get, self.devices.features)]
        context = SearchContext(self.devices.allocated, self.devices.features)
        alone = []
        for info in self.bench.nodes:
            try:
                found = search(plans, self.devices.index.of_node(info.node), context)
            except (AllocationError, NodeAllocationError) as error:
                alone.append((FAILED, 0, str(error)))
                continue
            alone.append((CANNOT, 0, "") if found is None else (FITS, preference(plans, found), ""))
        return alone

    def allocate(self, claim: ResourceClaim, node: str) -> None:
        plans = [plan_claim(claim, CLASSES.get, self.devices.features)]
        context = SearchContext(self.devices.allocated, self.devices.features)
        try:
            found = search(plans, self.devices.index.of_node(self._node(node)), context)
        except (AllocationError, NodeAllocationError):
            return
        if found is not None:
            share = f"share-{len(self.held)}"
            (result,) = allocation_results(plans, found, node, self.devices.features, lambda: share)
            self.held[claim.uid] = result
            self.devices.claims.set_pending(claim.uid, result)

    def _node(self, name: str) -> Node:
        return next(info.node for info in self.bench.nodes if info.name == name)


CLASSES = {"gpu": make_class()}
CAPACITY = {"memory": {"value": "4"}}
COUNTERS = [{"counterSet": "set", "counters": {"slots": {"value": "2"}}}]


def devices() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Devices of few kinds, so that nodes are often of one class."""
    kind = st.sampled_from(["plain", "plain", "numa", "shared", "tainted", "part"])

    def one(i: int, kind: str) -> dict[str, Any]:
        fields: dict[str, dict[str, Any]] = {
            "plain": {},
            "numa": {"attributes": {"numa": {"int": 1}}},
            "shared": {"allowMultipleAllocations": True, "capacity": CAPACITY},
            "tainted": {"taints": [{"key": "t", "effect": "NoSchedule"}]},
            "part": {"consumesCounters": COUNTERS},
        }
        return {**make_device(f"d{i}"), **fields[kind]}

    return st.lists(kind, max_size=4).map(lambda kinds: [one(i, each) for i, each in enumerate(kinds)])


def slices(node: str) -> st.SearchStrategy[list[ResourceSlice]]:
    """The slices of a node's pool; sometimes one is missing, or the node is another."""

    def pool(given: list[dict[str, Any]], count: int) -> list[ResourceSlice]:
        counters = [{"name": "set", "counters": {"slots": {"value": "3"}}}]
        return [
            make_slice(f"{node}-devices", *given, pool=node, node=node, count=count),
            make_slice(f"{node}-counters", pool=node, node=node, count=count, sharedCounters=counters),
        ]

    return st.builds(pool, devices(), st.sampled_from([2, 2, 2, 3]))


def shared_slice() -> st.SearchStrategy[ResourceSlice]:
    where = st.sampled_from([{"allNodes": True}, {"nodeSelector": IN_ZONE}])
    return st.builds(
        lambda given, place: make_slice("shared", *given, pool="shared", driver="nic.example.com", **place),
        devices().filter(lambda given: all("consumesCounters" not in each for each in given)),
        where,
    )


REQUESTS = (
    exactly("r"),
    exactly("r", 2),
    exactly("r", 1, f'device.attributes["{DRIVER}"].?numa.orValue(0) == 1'),
    exactly("r", 1, f'device.attributes["{DRIVER}"].numa == 1'),
    exactly("r", 1, capacity={"requests": {"memory": "3"}}),
    exactly("r", 1, tolerations=[{"operator": "Exists"}]),
    all_devices("r"),
    first_available("r", exactly("many", 3), exactly("one", 1)),
)

changes = st.one_of(
    *(slices(node).map(lambda made: ("slices", made)) for node in NODES),
    shared_slice().map(lambda made: ("slices", [made])),
    st.tuples(st.just("allocate"), st.tuples(st.sampled_from(REQUESTS), st.sampled_from(NODES))),
    st.tuples(st.just("release"), st.integers(0, 20)),
    st.tuples(st.just("label"), st.sampled_from(NODES)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(changes, st.sampled_from(REQUESTS)), min_size=3, max_size=12))
def test_shared_searches_are_full_searches(steps: Sequence[tuple[tuple[str, Any], dict[str, Any]]]) -> None:
    searches = Searches()
    for number, ((what, how), request) in enumerate(steps):
        _apply(searches, what, how, number)
        claim = make_claim(f"asked-{number}", request)
        assert searches.outcomes(claim) == searches.each_alone(claim)


def _apply(searches: Searches, what: str, how: Any, number: int) -> None:
    if what == "slices":
        for each in how:
            searches.set_slice(each)
    elif what == "allocate":
        request, node = how
        searches.allocate(make_claim(f"claim-{number}", request), node)
    elif what == "label":
        searches.bench.cache.set_node(make_node(how, labels={"zone": "z"}))
    elif searches.held:
        uid = list(searches.held)[how % len(searches.held)]
        del searches.held[uid]
        searches.devices.claims.drop_pending(uid)


# --- what is searched again -----------------------------------------------------------------------------------


class CountingClock(VirtualClock):
    """Counts how often it was read: once for each search, and now and then in a long one."""

    def __init__(self, seconds_per_look: float = 0.0) -> None:
        super().__init__()
        self.n_looks = 0
        self._seconds_per_look = seconds_per_look

    def monotonic(self) -> float:
        self.n_looks += 1
        return self.n_looks * self._seconds_per_look


def test_alike_nodes_are_searched_once() -> None:
    """And a node again when one of its devices was taken, if no other node is like that."""
    clock = CountingClock()
    searches = Searches(clock)
    for node in NODES:
        searches.set_slice(make_slice(node, "d0", "d1", pool=node, node=node))
    searches.outcomes(make_claim("one", exactly()))
    assert clock.n_looks == 1
    searches.outcomes(make_claim("two", exactly()))
    assert clock.n_looks == 1
    searches.allocate(make_claim("three", exactly()), "c")
    searches.outcomes(make_claim("four", exactly()))
    assert clock.n_looks == 2
    searches.allocate(make_claim("five", exactly()), "b")
    searches.outcomes(make_claim("six", exactly()))
    assert clock.n_looks == 2


def test_search_that_takes_too_long() -> None:
    """All nodes of the class fail with it, each in its own name."""
    searches = Searches(CountingClock(seconds_per_look=100.0))
    for node in NODES:
        searches.set_slice(make_slice(node, *(f"d{i}" for i in range(6)), pool=node, node=node))
    impossible = make_claim("one", *(exactly(f"r{i}") for i in range(5)), exactly("last", 1, "false"))
    assert searches.outcomes(impossible) == [
        (FAILED, 0, f"node {node}: timed out trying to allocate devices") for node in NODES
    ]
    assert [code for code, _, _ in searches.outcomes(make_claim("two", exactly()))] == [FITS] * len(NODES)
