"""Even use of resources."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.bench import Bench

from bayplan.plugins.resources._resource_scores import ResourceUsage
from bayplan.plugins.resources.node_resources_balanced_allocation import NodeResourcesBalancedAllocation, balance
from bayplan.testing import make_node, make_pod

GPU = "example.com/gpu"


def resources(*names: str) -> dict[str, Any]:
    return {"resources": [{"name": name, "weight": 1} for name in names]}


@pytest.mark.parametrize(
    ("taken", "wanted", "score"),
    [
        # Before: 100 − |cpu − memory|/2; after likewise; 50 + (50 + after − before)/2.
        pytest.param((0, 0), (2, 2), 75, id="no change"),
        pytest.param((0, 0), (4, 0), 50 + (50 + 80 - 100) // 2, id="one-sided use"),
        pytest.param((8, 2), (0, 6), 50 + (50 + 100 - 70) // 2, id="evens out"),
        pytest.param((0, 0), (10, 0), 50, id="as uneven as can be"),
        pytest.param((10, 0), (0, 10), 100, id="from uneven to even"),
        pytest.param((15, 0), (5, 0), 75, id="more than full is full"),
    ],
)
def test_change_of_balance(taken: tuple[int, int], wanted: tuple[int, int], score: int) -> None:
    """A node of 10 cores and 10 GiB; 75 is no change, towards 100 more even, towards 50 less."""
    bench = Bench(
        [make_node("a", cpu="10", memory="10Gi")],
        [make_pod("t", cpu=str(taken[0]), memory=f"{taken[1]}Gi", node_name="a")],
    )
    pod = make_pod("p", cpu=str(wanted[0]), memory=f"{wanted[1]}Gi")
    assert bench.scores(bench.plugin(NodeResourcesBalancedAllocation), pod) == {"a": score}


def test_pod_that_requests_nothing_is_skipped() -> None:
    """Nothing of the configured resources, that is; what else it requests does not matter."""
    bench = Bench([make_node("a")])
    plugin = bench.plugin(NodeResourcesBalancedAllocation)
    assert bench.scores(plugin, make_pod("p")) is None
    assert bench.scores(plugin, make_pod("p", requests={"cpu": "0", GPU: "1"})) is None
    assert bench.scores(plugin, make_pod("p", memory="1")) is not None


def test_pods_without_requests_count_nothing() -> None:
    """Unlike in NodeResourcesFit there are no small defaults: the node counts as empty."""
    bench = Bench([make_node("a", cpu="1", memory="1Gi")], [make_pod("t", node_name="a")])
    pod = make_pod("p", cpu="500m", memory="512Mi")
    assert bench.scores(bench.plugin(NodeResourcesBalancedAllocation), pod) == {"a": 75}


def test_resources_that_do_not_count() -> None:
    """A resource that the node does not offer is left out; one resource alone is always even."""
    nodes = [make_node("plain", cpu="10", memory="10Gi"), make_node("odd", cpu="10", memory="0")]
    bench = Bench(nodes)
    plugin = bench.plugin(NodeResourcesBalancedAllocation, resources("cpu", "memory", GPU))
    assert bench.scores(plugin, make_pod("p", cpu="10")) == {"plain": 50, "odd": 75}


amounts = st.integers(0, 9)
shares = st.tuples(amounts, amounts, amounts)


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=6), shares.filter(any))
def test_columns_agree_with_the_rule_per_node(
    nodes: list[tuple[tuple[int, int, int], tuple[int, int, int]]], wanted: tuple[int, int, int]
) -> None:
    """The standard deviation of the used fractions, each at most 1, with the pod and without it."""

    def quantities(values: tuple[int, int, int]) -> dict[str, str]:
        cpu, memory, gpus = values
        return {"cpu": str(cpu), "memory": f"{memory}Gi", **({GPU: str(gpus)} if gpus else {})}

    bench = Bench(
        [make_node(f"n{i}", resources=quantities(offered)) for i, (offered, _) in enumerate(nodes)],
        [make_pod(f"t{i}", requests=quantities(taken), node_name=f"n{i}") for i, (_, taken) in enumerate(nodes)],
    )
    plugin = bench.plugin(NodeResourcesBalancedAllocation, resources("cpu", "memory", GPU))

    def even(offered: tuple[int, int, int], used: list[int]) -> int:
        fractions = [
            min(taken / has, 1.0)
            for i, (has, taken) in enumerate(zip(offered, used, strict=True))
            if has and (i < 2 or wanted[2])
        ]
        deviation = 0.0
        if len(fractions) == 2:
            deviation = abs((fractions[0] - fractions[1]) / 2)
        elif len(fractions) > 2:
            mean = (fractions[0] + fractions[1] + fractions[2]) / 3
            squares = [(each - mean) * (each - mean) for each in fractions]
            deviation = math.sqrt((squares[0] + squares[1] + squares[2]) / 3)
        return int((1 - deviation) * 100)

    expected = {
        f"n{i}": 50
        + (50 + even(offered, [t + w for t, w in zip(taken, wanted, strict=True)]) - even(offered, [*taken])) // 2
        for i, (offered, taken) in enumerate(nodes)
    }
    assert bench.scores(plugin, make_pod("p", requests=quantities(wanted))) == expected


def test_requests_that_wrapped_around() -> None:
    """Where sums went beyond int64 balances are vast; their difference is still told exactly (seen in Go)."""
    cpu = ResourceUsage(
        1, *(np.array([n], dtype=np.int64) for n in (-9223372036854761816, -9223372036854762816, 4000))
    )
    memory = ResourceUsage(
        1, *(np.array([n], dtype=np.int64) for n in (-2446744049899170816, -2446744052046654464, 8589934592))
    )
    without_pod, with_pod = balance([cpu, memory], 1)
    assert (50 + (50 + with_pod - without_pod) // 2).tolist() == [75]
