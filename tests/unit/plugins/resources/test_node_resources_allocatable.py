"""NodeResourcesAllocatable: nodes by their size, whatever is used of them."""

from __future__ import annotations

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.config.args import NodeResourcesAllocatableArgs, ResourceSpec
from bayplan.framework import CycleState
from bayplan.plugins.resources.node_resources_allocatable import NodeResourcesAllocatable
from bayplan.testing import make_node, make_pod

GPU = "example.com/gpu"


def scores(mode: str, weights: list[tuple[str, int]]) -> tuple[list[int], list[int]]:
    """Raw and normalised scores of three nodes."""
    bench = Bench(
        nodes=[
            make_node("small", cpu="1", memory="1000", resources={GPU: "2"}),
            make_node("middle", cpu="3", memory="2000"),
            make_node("large", cpu="5", memory="9000", resources={GPU: "1"}),
        ],
        pods=[make_pod("busy", cpu="1", node_name="large")],
    )
    resources = tuple(ResourceSpec(name=name, weight=weight) for name, weight in weights)
    plugin = NodeResourcesAllocatable(
        NodeResourcesAllocatableArgs(mode=mode, resources=resources).defaulted(), bench.handle
    )
    state, nodes = CycleState(), bench.handle.snapshot.nodes
    raw = plugin.score_nodes(state, make_pod("p"), nodes)
    return raw.tolist(), plugin.normalize_score(state, make_pod("p"), raw, nodes).tolist()


@pytest.mark.parametrize(
    ("mode", "weights", "raw", "normalised"),
    [
        pytest.param("Most", [("cpu", 1)], [1000, 3000, 5000], [0, 50, 100], id="most cpu"),
        pytest.param("Least", [("cpu", 1)], [-1000, -3000, -5000], [100, 50, 0], id="least cpu"),
        # (1000·2 + 1000)/3, (3000·2 + 2000)/3 = 2666.67, (5000·2 + 9000)/3 = 6333.33, cut off towards zero
        pytest.param("Most", [("cpu", 2), ("memory", 1)], [1000, 2666, 6333], [0, 31, 100], id="weights"),
        pytest.param("Least", [("cpu", 2), ("memory", 1)], [-1000, -2666, -6333], [100, 68, 0], id="negative"),
        pytest.param("Most", [(GPU, 1)], [2, 0, 1], [100, 0, 50], id="extended resource"),
        pytest.param("Most", [("pods", 1), ("nonsense", 1)], [0, 0, 0], [0, 0, 0], id="nothing that counts"),
        pytest.param("Most", [("cpu", 9), ("cpu", 1)], [1000, 3000, 5000], [0, 50, 100], id="listed twice"),
    ],
)
def test_nodes_by_their_size(
    mode: str, weights: list[tuple[str, int]], raw: list[int], normalised: list[int]
) -> None:
    """The weighted mean of what a node offers; Least is the same with a minus. Equal nodes get 0."""
    assert scores(mode, weights) == (raw, normalised)


def test_defaults_weigh_a_core_as_a_gib() -> None:
    """Without arguments: Least, a thousandth of a core against a MiB."""
    args = NodeResourcesAllocatableArgs().defaulted()
    assert args.mode == "Least"
    assert [(each.name, each.weight) for each in args.resources] == [("cpu", 1 << 20), ("memory", 1)]
