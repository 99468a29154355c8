"""Older versions of KubeSchedulerConfiguration: what each construct becomes, and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.unit.config.plugin_facts import facts, loaded

from bayplan.config import ConfigError, migrate

HEAD = "apiVersion: kubescheduler.config.k8s.io/{}\nkind: KubeSchedulerConfiguration\n"


def migrated(text: str, version: str = "v1beta1") -> tuple[dict[str, Any], str]:
    """The v1 values without the header, and the whole text in one line."""
    printed = migrate(HEAD.format(version) + text, source="old.yaml")
    values = yaml.safe_load(printed)
    assert values.pop("apiVersion") == "kubescheduler.config.k8s.io/v1"
    assert values.pop("kind") == "KubeSchedulerConfiguration"
    return values, " ".join(line.strip().lstrip("# ") for line in printed.splitlines())


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
def test_loading_an_old_version_works(version: str) -> None:
    """It loads as its v1 equivalent and warns."""
    result = loaded(HEAD.format(version) + "parallelism: 4\n")

    assert result.config.parallelism == 4
    assert f"{version} is no longer served" in str(result.warnings[0])


@pytest.mark.parametrize(("version", "warned"), [("v1beta1", True), ("v1beta2", True), ("v1beta3", False)])
def test_default_weights_changed(version: str, warned: bool) -> None:
    """v1beta3 brought the weights of today."""
    assert ("TaintToleration 1 → 3" in migrated("", version)[1]) is warned


@pytest.mark.parametrize("field", ["healthzBindAddress", "metricsBindAddress"])
def test_addresses_are_gone(field: str) -> None:
    """They became flags."""
    values, text = migrated(f"{field}: 0.0.0.0:10251\n")

    assert values == {}
    assert f"{field} was removed" in text


def test_addresses_were_gone_in_v1beta3() -> None:
    """A field that its own version did not have is an error, not history."""
    with pytest.raises(ConfigError, match="healthzBindAddress: unknown field"):
        loaded(HEAD.format("v1beta3") + "healthzBindAddress: x\n")


@pytest.mark.parametrize("lock", ["endpoints", "configmaps", "endpointsleases", "configmapsleases"])
def test_old_locks_become_leases(lock: str) -> None:
    """Only Leases are left, and old replicas do not see them."""
    values, text = migrated(f"leaderElection: {{resourceLock: {lock}}}\n")

    assert values == {"leaderElection": {"resourceLock": "leases"}}
    assert f"the lock {lock} was removed" in text


@pytest.mark.parametrize(
    ("plugin", "args", "strategy"),
    [
        ("NodeResourcesLeastAllocated", "{}", {"type": "LeastAllocated"}),
        (
            "NodeResourcesMostAllocated",
            "{resources: [{name: cpu, weight: 3}]}",
            {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]},
        ),
        (
            "RequestedToCapacityRatio",
            "{shape: [{utilization: 0, score: 0}]}",
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}]},
            },
        ),
    ],
)
def test_resource_scorers_become_a_strategy(plugin: str, args: str, strategy: dict[str, Any]) -> None:
    """NodeResourcesFit scores in one of three ways; weight, resources and shape go along."""
    values, text = migrated(
        f"profiles: [{{plugins: {{score: {{enabled: [{{name: {plugin}, weight: 5}}]}}}},"
        f" pluginConfig: [{{name: {plugin}, args: {args}}}]}}]\n"
    )

    assert values["profiles"] == [
        {
            "plugins": {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}]}},
            "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}],
        }
    ]
    assert f"{plugin} became this scoringStrategy" in text


def test_one_strategy_only() -> None:
    """A second way of scoring resources has no equivalent."""
    values, text = migrated(
        "profiles: [{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}, {name:"
        " RequestedToCapacityRatio}]}}}]\n"
    )

    assert values["profiles"][0]["plugins"] == {"score": {"enabled": [{"name": "NodeResourcesFit"}]}}
    assert "RequestedToCapacityRatio has no equivalent beside NodeResourcesMostAllocated" in text


def test_least_allocated_disabled_for_another_strategy() -> None:
    """Replacing one way of scoring by another leaves NodeResourcesFit on."""
    values, _ = migrated(
        "profiles: [{plugins: {score: {disabled: [{name: NodeResourcesLeastAllocated}],"
        " enabled: [{name: NodeResourcesMostAllocated, weight: 2}]}}}]\n"
    )

    assert values["profiles"][0]["plugins"] == {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 2}]}}


def test_least_allocated_disabled_alone() -> None:
    """It was the default way of scoring, so now the scoring of NodeResourcesFit is disabled."""
    values, text = migrated("profiles: [{plugins: {score: {disabled: [{name: NodeResourcesLeastAllocated}]}}}]\n")

    assert values["profiles"][0]["plugins"] == {"score": {"disabled": [{"name": "NodeResourcesFit"}]}}
    assert "NodeResourcesFit scores like it by default, so that is disabled here" in text


def test_arguments_of_the_default_scorer() -> None:
    """v1beta1 had NodeResourcesLeastAllocated on by default, so arguments alone are enough."""
    values, _ = migrated(
        "profiles: [{pluginConfig: [{name: NodeResourcesLeastAllocated, args: {resources:"
        " [{name: cpu, weight: 9}]}}]}]\n"
    )

    assert values["profiles"][0]["pluginConfig"][0]["args"]["scoringStrategy"] == {
        "type": "LeastAllocated",
        "resources": [{"name": "cpu", "weight": 9}],
    }


def test_fit_arguments_stay_beside_the_strategy() -> None:
    """What NodeResourcesFit had already is kept."""
    values, _ = migrated(
        "profiles: [{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}},"
        " pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [a.io/x]}}]}]\n"
    )

    assert values["profiles"][0]["pluginConfig"] == [
        {
            "name": "NodeResourcesFit",
            "args": {"ignoredResources": ["a.io/x"], "scoringStrategy": {"type": "MostAllocated"}},
        }
    ]


def test_node_label_becomes_added_affinity() -> None:
    """Labels that nodes must or should have are affinity that is added to every pod."""
    values, text = migrated(
        "profiles: [{plugins: {filter: {enabled: [{name: NodeLabel}]}}, pluginConfig: [{name: NodeLabel, args:"
        " {presentLabels: [gpu], absentLabels: [old], presentLabelsPreference: [fast]}}]}]\n"
    )

    (config,) = values["profiles"][0]["pluginConfig"]
    affinity = config["args"]["addedAffinity"]
    assert affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "gpu", "operator": "Exists"}, {"key": "old", "operator": "DoesNotExist"}]}
    ]
    assert affinity["preferredDuringSchedulingIgnoredDuringExecution"] == [
        {"weight": 1, "preference": {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}}
    ]
    assert "the labels of NodeLabel became this affinity" in text


@pytest.mark.parametrize("plugin", ["ServiceAffinity", "NodePreferAvoidPods"])
def test_plugins_without_an_equivalent(plugin: str) -> None:
    """They are left out, with what to use instead."""
    values, text = migrated(
        f"profiles: [{{plugins: {{score: {{enabled: [{{name: {plugin}}}]}}}}, pluginConfig:"
        f" [{{name: {plugin}}}]}}]\n"
    )

    assert values["profiles"] == [{"plugins": {"score": {}}}]
    assert f"the plugin {plugin} was removed and has no equivalent" in text


@pytest.mark.parametrize("plugin", ["EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"])
def test_cloud_limits_become_node_volume_limits(plugin: str) -> None:
    """All volumes are CSI volumes now; disabling one cloud's has nothing left to disable."""
    values, text = migrated(
        f"profiles: [{{plugins: {{filter: {{enabled: [{{name: {plugin}}}], disabled: [{{name: {plugin}}}]}}}}}}]\n"
    )

    assert values["profiles"][0]["plugins"] == {"filter": {"enabled": [{"name": "NodeVolumeLimits"}]}}
    assert f"the plugin {plugin} was removed, so there is nothing to disable" in text


def test_selector_spread() -> None:
    """Enabled, it is PodTopologySpread; disabled, PodTopologySpread has no default constraints."""
    enabled, _ = migrated("profiles: [{plugins: {score: {enabled: [{name: SelectorSpread, weight: 3}]}}}]\n")
    disabled, _ = migrated("profiles: [{plugins: {score: {disabled: [{name: SelectorSpread}]}}}]\n")

    assert enabled["profiles"][0]["plugins"]["score"]["enabled"] == [{"name": "PodTopologySpread", "weight": 3}]
    assert disabled["profiles"][0]["pluginConfig"] == [
        {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}
    ]


def test_a_successor_is_not_enabled_twice() -> None:
    """Two old plugins may have the same successor."""
    values, _ = migrated("profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}, {name: GCEPDLimits}]}}}]\n")

    assert values["profiles"][0]["plugins"]["filter"]["enabled"] == [{"name": "NodeVolumeLimits"}]


def test_default_constraints_need_a_type_now() -> None:
    """Once constraints were enough; now System contradicts them."""
    values, text = migrated(
        "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints:"
        " [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]}}]}]\n"
    )

    assert values["profiles"][0]["pluginConfig"][0]["args"]["defaultingType"] == "List"
    assert "defaultConstraints need defaultingType List now" in text


def test_arguments_follow_the_version() -> None:
    """Arguments that carry the version of the file carry the new one."""
    values, _ = migrated(
        "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {apiVersion:"
        " kubescheduler.config.k8s.io/v1beta2,"
        " kind: InterPodAffinityArgs}}]}]\n",
        "v1beta2",
    )

    assert values["profiles"][0]["pluginConfig"][0]["args"]["apiVersion"] == "kubescheduler.config.k8s.io/v1"


def test_arguments_of_others_are_left_alone() -> None:
    """What we do not know is not ours to change."""
    args = {"permitWaitingTimeSeconds": 10, "deniedPGExpirationTimeSeconds": 3}
    values, _ = migrated(f"profiles: [{{pluginConfig: [{{name: Coscheduling, args: {args}}}]}}]\n", "v1beta2")

    assert values["profiles"] == [{"pluginConfig": [{"name": "Coscheduling", "args": args}]}]


def test_errors_name_the_lines_of_the_old_file() -> None:
    """What is wrong in any version is reported where it stands."""
    with pytest.raises(ConfigError) as caught:
        loaded(HEAD.format("v1beta2") + "healthzBindAddress: x\nprofiles:\n- plugins: {scores: {}}\n")

    assert "scheduler.yaml:5: profiles[0].plugins.scores: unknown field" in str(caught.value)


def test_comments_stand_at_their_place() -> None:
    """A note is a comment above the line it is about; the result loads as the old file does."""
    old = HEAD.format("v1beta2") + (
        "profiles:\n- plugins:\n    score:\n      enabled:\n      - name: NodeResourcesMostAllocated\n"
        "        weight: 2\n      - name: Mine\n"
    )
    printed = migrate(old, source="old.yaml")

    assert (
        "      enabled:\n      # NodeResourcesMostAllocated was removed; NodeResourcesFit replaces it\n"
        "      - name: NodeResourcesFit\n        weight: 2\n      - name: Mine\n"
    ) in printed
    mine = facts("Mine", "score")
    assert loaded(printed[printed.index("apiVersion") :], mine).effective() == loaded(old, mine).effective()


def test_v1_stays_as_it_is() -> None:
    """There is nothing to migrate."""
    assert yaml.safe_load(migrate(HEAD.format("v1") + "parallelism: 4\n", source="s")) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 4,
    }


def test_unreadable_files_are_not_migrated() -> None:
    """What cannot be read cannot be migrated either."""
    with pytest.raises(ConfigError, match=r"s:1: not valid YAML"):
        migrate("a: b: c\n", source="s")
