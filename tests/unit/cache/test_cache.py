"""The states of a pod in the cache: Initial, Assumed, Added, Deleted."""

from __future__ import annotations

import pytest

from bayplan.cache import Cache, CacheError
from bayplan.framework import TermKind
from bayplan.model import ObjectError
from bayplan.testing import make_node, make_pod


@pytest.fixture
def cache() -> Cache:
    cache = Cache()
    cache.set_node(make_node("a"))
    cache.set_node(make_node("b"))
    return cache


def used(cache: Cache, node: str) -> int:
    table = cache.snapshot().nodes
    position = table.position(node)
    assert position is not None
    return int(table.requested("cpu")[position])


def test_assumed_pod_counts_at_once(cache: Cache) -> None:
    """A pod counts on its node before the API server confirms the bind."""
    pod = make_pod("p", cpu="1")
    assumed = cache.assume(pod, "a")
    assert (used(cache, "a"), assumed.spec.node_name, cache.is_assumed(pod.uid)) == (1000, "a", True)


def test_confirmed_pod_counts_once(cache: Cache) -> None:
    """The confirmation by the watch replaces the assumption."""
    pod = make_pod("p", cpu="1")
    assumed = cache.assume(pod, "a")
    cache.add_pod(assumed)
    assert (used(cache, "a"), cache.is_assumed(pod.uid), cache.n_pods) == (1000, False, 1)


def test_pod_bound_elsewhere_moves(cache: Cache) -> None:
    """A pod that another scheduler bound to another node counts there and only there."""
    pod = make_pod("p", cpu="1")
    cache.assume(pod, "a")
    cache.add_pod(make_pod("p", cpu="1", node_name="b", metadata={"uid": pod.uid}))
    assert (used(cache, "a"), used(cache, "b")) == (0, 1000)


def test_forgotten_pod_frees_the_node(cache: Cache) -> None:
    """A bind that failed leaves nothing behind."""
    pod = make_pod("p", cpu="1")
    cache.assume(pod, "a")
    cache.forget(pod.uid)
    assert (used(cache, "a"), cache.n_pods) == (0, 0)


def test_pod_whose_requests_wrapped_around_can_be_removed(cache: Cache) -> None:
    """The sum of 4Ei and 4Ei is the lowest int64, which has no opposite."""
    containers = [{"name": name, "resources": {"requests": {"memory": "4Ei"}}} for name in "xy"]
    pod = make_pod("p", spec={"containers": containers})
    assumed = cache.assume(pod, "a")
    assert (assumed.requests["memory"], cache.snapshot().nodes.requested("memory").min()) == (-(2**63), -(2**63))
    cache.forget(pod.uid)
    assert not cache.snapshot().nodes.requested("memory").any()


def test_confirmed_pod_cannot_be_forgotten(cache: Cache) -> None:
    """Forgetting a pod that is on the node would hide it: a bug in the caller."""
    cache.add_pod(pod := make_pod("p", cpu="1", node_name="a"))
    with pytest.raises(CacheError, match="was not assumed"):
        cache.forget(pod.uid)


def test_pod_cannot_be_assumed_twice(cache: Cache) -> None:
    """A pod in the cache has a node already."""
    cache.assume(pod := make_pod("p"), "a")
    with pytest.raises(CacheError, match="cannot be assumed"):
        cache.assume(pod, "b")


def test_pods_of_a_missing_node_count_when_it_appears(cache: Cache) -> None:
    """A pod may be added before its node, and removed after it."""
    cache.add_pod(make_pod("p", cpu="1", node_name="c"))
    cache.set_node(make_node("c"))
    assert used(cache, "c") == 1000
    cache.remove_node("c")
    assert cache.snapshot().nodes.position("c") is None
    cache.set_node(make_node("c"))
    assert used(cache, "c") == 1000


def test_snapshot_arrays_cannot_be_written(cache: Cache) -> None:
    """Columns are shared between plugins; a plugin that writes to one gets an error."""
    requested = cache.snapshot().nodes.requested("cpu")
    with pytest.raises(ValueError, match="read-only"):
        requested[0] = 1


def test_invalid_objects_change_nothing(cache: Cache) -> None:
    """An object whose amounts cannot be parsed is rejected as a whole."""
    cache.add_pod(make_pod("p", cpu="1", node_name="a", metadata={"uid": "p"}))
    with pytest.raises(ObjectError, match=r"Node c: status.allocatable"):
        cache.set_node(make_node("c", cpu="four"))
    with pytest.raises(ObjectError, match="Pod default/p"):
        cache.add_pod(make_pod("p", cpu="one", node_name="b", metadata={"uid": "p"}))
    assert (cache.n_nodes, used(cache, "a"), used(cache, "b")) == (2, 1000, 0)


def test_other_terms_of_a_pod_still_count(cache: Cache) -> None:
    """Invalid affinity terms of one kind do not affect the other kinds."""
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
    invalid = {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}, "topologyKey": "zone"}
    affinity = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [invalid]},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
    }
    cache.add_pod(make_pod("p", node_name="a", spec={"affinity": affinity}))
    nodes = cache.snapshot().nodes
    assert [column.carriers.tolist() for column in nodes.affinity_terms(TermKind.REQUIRED_ANTI_AFFINITY)] == [
        [1, 0]
    ]
    assert not nodes.affinity_terms(TermKind.REQUIRED_AFFINITY)
