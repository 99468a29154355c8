"""Derived columns equal a full computation after any changes, and no entry is below `least`."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan, nan
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cache import Cache
from bayplan.framework import FloatArray, NodeTable
from bayplan.model import Pod
from bayplan.testing import make_node, make_pod

N_NODES: Final = 80

steps = st.lists(
    st.tuples(st.sampled_from(["place", "remove", "change", "drop"]), st.integers(0, N_NODES), st.integers(1, 9)),
    max_size=12,
)


def free(nodes: NodeTable) -> FloatArray:
    return np.array([nodes.allocatable(name) - nodes.requested(name) for name in ("cpu", "memory")], dtype=float)


def happens(cache: Cache, placed: list[Pod], what: str, number: int, amount: int) -> None:
    if what == "change":
        cache.set_node(make_node(f"n{number}", cpu=str(amount)))
    elif what == "drop" and cache.snapshot().nodes.position(f"n{number}") is not None:
        cache.remove_node(f"n{number}")
    elif what == "place":
        placed.append(make_pod("p", cpu=f"{amount}", node_name=f"n{number}"))
        cache.add_pod(placed[-1])
    elif what == "remove" and placed:
        cache.remove_pod(placed.pop(number % len(placed)).uid)


def cluster() -> Cache:
    cache = Cache()
    for number in range(N_NODES):
        cache.set_node(make_node(f"n{number}"))
    return cache


def free_at(nodes: NodeTable, position: int) -> list[float]:
    """The same of one node."""
    _, _, _, cpu, all_cpu, _, memory, all_memory = nodes.amounts_at(position, ("cpu", "memory"))
    return [all_cpu - cpu, all_memory - memory]


@pytest.mark.parametrize("make_one", [None, free_at], ids=["as tables", "one by one"])
@given(steps=steps)
def test_columns_equal_a_full_computation(
    make_one: Callable[[NodeTable, int], list[float]] | None, steps: list[tuple[str, int, int]]
) -> None:
    """Nodes and pods are added, changed and removed; for all nodes, for many and for few."""
    cache, placed = cluster(), list[Pod]()
    for what, number, amount in [*steps, ("place", 1, 1)]:
        happens(cache, placed, what, number, amount)
        nodes = cache.snapshot().nodes
        for table in (nodes, nodes.select(np.arange(0, len(nodes) - 3)), nodes.select(np.array([1, 0]))):
            derived = table.derived("free", free, make_one)
            assert np.array_equal(derived.columns, free(table))
            assert (derived.least <= derived.columns.min(axis=1)).all()


def test_only_changed_nodes_are_recomputed() -> None:
    """The function gets a table of them. Another key is another entry."""
    cache, computed = cluster(), list[int]()
    nodes = cache.snapshot().nodes

    def make(part: NodeTable) -> FloatArray:
        computed.append(len(part))
        return free(part)

    nodes.derived("free", make)
    nodes.derived("free", make)
    cache.add_pod(make_pod("p", cpu="1", node_name="n3"))
    cache.add_pod(make_pod("q", cpu="1", node_name="n5"))
    nodes.derived("free", make)
    nodes.derived(("free", "again"), make)
    assert computed == [N_NODES, 2, N_NODES]


def test_single_changed_node_is_recomputed_by_position() -> None:
    """One changed node needs no table; several do. All nodes are computed once."""
    cache, computed = cluster(), list[str]()
    nodes = cache.snapshot().nodes

    def make(part: NodeTable) -> FloatArray:
        computed.append(f"{len(part)} nodes")
        return free(part)

    def make_one(table: NodeTable, position: int) -> list[float]:
        computed.append(table[position].name)
        return free_at(table, position)

    for names in ([], ["n3"], ["n5", "n7"], ["n0"]):
        for name in names:
            cache.add_pod(make_pod(f"on-{name}", cpu="1", node_name=name))
        nodes.derived("free", make, make_one)
    assert computed == [f"{N_NODES} nodes", "n3", "2 nodes", "n0"]


def test_least_stays_nan_until_it_is_computed_again() -> None:
    """Even if the node that had a NaN has none any more."""
    cache, entries = cluster(), iter([nan, 1.0, -1.0])
    nodes = cache.snapshot().nodes

    def least() -> float:
        derived = nodes.derived("free", lambda part: np.zeros((1, len(part))), lambda *_: [next(entries)])
        return float(derived.least[0])

    found = [least()]
    for number in range(3):
        cache.add_pod(make_pod(f"p{number}", cpu="1", node_name="n3"))
        found.append(least())
    assert not list(entries)
    assert found[0] == 0
    assert all(map(isnan, found[1:]))


@given(steps)
def test_amounts_at_a_position_equal_the_columns(steps: list[tuple[str, int, int]]) -> None:
    """On the whole table, on a selection and on a what-if table."""
    cache, placed = cluster(), list[Pod]()
    for what, number, amount in [*steps, ("place", 1, 1)]:
        happens(cache, placed, what, number, amount)
    whole = cache.snapshot().nodes
    what_if = cache.snapshot().with_amounts(whole.rows, [make_pod("q", cpu="2")])
    what_if.add(np.array([1]), np.array([0]))
    names = ("memory", "cpu", "ephemeral-storage", "example.com/gpu")
    for table in (whole, whole.select(np.array([7, 1])), what_if):
        assert table.amounts_at(1, names) == NodeTable.amounts_at(table, 1, names)


def test_derived_columns_are_read_only() -> None:
    """They are shared by every reader of the key."""
    derived = cluster().snapshot().nodes.derived("free", free)
    with pytest.raises(ValueError, match="read-only"):
        derived.columns[0, 0] = 1


def test_what_if_has_its_own_derived_columns() -> None:
    """Amounts changed in a what-if table affect the columns derived from it, and no others."""
    cache = cluster()
    pod = make_pod("p", cpu="1")
    nodes = cache.snapshot().nodes
    before = nodes.derived("free", free).columns[0].tolist()
    table = cache.snapshot().with_amounts(nodes.rows, [pod])
    table.add(np.array([4]), np.array([0]))
    after = table.derived("free", free).columns[0].tolist()
    assert [old - new for old, new in zip(before, after, strict=True)] == [0] * 4 + [1000] + [0] * (N_NODES - 5)
    assert nodes.derived("free", free).columns[0].tolist() == before
