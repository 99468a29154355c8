"""TargetLoadPacking and LoadVariationRiskBalancing: scores from measured load."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework.loads import LoadReport, Metric
from bayplan.model import Pod
from bayplan.plugins._node_loads import load_source
from bayplan.plugins.load_variation_risk_balancing import LoadVariationRiskBalancing
from bayplan.plugins.target_load_packing import TargetLoadPacking
from bayplan.testing import make_node, make_pod

GIB = 1024**3


def told(bench: Bench, plugin: Any, *, end: float = 0.0, **nodes: list[tuple[str, str, float]]) -> None:
    """The source of *plugin* reports: node → (type, operator, percent)."""
    metrics = {name: [Metric(*each) for each in metrics] for name, metrics in nodes.items()}
    bench.handle.loads.feed(load_source(plugin.args)).report = LoadReport(int(end), metrics)


# --- TargetLoadPacking ----------------------------------------------------------------------------


def packing(**nodes: float) -> tuple[Bench, TargetLoadPacking]:
    """Nodes of ten cores with so many percent of cpu in use; the target is 40."""
    bench = Bench(nodes=[make_node(name, cpu="10") for name in nodes])
    plugin = bench.plugin(TargetLoadPacking)
    told(bench, plugin, end=bench.handle.clock.now(), **{n: [("CPU", "AVG", v)] for n, v in nodes.items()})
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
    told(bench, plugin, end=bench.handle.clock.now() + 61, a=[("CPU", "AVG", 5.0)], b=[("CPU", "AVG", 0.0)])
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
    told(bench, plugin, a=[("CPU", "Latest", 0.0)], b=[("Memory", "AVG", 1.0), ("CPU", "STD", 1.0)])
    assert bench.scores(plugin, limited("1")) == {"a": 55, "b": 0, "c": 0}


# --- LoadVariationRiskBalancing -------------------------------------------------------------------

#: Average and deviation of cpu, 20 and 10 percent; of memory 40 and 0.
STEADY = [("CPU", "AVG", 20.0), ("CPU", "STD", 10.0), ("Memory", "AVG", 40.0), ("Memory", "STD", 0.0)]


def risk(metrics: list[tuple[str, str, float]], pod: Pod, **args: float) -> dict[str, int] | None:
    bench = Bench(nodes=[make_node("n", cpu="10", memory="10Gi")])
    plugin = bench.plugin(LoadVariationRiskBalancing, args)
    told(bench, plugin, n=metrics)
    return bench.scores(plugin, pod)


@pytest.mark.parametrize(
    ("pod", "args", "expected"),
    [
        # cpu: 1 − (0.2 + 0.1)/2 = 85; memory: 1 − 0.4/2 = 80: the riskier one counts.
        pytest.param(make_pod("p"), {}, 80, id="nothing requested"),
        # cpu: (0.2 + 0.5 + 0.1)/2 = 0.4
        pytest.param(make_pod("p", cpu="5"), {}, 60, id="cpu"),
        # memory: (0.4 + 0.5)/2 = 0.45
        pytest.param(make_pod("p", memory="5Gi"), {}, 55, id="memory"),
        # cpu: (0.7 + 3·0.1)/2 = 0.5
        pytest.param(make_pod("p", cpu="5"), {"safeVarianceMargin": 3.0}, 50, id="margin"),
        # cpu: (0.7 + √0.1)/2 = 0.508
        pytest.param(make_pod("p", cpu="5"), {"safeVarianceSensitivity": 2.0}, 49, id="sensitivity"),
        # the power of infinity leaves nothing of 0.1
        pytest.param(make_pod("p", cpu="5"), {"safeVarianceSensitivity": 0.0}, 65, id="no sensitivity"),
        # cpu: (1 + 0.1)/2 = 0.55
        pytest.param(make_pod("p", cpu="50"), {}, 45, id="more than there is"),
    ],
)
def test_risk_is_the_mean_of_average_and_deviation(pod: Pod, args: dict[str, float], expected: int) -> None:
    """Both as shares of the node, between 0 and 1."""
    assert risk(STEADY, pod, **args) == {"n": expected}


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (STEADY[:2], 85),
        (STEADY[2:], 80),
        ([("CPU", "Latest", 20.0)], 90),
        ([("CPU", "AVG", 20.0), ("CPU", "Latest", 90.0)], 90),
        ([("CPU", "", 20.0)], 90),
        ([("Disk", "AVG", 20.0)], 0),
    ],
    ids=["cpu alone", "memory alone", "latest", "average is preferred", "no operator", "neither"],
)
def test_what_is_measured_counts(metrics: list[tuple[str, str, float]], expected: int) -> None:
    """Where only cpu or only memory is known it decides alone; nothing known is 0."""
    assert risk(metrics, make_pod("p")) == {"n": expected}


def test_no_report_is_no_score() -> None:
    """Until the source has answered, every node is as good."""
    bench = Bench(nodes=[make_node("n")])
    assert bench.scores(bench.plugin(LoadVariationRiskBalancing), make_pod("p")) == {"n": 0}


def test_columns_follow_nodes() -> None:
    """A node that comes, goes or changes its capacity after the report is scored by what is known of it."""
    bench, plugin = packing(a=0.0, b=20.0)
    bench.scores(plugin, limited("1"))
    bench.cache.remove_node("a")
    bench.cache.set_node(make_node("c", cpu="10"))
    bench.cache.set_node(make_node("b", cpu="5"))
    # b: 20 % and a core of five are the target.
    assert bench.scores(plugin, limited("1")) == {"b": 100, "c": 0}
