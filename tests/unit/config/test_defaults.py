"""Defaults: what a configuration that says little comes to."""

from __future__ import annotations

import pytest
from tests.unit.config.plugin_facts import catalogue, loaded

from bayplan.config import default
from bayplan.config.args import DefaultPreemptionArgs, NodeResourcesFitArgs, ResourceSpec
from bayplan.config.defaults import merge_plugin_set
from bayplan.config.types import Plugin, PluginSet


def test_an_empty_configuration_equals_the_default_one() -> None:
    """What is left out has its default, so saying nothing is the default configuration."""
    assert loaded("").effective() == default(catalogue()).effective()


def test_top_level_defaults() -> None:
    """The values that kube-scheduler 1.36 starts with; only the content type is ours."""
    effective = loaded("").effective()
    effective.pop("profiles")

    assert effective == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 16,
        "percentageOfNodesToScore": 0,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
        "enableProfiling": True,
        "enableContentionProfiling": True,
        "clientConnection": {
            "kubeconfig": "",
            "acceptContentTypes": "",
            "contentType": "application/json",
            "qps": 50,
            "burst": 100,
        },
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": "15s",
            "renewDeadline": "10s",
            "retryPeriod": "2s",
            "resourceLock": "leases",
            "resourceName": "kube-scheduler",
            "resourceNamespace": "kube-system",
        },
    }


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        pytest.param("clientConnection: {qps: 0}", "clientConnection.qps", 50, id="no queries means the default"),
        pytest.param(
            "leaderElection: {leaseDuration: 0s}", "leaderElection.leaseDuration", "15s", id="zero duration"
        ),
        pytest.param(
            'leaderElection: {resourceName: ""}', "leaderElection.resourceName", "kube-scheduler", id="empty"
        ),
        pytest.param(
            "enableProfiling: false", "enableContentionProfiling", False, id="no profiling, no contention"
        ),
        pytest.param("parallelism: null", "parallelism", 16, id="null"),
        pytest.param("delayCacheUntilActive: true", "delayCacheUntilActive", True, id="not printed while false"),
    ],
)
def test_values_that_count_as_missing(text: str, field: str, value: object) -> None:
    """Zero and empty values get their default where Go cannot tell them from missing ones."""
    found: object = loaded(text).effective()
    for step in field.split("."):
        assert isinstance(found, dict)
        found = found[step]

    assert found == value


def test_extender_timeout() -> None:
    """An extender without a timeout gets five seconds."""
    assert loaded("extenders: [{urlPrefix: http://x}]").effective()["extenders"] == [
        {"urlPrefix": "http://x", "httpTimeout": "5s"}
    ]


def test_a_single_profile_needs_no_name() -> None:
    """The only profile is the default scheduler."""
    assert [profile.scheduler_name for profile in loaded("profiles: [{}]").profiles] == ["default-scheduler"]


def test_arguments_of_enabled_plugins() -> None:
    """Every enabled plugin with arguments has them, given or not."""
    args = loaded("").profiles[0].args

    assert args["DefaultPreemption"] == DefaultPreemptionArgs()
    assert isinstance(args["NodeResourcesFit"], NodeResourcesFitArgs)
    assert args["NodeResourcesFit"].scoring_strategy.type == "LeastAllocated"
    assert args["NodeResourcesFit"].scoring_strategy.resources == (
        ResourceSpec(name="cpu", weight=1),
        ResourceSpec(name="memory", weight=1),
    )
    assert "ImageLocality" not in args


def test_weight_zero_of_a_resource_is_one() -> None:
    """A resource without a weight counts once."""
    text = (
        "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu}]}}]}]"
    )

    assert loaded(text).profiles[0].args["NodeResourcesBalancedAllocation"].resources == (
        ResourceSpec(name="cpu", weight=1),
    )


def plugins(text: str) -> tuple[Plugin, ...]:
    pairs = (item.partition("=") for item in text.split())
    return tuple(Plugin(name=name, weight=int(weight or 0)) for name, _, weight in pairs)


@pytest.mark.parametrize(
    ("enabled", "disabled", "result"),
    [
        pytest.param("", "", "A=1 B=2 C", id="nothing said"),
        pytest.param("D=4", "", "A=1 B=2 C D=4", id="one more, at the end"),
        pytest.param("B=9", "", "A=1 B=9 C", id="a default in place"),
        pytest.param("", "B", "A=1 C", id="a default disabled"),
        pytest.param("B=9", "B", "A=1 C B=9", id="disabled and enabled moves to the end"),
        pytest.param("C B=9", "*", "C B=9", id="all disabled"),
        pytest.param("B=3 B=4", "", "A=1 B=4 C B=3", id="twice: the last one replaces, the first one stays"),
    ],
)
def test_merging_with_the_defaults(enabled: str, disabled: str, result: str) -> None:
    """Defaults keep their order and are reconfigured in place; the user's other plugins follow."""
    merged = merge_plugin_set(
        PluginSet(enabled=plugins("A=1 B=2 C")), PluginSet(enabled=plugins(enabled), disabled=plugins(disabled))
    )

    assert merged.enabled == plugins(result)
