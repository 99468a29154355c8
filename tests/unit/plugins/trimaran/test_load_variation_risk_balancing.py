"""LoadVariationRiskBalancing: scores from the average and the deviation of measured load."""

from __future__ import annotations

import pytest
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.trimaran.support import report_loads

from bayplan.model import Pod
from bayplan.plugins.trimaran.load_variation_risk_balancing import LoadVariationRiskBalancing
from bayplan.testing import make_node, make_pod

#: Average and deviation of cpu, 20 and 10 percent; of memory 40 and 0.
STEADY = [("CPU", "AVG", 20.0), ("CPU", "STD", 10.0), ("Memory", "AVG", 40.0), ("Memory", "STD", 0.0)]


def risk(metrics: list[tuple[str, str, float]], pod: Pod, **args: float) -> dict[str, int] | None:
    bench = Bench(nodes=[make_node("n", cpu="10", memory="10Gi")])
    plugin = bench.plugin(LoadVariationRiskBalancing, args)
    report_loads(bench, plugin, n=metrics)
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
