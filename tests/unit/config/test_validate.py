"""What kube-scheduler refuses, field by field."""

from __future__ import annotations

import pytest
from tests.unit.config.plugin_facts import loaded, refusal


def paths(lines: list[str]) -> list[str]:
    """The field of each problem."""
    return [line.split(": ")[1] for line in lines]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("parallelism: 0", ["parallelism"]),
        ("percentageOfNodesToScore: 101", ["percentageOfNodesToScore"]),
        ("podInitialBackoffSeconds: 0", ["podInitialBackoffSeconds"]),
        ("podInitialBackoffSeconds: 11", ["podMaxBackoffSeconds"]),
        ("clientConnection: {burst: -1}", ["clientConnection.burst"]),
        ("leaderElection: {leaseDuration: 10s}", ["leaderElection.leaseDuration"]),
        ("leaderElection: {retryPeriod: -1s}", ["leaderElection.retryPeriod"]),
        ("leaderElection: {resourceLock: endpoints}", ["leaderElection.resourceLock"]),
        ('profiles: [{schedulerName: ""}]', ["profiles[0].schedulerName"]),
        ("profiles: [{schedulerName: a}, {}]", ["profiles[1].schedulerName"]),
        ("profiles: [{schedulerName: a}, {schedulerName: a}]", ["profiles[1].schedulerName"]),
        ("profiles: [{percentageOfNodesToScore: -1}]", ["profiles[0].percentageOfNodesToScore"]),
        (
            "profiles: [{pluginConfig: [{name: NodeName}, {name: NodeName}]}]",
            ["profiles[0].pluginConfig[1]"],
        ),
        ("profiles: [{pluginConfig: [{name: EBSLimits}]}]", ["profiles[0].pluginConfig[0]"]),
        ("extenders: [{prioritizeVerb: p}]", ["extenders[0].weight"]),
        ("extenders: [{bindVerb: b}, {bindVerb: b}]", ["extenders"]),
        ("extenders: [{managedResources: [{name: cpu}]}]", ["extenders[0].managedResources[0].name"]),
        (
            "extenders: [{managedResources: [{name: a.io/x}]}, {managedResources: [{name: a.io/x}]}]",
            ["extenders[1].managedResources[0].name"],
        ),
        (
            "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {disabled: [{name: x}]}}}]",
            ["profiles[1].plugins.queueSort"],
        ),
    ],
)
def test_refused_fields(text: str, fields: list[str]) -> None:
    """Each rule names the field that kube-scheduler names."""
    assert paths(refusal(text)) == fields


def test_leader_election_is_not_checked_while_off() -> None:
    """Without leader election its settings do not matter."""
    assert loaded("leaderElection: {leaderElect: false, resourceLock: endpoints, leaseDuration: -1s}")


def test_two_queue_sort_plugins() -> None:
    """The message also gives the path as kube-scheduler spells it."""
    lines = refusal("profiles: [{plugins: {queueSort: {enabled: [{name: PrioritySort}, {name: PrioritySort}]}}}]")

    assert any("(kube-scheduler calls this field profiles[0].plugins.queueSort.Enabled)" in line for line in lines)


@pytest.mark.parametrize(
    ("plugin", "args", "fields"),
    [
        ("DefaultPreemption", "{minCandidateNodesPercentage: 101}", ["minCandidateNodesPercentage"]),
        ("DefaultPreemption", "{minCandidateNodesAbsolute: -1}", ["minCandidateNodesAbsolute"]),
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            ["minCandidateNodesPercentage", "minCandidateNodesAbsolute"],
        ),
        ("InterPodAffinity", "{hardPodAffinityWeight: 101}", ["hardPodAffinityWeight"]),
        ("DynamicResources", "{filterTimeout: -1s, bindingTimeout: 1ms}", ["filterTimeout", "bindingTimeout"]),
        ("VolumeBinding", "{bindTimeoutSeconds: -1, shape: []}", ["bindTimeoutSeconds", "shape"]),
        (
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu}, {name: cpu, weight: 2}]}",
            ["resources[1].name", "resources[1].weight"],
        ),
        ("NodeResourcesFit", "{ignoredResources: [bad name]}", ["ignoredResources[0]"]),
        ("NodeResourcesFit", "{ignoredResourceGroups: [a.io/x]}", ["ignoredResourceGroups[0]"]),
        ("NodeResourcesFit", "{scoringStrategy: {}}", ["scoringStrategy.type"]),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}",
            ["scoringStrategy.resources[0].weight"],
        ),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio}}",
            ["scoringStrategy.requestedToCapacityRatio"],
        ),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {}}}",
            ["scoringStrategy.requestedToCapacityRatio"],
        ),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: ["
            "{utilization: 50, score: 11}, {utilization: 50, score: 0}]}}}",
            [
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization",
                "scoringStrategy.requestedToCapacityRatio.shape[0].score",
            ],
        ),
        ("PodTopologySpread", "{defaultingType: list}", ["defaultingType"]),
        (
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]}",
            ["defaultingType"],
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{topologyKey: a b, whenUnsatisfiable:"
            " Never, labelSelector: {}}]}",
            [
                "defaultConstraints[0].maxSkew",
                "defaultConstraints[0].topologyKey",
                "defaultConstraints[0].whenUnsatisfiable",
                "defaultConstraints[0].labelSelector",
            ],
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{maxSkew: 1}, {maxSkew: 1}]}",
            [
                "defaultConstraints[0].topologyKey",
                "defaultConstraints[0].whenUnsatisfiable",
                "defaultConstraints[1].topologyKey",
                "defaultConstraints[1].whenUnsatisfiable",
                "defaultConstraints[1]",
            ],
        ),
    ],
)
def test_refused_arguments(plugin: str, args: str, fields: list[str]) -> None:
    """Each rule about arguments names the field below `args`."""
    lines = refusal(f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]")

    assert paths(lines) == [f"profiles[0].pluginConfig[0].args.{field}" for field in fields]


@pytest.mark.parametrize(
    ("requirement", "field"),
    [
        ("{key: a, operator: Within, values: [b]}", "operator"),
        ("{key: a b, operator: Exists}", "key"),
        ("{key: a, operator: In}", "values"),
        ("{key: a, operator: Exists, values: [b]}", "values"),
        ("{key: a, operator: Gt, values: ['1', '2']}", "values"),
        ("{key: a, operator: Lt, values: [x]}", "values[0]"),
        ("{key: a, operator: In, values: [a b]}", "values[0]"),
    ],
)
def test_added_affinity(requirement: str, field: str) -> None:
    """Requirements on labels follow the rules of node selectors."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = f"{{{required}: {{nodeSelectorTerms: [{{matchExpressions: [{requirement}]}}]}}}}"
    lines = refusal(f"profiles: [{{pluginConfig: [{{name: NodeAffinity, args: {{addedAffinity: {affinity}}}}}]}}]")

    end = f"{required}.nodeSelectorTerms[0].matchExpressions[0].{field}"
    assert paths(lines) == [f"profiles[0].pluginConfig[0].args.addedAffinity.{end}"]


def test_preferred_affinity_names_both_paths() -> None:
    """kube-scheduler leaves `preference` out of the path; we give the real one and its own."""
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    term = "{weight: 1, preference: {matchFields: [{key: metadata.name, operator: Exists}]}}"
    (line,) = refusal(
        f"profiles: [{{pluginConfig: [{{name: NodeAffinity, args: {{addedAffinity:"
        f" {{{preferred}: [{term}]}}}}}}]}}]"
    )

    assert f"{preferred}[0].preference.matchFields[0].operator: " in line
    assert f"{preferred}[0].matchFields[0].operator)" in line


def test_a_preference_without_weight_is_not_looked_at() -> None:
    """Such a term never counts, so it is not checked."""
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    term = "{weight: 0, preference: {matchFields: [{key: metadata.name, operator: Exists}]}}"

    assert loaded(
        f"profiles: [{{pluginConfig: [{{name: NodeAffinity, args: {{addedAffinity:"
        f" {{{preferred}: [{term}]}}}}}}]}}]"
    )


def test_arguments_of_an_unused_plugin() -> None:
    """NodeResourcesFit looks at its arguments when it is built; unused, they are only warned about."""
    result = loaded(
        "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}},"
        " pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}]"
    )

    assert ["scoringStrategy.type" in warning.path for warning in result.warnings] == [True]
