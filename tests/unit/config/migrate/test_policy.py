"""The scheduler's Policy object: a profile with exactly its predicates and priorities."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.config.plugin_facts import catalogue

from bayplan.config import ConfigError, Loaded, load, migrate
from bayplan.config.args import InterPodAffinityArgs


def policy(api_version: str = "v1", **fields: Any) -> str:
    return json.dumps({"kind": "Policy", "apiVersion": api_version, **fields})


def load_policy(**fields: Any) -> Loaded:
    return load(policy(**fields), source="policy.json", catalogue=catalogue())


def names(result: Loaded, point: str) -> set[str]:
    """The plugins at a point, those that are on with every Policy aside."""
    return {plugin.name for plugin in result.profiles[0].points[point]} - {
        "DynamicResources",
        "NodeDeclaredFeatures",
    }


def said(result: Loaded) -> str:
    return "\n".join(str(warning) for warning in result.warnings)


@pytest.mark.parametrize("api_version", ["v1", "kubescheduler.config.k8s.io/v1"])
def test_both_api_versions(api_version: str) -> None:
    """The group was optional once."""
    result = load(policy(api_version), source="policy.json", catalogue=catalogue())

    assert "kube-scheduler no longer reads Policy" in said(result)


def test_nothing_said_means_the_defaults_of_then() -> None:
    """Without predicates and priorities the ones of the default provider are in force."""
    result = load_policy()

    assert names(result, "filter") == {
        "NodeUnschedulable",
        "NodeName",
        "NodePorts",
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "TaintToleration",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    }
    assert {(p.name, p.weight) for p in result.profiles[0].points["score"]} == {
        ("DynamicResources", 2),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 1),
        ("NodeResourcesFit", 1),
        ("NodeResourcesBalancedAllocation", 1),
        ("NodeAffinity", 1),
        ("TaintToleration", 1),
        ("ImageLocality", 1),
    }


def test_empty_lists_mean_none() -> None:
    """Only the mandatory predicates remain, and no priority."""
    result = load_policy(predicates=[], priorities=[])

    assert names(result, "filter") == {"NodeUnschedulable", "TaintToleration"}
    assert names(result, "score") == set()


@pytest.mark.parametrize(
    ("predicate", "plugins"),
    [
        ("GeneralPredicates", {"NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"}),
        ("PodFitsPorts", {"NodePorts"}),
        ("HostName", {"NodeName"}),
        ("MatchNodeSelector", {"NodeAffinity"}),
        ("CheckVolumeBinding", {"VolumeBinding"}),
        ("NoDiskConflict", {"VolumeRestrictions"}),
        ("MaxEBSVolumeCount", {"NodeVolumeLimits"}),
        ("MaxCSIVolumeCountPred", {"NodeVolumeLimits"}),
        ("MatchInterPodAffinity", {"InterPodAffinity"}),
        ("EvenPodsSpread", {"PodTopologySpread"}),
    ],
)
def test_predicates(predicate: str, plugins: set[str]) -> None:
    """Each predicate is the filter of a plugin, with all that belongs to it."""
    result = load_policy(predicates=[{"name": predicate}], priorities=[])

    assert names(result, "filter") - {"NodeUnschedulable", "TaintToleration"} == plugins
    assert names(result, "reserve") == plugins & {"VolumeBinding"}


@pytest.mark.parametrize(
    ("priority", "plugin"),
    [
        ("InterPodAffinityPriority", "InterPodAffinity"),
        ("LeastRequestedPriority", "NodeResourcesFit"),
        ("BalancedResourceAllocation", "NodeResourcesBalancedAllocation"),
        ("ServiceSpreadingPriority", "PodTopologySpread"),
        ("ImageLocalityPriority", "ImageLocality"),
    ],
)
def test_priorities(priority: str, plugin: str) -> None:
    """Each priority is the score of a plugin, with its weight."""
    result = load_policy(predicates=[], priorities=[{"name": priority, "weight": 7}])

    assert [(p.name, p.weight) for p in result.profiles[0].points["score"]] == [
        ("DynamicResources", 2),
        (plugin, 7),
    ]


@pytest.mark.parametrize(
    ("priorities", "kind"),
    [
        (["LeastRequestedPriority"], "LeastAllocated"),
        (["MostRequestedPriority"], "MostAllocated"),
    ],
)
def test_scoring_by_resources(priorities: list[str], kind: str) -> None:
    """They are strategies of NodeResourcesFit."""
    result = load_policy(priorities=[{"name": name, "weight": 1} for name in priorities])

    assert result.profiles[0].args["NodeResourcesFit"].scoring_strategy.type == kind


def test_requested_to_capacity_ratio() -> None:
    """Shape and resources go into the strategy."""
    argument = {
        "requestedToCapacityRatioArguments": {
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
            "resources": [{"name": "a.io/gpu", "weight": 3}],
        }
    }
    result = load_policy(priorities=[{"name": "mine", "weight": 2, "argument": argument}])

    strategy = result.profiles[0].args["NodeResourcesFit"].scoring_strategy
    assert (strategy.type, len(strategy.requested_to_capacity_ratio.shape)) == ("RequestedToCapacityRatio", 2)
    assert [(r.name, r.weight) for r in strategy.resources] == [("a.io/gpu", 3)]
    assert "mine became this scoringStrategy" in said(result)


def test_labels() -> None:
    """labelsPresence and labelPreference are affinity that NodeAffinity adds."""
    result = load_policy(
        predicates=[{"name": "p", "argument": {"labelsPresence": {"labels": ["gpu"], "presence": True}}}],
        priorities=[
            {"name": "q", "weight": 4, "argument": {"labelPreference": {"label": "old", "presence": False}}}
        ],
    )

    affinity = result.profiles[0].args["NodeAffinity"].added_affinity
    (term,) = affinity.required_during_scheduling_ignored_during_execution.node_selector_terms
    assert [(e.key, e.operator) for e in term.match_expressions] == [("gpu", "Exists")]
    (preferred,) = affinity.preferred_during_scheduling_ignored_during_execution
    assert preferred.preference.match_expressions[0].operator == "DoesNotExist"
    assert "NodeAffinity" in names(result, "filter") & names(result, "score")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"alwaysCheckAllPredicates": True}, "alwaysCheckAllPredicates has no equivalent"),
        (
            {"predicates": [{"name": "p", "argument": {"serviceAffinity": {"labels": ["a"]}}}]},
            "the predicate p (ServiceAffinity) has no equivalent",
        ),
        (
            {"priorities": [{"name": "q", "weight": 1, "argument": {"serviceAntiAffinity": {"label": "a"}}}]},
            "the priority q (ServiceAntiAffinity) has no equivalent",
        ),
        (
            {"priorities": [{"name": "NodePreferAvoidPodsPriority", "weight": 1}]},
            "NodePreferAvoidPodsPriority has no equivalent",
        ),
        ({"priorities": [{"name": "EqualPriority", "weight": 1}]}, "EqualPriority gave all nodes the same score"),
        (
            {
                "priorities": [
                    {"name": "LeastRequestedPriority", "weight": 1},
                    {"name": "MostRequestedPriority", "weight": 1},
                ]
            },
            "MostRequestedPriority has no equivalent beside LeastRequestedPriority",
        ),
        (
            {"priorities": [{"name": "EvenPodsSpreadPriority", "weight": 1}]},
            "without SelectorSpreadPriority only pods",
        ),
        ({"predicates": [{"name": "MaxCinderVolumeCount"}]}, "MaxCinderVolumeCount was removed"),
    ],
)
def test_what_has_no_equivalent_is_said(fields: dict[str, Any], words: str) -> None:
    """A policy still loads, and says what is not as it was."""
    assert words in said(load_policy(**fields))


def test_hard_pod_affinity_weight() -> None:
    """It became an argument of InterPodAffinity."""
    result = load_policy(hardPodAffinitySymmetricWeight=10)

    assert result.profiles[0].args["InterPodAffinity"] == InterPodAffinityArgs(hard_pod_affinity_weight=10)


def test_extenders() -> None:
    """Field names in any case, the timeout in nanoseconds."""
    result = load_policy(
        extenders=[
            {"URLPrefix": "http://x", "filterVerb": "f", "enableHttps": True, "httpTimeout": 30_000_000_000}
        ]
    )

    (extender,) = result.config.extenders
    assert (extender.url_prefix, extender.enable_https, str(extender.http_timeout)) == ("http://x", True, "30s")
    assert "enableHttps is written enableHTTPS now" in said(result)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"predicates": [{"name": "GeneralPredicate"}]}, 'did you mean "GeneralPredicates"'),
        ({"priorities": [{"name": "LeastRequested", "weight": 1}]}, 'did you mean "LeastRequestedPriority"'),
        (
            {"priorities": [{"name": "LeastRequestedPriority"}]},
            r"priorities\[0\].weight: a priority needs a weight",
        ),
        ({"leaderElection": {}}, "leaderElection: unknown field"),
        ({"extenders": [{"verb": "x"}]}, r"extenders\[0\].verb: unknown field"),
        ({"predicates": [{"name": 5}]}, r"predicates\[0\].name: the number 5 is not a string"),
        ({"hardPodAffinitySymmetricWeight": 101}, "101 is not between 0 and 100"),
    ],
)
def test_wrong_policies(fields: dict[str, Any], words: str) -> None:
    """A Policy is read as strictly as any other configuration."""
    with pytest.raises(ConfigError, match=words):
        load_policy(**fields)


def test_the_printed_profile_loads_to_the_same() -> None:
    """What `migrate` prints means what the Policy meant."""
    text = policy(
        predicates=[{"name": "GeneralPredicates"}], priorities=[{"name": "MostRequestedPriority", "weight": 3}]
    )
    printed = migrate(text, source="policy.json")

    old = load(text, source="policy.json", catalogue=catalogue())
    new = load(printed, source="new.yaml", catalogue=catalogue())
    assert new.effective() == old.effective()
    assert new.warnings == ()
