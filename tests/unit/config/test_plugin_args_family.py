"""Arguments of the scheduler-plugins family: defaults as in v0.34.7, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.config import ConfigError, load
from bayplan.scheduler import default_registry

REGISTRY = default_registry()
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
RATIO = "metadataKey: k, metadataSource: Label"


def text_of(plugin: str, args: str) -> str:
    # PreemptionToleration has a postFilter, all the others that are asked here have a score.
    return (
        f"{HEAD}profiles:\n- plugins: {{multiPoint: {{enabled: [{{name: {plugin}}}]}}}}\n"
        f"  pluginConfig:\n  - name: {plugin}\n    args: {{{args}}}\n"
    )


def effective(plugin: str, args: str = "") -> dict[str, Any]:
    """The arguments as they are in force."""
    shown = load(text_of(plugin, args), source="test", catalogue=REGISTRY).effective()
    found = next(each["args"] for each in shown["profiles"][0]["pluginConfig"] if each["name"] == plugin)
    return {key: value for key, value in found.items() if key not in ("apiVersion", "kind")}


@pytest.mark.parametrize(
    ("plugin", "args", "expected"),
    [
        pytest.param(
            "NodeResourcesAllocatable",
            "",
            {"mode": "Least", "resources": [{"name": "cpu", "weight": 1048576}, {"name": "memory", "weight": 1}]},
            id="allocatable",
        ),
        pytest.param(
            "PreemptionToleration",
            "",
            {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
            id="toleration",
        ),
        pytest.param(
            "TargetLoadPacking",
            "",
            {
                "metricProvider": {"type": "KubernetesMetricsServer"},
                "defaultRequests": {"cpu": "1000m"},
                "defaultRequestsMultiplier": "1.5",
                "targetUtilization": 40,
            },
            id="packing",
        ),
        pytest.param(
            "TargetLoadPacking",
            "watcherAddress: http://w:2020, targetUtilization: -1, defaultRequests: {cpu: 2}",
            {
                "metricProvider": {},
                "watcherAddress": "http://w:2020",
                "defaultRequests": {"cpu": "2"},
                "defaultRequestsMultiplier": "1.5",
                "targetUtilization": 40,
            },
            id="packing with a watcher",
        ),
        pytest.param(
            "LoadVariationRiskBalancing",
            "metricProvider: {type: Prometheus, address: http://p}, safeVarianceMargin: -2",
            {
                "metricProvider": {"type": "Prometheus", "address": "http://p", "insecureSkipVerify": True},
                "safeVarianceMargin": 1.0,
                "safeVarianceSensitivity": 1.0,
            },
            id="balancing",
        ),
        pytest.param(
            "NodeMetadata",
            f"{RATIO}, metadataType: Timestamp, scoringStrategy: Newest",
            {
                "metadataKey": "k",
                "metadataSource": "Label",
                "metadataType": "Timestamp",
                "scoringStrategy": "Newest",
                "timestampFormat": "2006-01-02T15:04:05Z07:00",
            },
            id="metadata",
        ),
    ],
)
def test_defaults(plugin: str, args: str, expected: dict[str, Any]) -> None:
    """Missing fields, and numbers below what makes sense, become the original's defaults."""
    assert effective(plugin, args) == expected


@pytest.mark.parametrize(
    ("plugin", "args", "path", "words"),
    [
        ("NodeResourcesAllocatable", "mode: Leest", "mode", 'is not one of "Least" or "Most"'),
        (
            "NodeResourcesAllocatable",
            "resources: [{name: cpu, weight: 0}]",
            "resources[0].weight",
            "must be 1 or more, not 0",
        ),
        (
            "PreemptionToleration",
            "minCandidateNodesPercentage: 101",
            "minCandidateNodesPercentage",
            "between 0 and",
        ),
        ("TargetLoadPacking", "metricProvider: {type: Prom}", "metricProvider.type", "is not one of"),
        ("TargetLoadPacking", "metricProvider: {type: SignalFx}", "metricProvider.type", "watcherAddress"),
        ("TargetLoadPacking", 'defaultRequestsMultiplier: "lots"', "defaultRequestsMultiplier", "is not a number"),
        ("TargetLoadPacking", "defaultRequests: {cpu: much}", "defaultRequests.cpu", "invalid quantity"),
        ("LoadVariationRiskBalancing", "safeVarianceMargin: high", "safeVarianceMargin", "is not a number"),
        ("NodeMetadata", "", "metadataKey", "is required"),
        (
            "NodeMetadata",
            f"{RATIO}, metadataType: Number, scoringStrategy: Newest",
            "scoringStrategy",
            'is not one of "Highest" or "Lowest"',
        ),
    ],
)
def test_wrong_arguments_are_refused(plugin: str, args: str, path: str, words: str) -> None:
    """With the path and what would be right."""
    with pytest.raises(ConfigError) as refused:
        load(text_of(plugin, args), source="test", catalogue=REGISTRY)
    problems = [str(each) for each in refused.value.problems if each.path.endswith(f"args.{path}")]
    assert any(words in problem for problem in problems), refused.value
