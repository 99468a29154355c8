"""A handful of nodes is scored in plain numbers; the columns are the judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.config.args.base import ResourceSpec
from bayplan.config.args.resources import ScoringStrategy
from bayplan.plugins.resources._few_nodes import FEW, FewUsage, allocation_scores, balance_scores, few_usages
from bayplan.plugins.resources._resource_scores import ResourceUsage, strategy_of
from bayplan.plugins.resources.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from bayplan.testing import Harness, make_node, make_pod

AMOUNTS = st.one_of(st.integers(0, 200), st.integers(0, 2**40), st.sampled_from([0, 1, 4000, 2**44]))


@st.composite
def usages(draw: st.DrawFn, n_nodes: int = FEW) -> list[ResourceUsage]:
    """Resources over few nodes, some of which offer none of some."""
    made = []
    for _ in range(draw(st.integers(1, 4))):
        allocated = np.array(draw(st.lists(AMOUNTS, min_size=n_nodes, max_size=n_nodes)), dtype=np.int64)
        allocatable = np.array(draw(st.lists(AMOUNTS, min_size=n_nodes, max_size=n_nodes)), dtype=np.int64)
        made.append(ResourceUsage(draw(st.integers(1, 100)), allocated + draw(AMOUNTS), allocated, allocatable))
    return made


def twice(columns: list[ResourceUsage]) -> list[ResourceUsage]:
    """The same nodes again, so that there are too many for plain numbers."""
    return [
        ResourceUsage(
            each.weight, *(np.tile(column, 2) for column in (each.requested, each.allocated, each.allocatable))
        )
        for each in columns
    ]


def plain(columns: list[ResourceUsage]) -> list[FewUsage]:
    return [
        FewUsage(
            each.weight,
            int(each.requested[0] - each.allocated[0]),  # of the pod: the same on every node
            each.allocated.tolist(),
            each.allocatable.tolist(),
        )
        for each in columns
    ]


@given(usages(), st.booleans())
def test_allocation_agrees_with_the_columns(columns: list[ResourceUsage], least: bool) -> None:
    """LeastAllocated and MostAllocated, node by node."""
    strategy = strategy_of(ScoringStrategy(type="LeastAllocated" if least else "MostAllocated"))
    few = allocation_scores(plain(columns), FEW, least=least)
    assert few.tolist() == strategy(twice(columns), 2 * FEW)[:FEW].tolist()


@given(usages())
def test_balance_agrees_with_the_columns(columns: list[ResourceUsage]) -> None:
    """To the bit: the order of the operations is the same."""
    from bayplan.plugins.resources.node_resources_balanced_allocation import balance

    few = balance_scores(plain(columns), FEW)
    without_pod, with_pod = balance(twice(columns), 2 * FEW)
    change = (50 + with_pod - without_pod)[:FEW]
    assert few.tolist() == [50 + int(each / 2) for each in change.tolist()]


@pytest.mark.parametrize("request_bytes", [-1, 2**46, 2**62], ids=["negative", "vast", "about to overflow"])
def test_odd_amounts_are_left_to_the_columns(request_bytes: int) -> None:
    """Go's whole numbers wrap around, Python's do not."""
    table = Harness(nodes=[make_node("n", memory="4")]).core.cache.snapshot().nodes
    memory = [ResourceSpec(name="memory", weight=1)]
    assert few_usages(table, memory, {"memory": request_bytes}, nonzero=False) is None
    assert few_usages(table, memory, {"memory": 1}, nonzero=False) == [FewUsage(1, 1, [0], [4])]


def test_many_nodes_are_left_to_the_columns() -> None:
    """Plain numbers pay for a handful of nodes only."""
    table = Harness(nodes=[make_node(f"n{i}") for i in range(FEW + 1)]).core.cache.snapshot().nodes
    memory = [ResourceSpec(name="memory", weight=1)]
    assert few_usages(table, memory, {}, nonzero=True) is None
    assert few_usages(table.select(np.arange(FEW)), memory, {}, nonzero=True) is not None


def test_plugin_scores_few_nodes_like_many() -> None:
    """The number of nodes in question makes no difference to a node's score."""
    nodes = [make_node(f"n{i}", cpu=str(2 + i), memory=f"{4 + 3 * i}Gi") for i in range(3 * FEW)]
    harness = Harness(nodes=nodes)
    plugin = harness.profile().plugins.plugins[NodeResourcesBalancedAllocation.name]
    assert isinstance(plugin, NodeResourcesBalancedAllocation)
    pod, table = make_pod("p", cpu="1", memory="1Gi"), harness.core.cache.snapshot().nodes
    many = plugin.score_nodes(None, pod, table)  # type: ignore[arg-type]
    few = plugin.score_nodes(None, pod, table.select(np.arange(3)))  # type: ignore[arg-type]
    assert few.tolist() == many[:3].tolist()
