"""TargetLoadPacking: scores from measured cpu load."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.trimaran.support import report_loads

from bayplan.model import Pod
from bayplan.plugins.trimaran.target_load_packing import TargetLoadPacking
from bayplan.testing import make_node, make_pod


def packing(**nodes: float) -> tuple[Bench, TargetLoadPacking]:
    """Nodes of ten cores with so many percent of cpu in use; the target is 40."""
    bench = Bench(nodes=[make_node(name, cpu="10") for name in nodes])
    plugin = bench.plugin(TargetLoadPacking)
    report_loads(bench, plugin, end=bench.handle.clock.now(), **{n: [("CPU", "AVG", v)] for n, v in nodes.items()})
    return bench, plugin


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        # The pod adds 10 %. Below the target of 40: 60·u/40 + 40; above: 40·(100−u)/60.
        (0.0, 55),
        (30.0, 100),
        (31.0, 39),
        (60.0, 20),
        (90.0, 0),
        (95.0, 0),
    ],
)
def test_packs_up_to_the_target(used: float, expected: int) -> None:
    """The fuller the better up to the target; above it the emptier, and worse than anything below."""
    bench, plugin = packing(n=used)
    assert bench.scores(plugin, limited("1")) == {"n": expected}


def limited(cpu: str, **fields: Any) -> Pod:
    return make_pod("p", spec={"containers": [{"name": "c", "resources": {"limits": {"cpu": cpu}}}]}, **fields)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        # 10, 15, 10 and 35 percent; halves are rounded up.
        (limited("1"), 55),
        (make_pod("p", cpu="1"), 63),
        (make_pod("p"), 55),
        (make_pod("p", cpu="2", spec={"overhead": {"cpu": "500m"}}), 93),
    ],
    ids=["limit", "request and a half", "nothing: a core", "overhead"],
)
def test_expected_use_of_a_pod(pod: Pod, expected: int) -> None:
    """A limit is used up, a request one and a half times, and nothing at all stands for a core."""
    bench, plugin = packing(n=0.0)
    assert bench.scores(plugin, pod) == {"n": expected}


def test_pods_that_the_report_does_not_show_are_added() -> None:
    """A pod that came after the window, or in its last minute, is expected to use what it asks for."""
    bench, plugin = packing(a=0.0, b=0.0)
    bench.cache.assume(limited("2", metadata={"uid": "new"}), "a")
    # 20 % that nobody measured yet, and 10 % of the pod itself.
    assert bench.scores(plugin, limited("1")) == {"a": 85, "b": 55}
    report_loads(
        bench, plugin, end=bench.handle.clock.now() + 61, a=[("CPU", "AVG", 5.0)], b=[("CPU", "AVG", 0.0)]
    )
    assert bench.scores(plugin, limited("1")) == {"a": 63, "b": 55}


def test_old_pods_are_in_the_report() -> None:
    """A pod that says it was scheduled long ago is measured already; one that goes is not missed."""
    bench, plugin = packing(a=0.0)
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    bench.cache.add_pod(limited("5", node_name="a", status={"conditions": [condition]}))
    assert bench.scores(plugin, limited("1")) == {"a": 55}
    bench.cache.assume(limited("5", metadata={"uid": "new"}), "a")
    bench.scores(plugin, limited("1"))
    bench.cache.remove_pod("new")
    assert bench.scores(plugin, limited("1")) == {"a": 55}


def test_nodes_without_a_measurement_come_last() -> None:
    """A node that the source does not know, or of which it tells no cpu, gets 0; so do all before any report."""
    bench = Bench(nodes=[make_node(name, cpu="10") for name in "abc"])
    plugin = bench.plugin(TargetLoadPacking)
    assert bench.scores(plugin, limited("1")) == {"a": 0, "b": 0, "c": 0}
    report_loads(bench, plugin, a=[("CPU", "Latest", 0.0)], b=[("Memory", "AVG", 1.0), ("CPU", "STD", 1.0)])
    assert bench.scores(plugin, limited("1")) == {"a": 55, "b": 0, "c": 0}


def test_columns_follow_nodes() -> None:
    """A node that comes, goes or changes its capacity after the report is scored by what is known of it."""
    bench, plugin = packing(a=0.0, b=20.0)
    bench.scores(plugin, limited("1"))
    bench.cache.remove_node("a")
    bench.cache.set_node(make_node("c", cpu="10"))
    bench.cache.set_node(make_node("b", cpu="5"))
    # b: 20 % and a core of five are the target.
    assert bench.scores(plugin, limited("1")) == {"b": 100, "c": 0}
