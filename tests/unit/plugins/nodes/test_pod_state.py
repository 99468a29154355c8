"""PodState: nodes with pods on their way out are better, nodes promised to others are worse."""

from __future__ import annotations

from typing import Any

from tests.unit.plugins.bench import Bench

from bayplan.framework import CycleState
from bayplan.plugins.nodes.pod_state import PodState
from bayplan.testing import make_node, make_pod


def test_terminating_pods_minus_nominated_ones() -> None:
    """Each terminating pod counts one, each nominated pod minus one; stretched over 0 … 100."""
    leaving: dict[str, Any] = {"metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}}
    bench = Bench(
        nodes=[make_node(name) for name in "abc"],
        pods=[
            make_pod("x", node_name="a", **leaving),
            make_pod("y", node_name="a", namespace="other", **leaving),
            make_pod("z", node_name="a"),
        ],
    )
    bench.handle.nominator.add(make_pod("promised"), "c")
    plugin, nodes, state = PodState(None, bench.handle), bench.handle.snapshot.nodes, CycleState()

    raw = plugin.score_nodes(state, make_pod("p"), nodes)

    assert raw.tolist() == [2, 0, -1]
    assert plugin.normalize_score(state, make_pod("p"), raw, nodes).tolist() == [100, 33, 0]
