"""A search with per-node filters stops early; every node has the reason that it would have had otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cache import Cache
from bayplan.framework import (
    Code,
    CycleState,
    FilterOutcome,
    NodeTable,
    PlacedPlugin,
    Plugin,
    ProfilePlugins,
    Runner,
    SearchPlan,
    Status,
)
from bayplan.testing import make_node, make_pod

POD = make_pod("p")
N_NODES = 12


def table() -> NodeTable:
    cache = Cache()
    for i in range(N_NODES):
        cache.set_node(make_node(f"n{i:02}"))
    return cache.snapshot().nodes


NODES = table()


def column(name: str, rejects: set[int], code: Code = Code.UNSCHEDULABLE) -> Plugin:
    """A column filter that rejects the nodes at those rows."""

    def filter_nodes(self: Any, state: Any, pod: Any, nodes: NodeTable) -> Any:
        return nodes.reject(np.isin(nodes.rows, sorted(rejects)), f"{name} says no", code)

    made: Plugin = type(name, (Plugin,), {"name": name, "filter_nodes": filter_nodes})(None, None)
    return made


def one_by_one(name: str, rejects: set[int], asked: list[int] | None = None, fails: int | None = None) -> Plugin:
    """A per-node filter that rejects those nodes, breaks on one, and notes which it was called for."""

    def filter(self: Any, state: Any, pod: Any, node: Any) -> Status | None:
        row = int(node.name[1:])
        if asked is not None:
            asked.append(row)
        if row == fails:
            raise ValueError("broken")
        return Status.unschedulable(f"{name} says no") if row in rejects else None

    made: Plugin = type(name, (Plugin,), {"name": name, "filter": filter})(None, None)
    return made


def searched(plugins: list[Plugin], wanted: int, order: list[int] | None = None) -> FilterOutcome:
    runner = Runner(ProfilePlugins("test", {"filter": [PlacedPlugin(plugin) for plugin in plugins]}))
    positions = np.array(order if order is not None else range(N_NODES))
    return runner.filter(CycleState(), POD, NODES, SearchPlan(positions, wanted))


def complete(plugins: list[Plugin]) -> FilterOutcome:
    runner = Runner(ProfilePlugins("test", {"filter": [PlacedPlugin(plugin) for plugin in plugins]}))
    return runner.filter(CycleState(), POD, NODES)


def test_search_stops_when_it_has_enough() -> None:
    """The per-node filter is called up to the first feasible node too many, in the order of the search."""
    asked: list[int] = []
    outcome = searched([one_by_one("Slow", {1}, asked)], wanted=3, order=[5, 1, 0, 2, 3, 4, 6, 7, 8, 9, 10, 11])
    assert asked == [5, 1, 0, 2, 3]
    assert np.flatnonzero(outcome.feasible).tolist() == [0, 2, 5]
    assert outcome.n_seen == 4


def test_rejected_columns_are_not_asked_about() -> None:
    """What a column rejects needs no second opinion while there are enough other nodes."""
    asked: list[int] = []
    searched([one_by_one("Slow", set(), asked), column("Fast", {0, 1, 2})], wanted=2)
    assert asked == [3, 4, 5]


def test_columns_alone_need_no_search() -> None:
    """Without a per-node filter all nodes are judged, and the cycle cuts its window out of them."""
    assert searched([column("Fast", {0})], wanted=1).feasible.sum() == N_NODES - 1


@pytest.mark.parametrize("position", [3, 0])
def test_failure_ends_the_search(position: int) -> None:
    """A filter that breaks on a node that is looked at ends the attempt."""
    outcome = searched([one_by_one("Slow", set(), fails=position)], wanted=8)
    assert outcome.error is not None
    assert outcome.error.message == 'running "Slow" filter plugin: broken'


def test_failing_column_ends_the_search() -> None:
    """The same for a column."""
    outcome = searched([one_by_one("Slow", set()), column("Fast", {4}, Code.ERROR)], wanted=8)
    assert outcome.error is not None
    assert outcome.error.message == 'running "Fast" filter plugin: Fast says no'


rows = st.sets(st.integers(0, N_NODES - 1))


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.booleans(), rows), min_size=1, max_size=4),
    st.permutations(range(N_NODES)),
    st.integers(1, 11),
)
def test_search_agrees_with_looking_at_everything(
    filters: list[tuple[bool, set[int]]], order: list[int], wanted: int
) -> None:
    """Feasible nodes are feasible; where too few are found, all nodes have the statuses of a complete run."""
    plugins = [
        (one_by_one if is_per_node else column)(f"P{i}", rejects)
        for i, (is_per_node, rejects) in enumerate(filters)
    ]
    everything = complete(plugins)
    found = searched(plugins, wanted, order)
    if any(is_per_node for is_per_node, _ in filters):
        first = [position for position in order if everything.feasible[position]][:wanted]
        assert sorted(np.flatnonzero(found.feasible).tolist()) == sorted(first)
    if everything.feasible.sum() <= wanted:
        assert [found.status(i) for i in range(N_NODES)] == [everything.status(i) for i in range(N_NODES)]
        assert found.codes().tolist() == everything.codes().tolist()
