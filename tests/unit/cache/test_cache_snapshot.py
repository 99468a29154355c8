"""What the snapshot tells besides its table."""

from __future__ import annotations

import pytest

from bayplan.cache import Cache
from bayplan.testing import make_node, make_pod


@pytest.fixture
def cache() -> Cache:
    cache = Cache()
    for i, zone in enumerate(["z0", "z0", "z0", "z1", "", "z1"]):
        cache.set_node(make_node(f"n{i}", labels={"topology.kubernetes.io/zone": zone} if zone else {}))
    return cache


def test_search_goes_round_the_zones(cache: Cache) -> None:
    """One node of each zone at a time, as in kube-scheduler; nodes without a zone are a zone."""
    snapshot = cache.snapshot()
    assert snapshot.search_order().tolist() == [0, 3, 4, 1, 5, 2]
    assert snapshot.search_order() is snapshot.search_order()


@pytest.mark.parametrize("prefix", ["topology.kubernetes.io", "failure-domain.beta.kubernetes.io"])
def test_search_order_follows_the_labels(cache: Cache, prefix: str) -> None:
    """The deprecated names count as well; zones of two regions are different ones."""
    cache.snapshot().search_order()
    cache.set_node(make_node("n1", labels={f"{prefix}/zone": "z0", f"{prefix}/region": "r"}))
    assert cache.snapshot().search_order().tolist() == [0, 1, 3, 4, 2, 5]
    cache.remove_node("n0")
    assert sorted(cache.snapshot().search_order().tolist()) == [0, 1, 2, 3, 4]


def test_nodes_are_found_by_name(cache: Cache) -> None:
    snapshot = cache.snapshot()
    assert (snapshot.row("n2"), snapshot.row("x")) == (2, None)
    assert snapshot.rows(["n5", "x", "n0"]) == [5, None, 0]
    node = snapshot.node("n2")
    assert node is not None
    assert node.name == "n2"
    assert snapshot.node("x") is None


def test_lowest_priority_follows_the_pods(cache: Cache) -> None:
    snapshot = cache.snapshot()
    assert snapshot.lowest_priority is None
    cache.add_pod(make_pod("p", priority=5, node_name="n0"))
    cache.add_pod(low := make_pod("q", priority=-1, node_name="n1"))
    assert snapshot.lowest_priority == -1
    cache.remove_pod(low.uid)
    assert snapshot.lowest_priority == 5


def test_node_set_version_is_that_of_the_rows(cache: Cache) -> None:
    """Only an added or removed node changes it."""
    snapshot = cache.snapshot()
    before = snapshot.node_set_version
    cache.set_node(make_node("n0", cpu="1"))
    cache.add_pod(make_pod("p", node_name="n0"))
    assert snapshot.node_set_version == before
    cache.remove_node("n0")
    removed = snapshot.node_set_version
    cache.set_node(make_node("n0"))
    assert len({before, removed, snapshot.node_set_version}) == 3


def test_pods_of_unknown_nodes_are_not_in_the_snapshot(cache: Cache) -> None:
    cache.add_pod(make_pod("p", node_name="n0"))
    cache.add_pod(make_pod("q", node_name="x"))
    assert [pod.name for pod in cache.snapshot().pods()] == ["p"]
    assert cache.n_pods == 2


def test_what_if_leaves_no_trace(cache: Cache) -> None:
    """A pod removed from one node and added to another, for the length of the block."""
    cache.add_pod(pod := make_pod("p", cpu="1", node_name="n0"))
    snapshot = cache.snapshot()
    with snapshot.what_if() as what_if:
        what_if.remove(0, pod)
        what_if.add(1, pod)
        assert snapshot.nodes.requested("cpu").tolist() == [0, 1000, 0, 0, 0, 0]
    assert snapshot.nodes.requested("cpu").tolist() == [1000, 0, 0, 0, 0, 0]
