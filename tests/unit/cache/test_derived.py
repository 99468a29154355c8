"""Derived columns follow the nodes: they are what is worked out afresh, and no entry is below the least."""

from __future__ import annotations

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


@given(steps)
def test_columns_are_those_worked_out_afresh(steps: list[tuple[str, int, int]]) -> None:
    """Nodes and pods come, change and go; for all nodes, for many and for few."""
    cache, placed = cluster(), list[Pod]()
    for what, number, amount in [*steps, ("place", 1, 1)]:
        happens(cache, placed, what, number, amount)
        nodes = cache.snapshot().nodes
        for table in (nodes, nodes.select(np.arange(0, len(nodes) - 3)), nodes.select(np.array([1, 0]))):
            derived = table.derived("free", free)
            assert np.array_equal(derived.columns, free(table))
            assert (derived.least <= derived.columns.min(axis=1)).all()


def test_only_nodes_that_changed_are_asked_about() -> None:
    """The function is given a table of them; another key stands for other columns."""
    cache, asked = cluster(), list[int]()
    nodes = cache.snapshot().nodes

    def make(part: NodeTable) -> FloatArray:
        asked.append(len(part))
        return free(part)

    nodes.derived("free", make)
    nodes.derived("free", make)
    cache.add_pod(make_pod("p", cpu="1", node_name="n3"))
    cache.add_pod(make_pod("q", cpu="1", node_name="n5"))
    nodes.derived("free", make)
    nodes.derived(("free", "again"), make)
    assert asked == [N_NODES, 2, N_NODES]


def test_what_is_given_cannot_be_changed() -> None:
    """The columns are shared by all who know the key."""
    derived = cluster().snapshot().nodes.derived("free", free)
    with pytest.raises(ValueError, match="read-only"):
        derived.columns[0, 0] = 1


def test_a_what_if_has_columns_of_its_own() -> None:
    """Amounts that are changed in a what-if show in what is derived from them, and nowhere else."""
    cache = cluster()
    pod = make_pod("p", cpu="1")
    nodes = cache.snapshot().nodes
    before = nodes.derived("free", free).columns[0].tolist()
    table = cache.snapshot().with_amounts(nodes.rows, [pod])
    table.add(np.array([4]), np.array([0]))
    after = table.derived("free", free).columns[0].tolist()
    assert [old - new for old, new in zip(before, after, strict=True)] == [0] * 4 + [1000] + [0] * (N_NODES - 5)
    assert nodes.derived("free", free).columns[0].tolist() == before
