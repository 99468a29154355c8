"""The configurations in the documents this project was asked to implement, and what becomes of each.

They are written down as facts, in a form of our own. Some are wrong, on purpose or by accident: then the
error says so, and where the thing belongs.
"""

from __future__ import annotations

import pytest
from tests.unit.config.plugin_facts import catalogue, facts, loaded, refusal

from bayplan.config import Loaded, PluginFacts, load

V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
V1BETA1 = V1.replace("/v1\n", "/v1beta1\n")
V1BETA2 = V1.replace("/v1\n", "/v1beta2\n")

CUSTOM = facts("CustomPlugin", "filter score")
CUSTOM_A, CUSTOM_B = facts("MyCustomPluginA", "score"), facts("MyCustomPluginB", "score")
SAMPLE = facts("sample", "filter")
SCORING = facts("MyScoringPlugin", "score")
ALLOCATABLE = facts("NodeResourcesAllocatable", "score")
COSCHEDULING = facts("Coscheduling", "queueSort preFilter postFilter permit reserve postBind")


def scores(result: Loaded, profile: int = 0) -> dict[str, int]:
    return dict(result.profiles[profile].points["score"])


def warned(result: Loaded) -> str:
    return "\n".join(str(warning) for warning in result.warnings)


# --- 000: notes about writing a plugin --------------------------------------------------------------

CUSTOM_PLUGIN = (
    V1
    + """\
profiles:
  - schedulerName: custom-scheduler
    plugins:
      filter:
        enabled: [{name: CustomPlugin}]
      score:
        enabled: [{name: CustomPlugin, weight: 1}]
"""
)
KEYS_TWICE = (
    CUSTOM_PLUGIN
    + """\
      filter:
        disabled: [{name: NodeResourcesFit}]
      score:
        disabled: [{name: NodeResourcesBalancedAllocation}]
"""
)
TWO_CUSTOM_SCORES = (
    V1
    + """\
profiles:
  - plugins:
      score:
        disabled: [{name: PodTopologySpread}]
        enabled: [{name: MyCustomPluginA, weight: 2}, {name: MyCustomPluginB, weight: 1}]
"""
)
TWO_PROFILES = """\
profiles:
  - schedulerName: default-scheduler
  - schedulerName: no-scoring-scheduler
    plugins:
      preScore: {disabled: [{name: '*'}]}
      score: {disabled: [{name: '*'}]}
"""
EXTENDER_IN_PROFILE = (
    V1BETA1
    + """\
profiles:
  - schedulerName: default-scheduler
    plugins:
      filter:
        enabled:
          - name: Extender
    extenders:
      - urlPrefix: "http://<extender-ip>:8080"
        filterVerb: "filter"
        enableHttps: false
"""
)


def test_000_a_plugin_is_added_to_the_defaults() -> None:
    """Enabling a plugin adds it after the default ones."""
    result = loaded(CUSTOM_PLUGIN, CUSTOM)

    assert result.profiles[0].points["filter"][-1].name == "CustomPlugin"
    assert len(scores(result)) == 10
    assert result.warnings == ()


def test_000_a_plugin_that_is_not_registered() -> None:
    """Unless somebody has the plugin, the configuration is refused at both places."""
    lines = refusal(CUSTOM_PLUGIN)

    assert [line.split(": ")[0] for line in lines] == ["scheduler.yaml:7", "scheduler.yaml:9"]
    assert all('there is no plugin "CustomPlugin"' in line for line in lines)


def test_000_the_keys_filter_and_score_twice() -> None:
    """A mapping cannot have `filter` twice: the error gives both places and says to merge them."""
    assert refusal(KEYS_TWICE, CUSTOM) == [
        'scheduler.yaml:10: profiles[0].plugins.filter: the key "filter" is a duplicate; '
        'the first is in line 6; a mapping has each key once: merge the two into one "filter"',
        'scheduler.yaml:12: profiles[0].plugins.score: the key "score" is a duplicate; '
        'the first is in line 8; a mapping has each key once: merge the two into one "score"',
    ]


def test_000_two_scores_instead_of_a_default_one() -> None:
    """Disabling one default and enabling two others at the same point."""
    result = scores(loaded(TWO_CUSTOM_SCORES, CUSTOM_A, CUSTOM_B))

    assert (result["MyCustomPluginA"], result["MyCustomPluginB"]) == (2, 1)
    assert "PodTopologySpread" not in result


def test_000_extenders_in_a_profile() -> None:
    """The error says where extenders belong, that an extender is no plugin, and how the field is spelt."""
    assert refusal(EXTENDER_IN_PROFILE) == [
        "scheduler.yaml:8: profiles[0].plugins.filter.enabled[0]: there is no plugin"
        ' "Extender"; an extender is not a '
        "plugin: it is configured under the top-level extenders, beside profiles",
        "scheduler.yaml:9: profiles[0].extenders: unknown field; extenders belong at the top"
        " level, beside profiles, "
        "and are shared by all profiles",
        'scheduler.yaml:12: profiles[0].extenders[0].enableHttps: unknown field; did you mean "enableHTTPS"?',
    ]


@pytest.mark.parametrize("head", [V1, V1BETA2], ids=["000 in v1", "003 in v1beta2"])
def test_000_003_a_profile_without_scoring(head: str) -> None:
    """Two profiles in one process, one of them without any score plugin."""
    result = loaded(head + TWO_PROFILES)

    assert [profile.scheduler_name for profile in result.profiles] == ["default-scheduler", "no-scoring-scheduler"]
    assert len(scores(result, 0)) == 9
    assert scores(result, 1) == {}
    assert result.profiles[1].points["preScore"] == ()


# --- 001: a plugin deployed as a pod ----------------------------------------------------------------

SAMPLE_SCHEDULER = (
    V1
    + """\
leaderElection:
  leaderElect: false
  leaseDuration: 15s
  renewDeadline: 10s
  resourceName: sample-scheduler
  resourceNamespace: kube-system
  retryPeriod: 2s
profiles:
  - schedulerName: sample-scheduler
    plugins:
      filter:
        enabled:
          - name: sample
"""
)
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\ndata:\n  scheduler-config.yaml: |\n" + "".join(
    f"    {line}\n" for line in SAMPLE_SCHEDULER.splitlines()
)


def test_001_the_sample_scheduler() -> None:
    """One more filter under a scheduler name of its own."""
    result = loaded(SAMPLE_SCHEDULER, SAMPLE)

    assert result.profiles[0].scheduler_name == "sample-scheduler"
    assert result.profiles[0].points["filter"][-1].name == "sample"
    assert result.effective()["leaderElection"]["resourceName"] == "sample-scheduler"


def test_001_the_config_map_around_it() -> None:
    """The manifest is not the configuration, but we say in which key it is."""
    assert refusal(CONFIG_MAP, SAMPLE) == [
        "scheduler.yaml:4: data.scheduler-config.yaml: this is a ConfigMap; its data key"
        ' "scheduler-config.yaml" contains '
        "a KubeSchedulerConfiguration; save it as a separate file"
    ]


# --- 002: a scoring plugin --------------------------------------------------------------------------

MY_SCORING = (
    V1BETA2
    + """\
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      - name: MyScoringPlugin
  pluginConfig:
  - name: MyScoringPlugin
    args:
      # nothing
"""
)


def test_002_arguments_that_are_only_a_comment() -> None:
    """`args:` with nothing but a comment is null; a score plugin without a weight has the weight 1."""
    result = loaded(MY_SCORING, SCORING)

    assert scores(result)["MyScoringPlugin"] == 1
    assert "MyScoringPlugin" not in result.profiles[0].args
    assert "v1beta2 is no longer served" in warned(result)


# --- 003: policies, profiles, extenders -------------------------------------------------------------

POLICY = """\
{
  "kind" : "Policy",
  "apiVersion" : "v1",
  "predicates": [
    {"name": "NoVolumeZoneConflict"}, {"name": "MaxEBSVolumeCount"}, {"name": "MaxAzureDiskVolumeCount"},
    {"name": "NoDiskConflict"}, {"name": "GeneralPredicates"}, {"name": "PodToleratesNodeTaints"},
    {"name": "CheckVolumeBinding"}, {"name": "MaxGCEPDVolumeCount"},
    {"name": "MatchInterPodAffinity"}%s
  ],
  "priorities": [
    {"name": "SelectorSpreadPriority", "weight": 1}, {"name": "InterPodAffinityPriority", "weight": 1},
    {"name": "LeastRequestedPriority", "weight": 1}, {"name": "BalancedResourceAllocation", "weight": 1},
    {"name": "NodePreferAvoidPodsPriority", "weight": 1}, {"name": "NodeAffinityPriority", "weight": 1},
    {"name": "TaintTolerationPriority", "weight": 1}
  ],
  "extenders": [
    {"urlPrefix": "http://127.0.0.1:10262/scheduler", "filterVerb": "filter", "preemptVerb": "preempt",
     "weight": 1, "httpTimeout": 30000000000, "enableHttps": false}
  ]
}
"""
KUBECONFIG_ONLY = V1BETA2 + "clientConnection:\n  kubeconfig: /etc/kube-scheduler/kubeconfig\n"
CUSTOM_SCORES = (
    V1BETA2
    + """\
profiles:
  - plugins:
      score:
        disabled:
        - name: NodeResourcesLeastAllocated
        enabled: [{name: MyCustomPluginA, weight: 2}, {name: MyCustomPluginB, weight: 1}]
    pluginConfig:
    - name: NodeResourcesAllocatable
      args:
        mode: Least
        resources: [{name: cpu, weight: 1000000}, {name: memory, weight: 1}]
"""
)
WITH_EXTENDER = (
    V1BETA1
    + """\
leaderElection:
  leaderElect: true
  resourceNamespace: namespace
  resourceName: my-scheduler
profiles:
  - schedulerName: my-scheduler
extenders:
  - urlPrefix: http://127.0.0.1:10262/scheduler
    filterVerb: filter
    prioritizeVerb: prioritize
    preemptVerb: preempt
    weight: 1
    enableHTTPS: false
    httpTimeout: 30s
"""
)
WITH_EXTENDER_AND_ELLIPSES = WITH_EXTENDER.replace(
    "    httpTimeout: 30s\n", "    tlsConfig: // ...\n    httpTimeout: 30s\n    // ...\n"
)
GANGS = (
    V1BETA2
    + """\
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: "REPLACE_ME_WITH_KUBE_CONFIG_PATH"}
profiles:
- schedulerName: default-scheduler
  plugins:
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
    preFilter: {enabled: [{name: Coscheduling}]}
    postFilter: {enabled: [{name: Coscheduling}]}
    permit: {enabled: [{name: Coscheduling}]}
    reserve: {enabled: [{name: Coscheduling}]}
    postBind: {enabled: [{name: Coscheduling}]}
  pluginConfig:
  - name: Coscheduling
    args: {permitWaitingTimeSeconds: 10, deniedPGExpirationTimeSeconds: 3}
"""
)


def test_003_the_policy_has_a_comma_too_many() -> None:
    """JSON allows no comma before a bracket, and kube-scheduler reads a text with a brace as JSON."""
    assert refusal(POLICY % ",") == [
        'scheduler.yaml:8: predicates: not valid JSON: a comma before "]"; remove the comma'
    ]


def test_003_the_policy_migrates() -> None:
    """Without the comma it loads, and says what became of what."""
    result = load(POLICY % "", source="policy.json", catalogue=catalogue())

    assert {plugin.name for plugin in result.profiles[0].points["filter"]} == {
        "DynamicResources",
        "NodeDeclaredFeatures",
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
        "InterPodAffinity",
    }
    assert scores(result) == {
        "DynamicResources": 2,
        "PodTopologySpread": 1,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
    }
    assert str(result.config.extenders[0].http_timeout) == "30s"
    for words in (
        "MaxEBSVolumeCount was removed",
        "MaxAzureDiskVolumeCount was removed",
        "MaxGCEPDVolumeCount was removed",
        "SelectorSpreadPriority was removed",
        "LeastRequestedPriority became this scoringStrategy",
        "NodePreferAvoidPodsPriority has no equivalent",
        "enableHttps is written enableHTTPS now",
        "30000000000 nanoseconds is written 30s now",
    ):
        assert words in warned(result)


def test_003_only_a_kubeconfig() -> None:
    """The smallest file."""
    result = loaded(KUBECONFIG_ONLY)

    assert result.config.client_connection.kubeconfig == "/etc/kube-scheduler/kubeconfig"
    assert "default weights have changed since v1beta2" in warned(result)


def test_003_scores_in_place_of_least_allocated() -> None:
    """What was NodeResourcesLeastAllocated is the scoring of NodeResourcesFit, so that is disabled."""
    result = loaded(CUSTOM_SCORES, CUSTOM_A, CUSTOM_B, ALLOCATABLE)

    assert "NodeResourcesFit" not in scores(result)
    assert scores(result)["MyCustomPluginA"] == 2
    assert "NodeResourcesLeastAllocated was removed" in warned(result)


def test_003_arguments_of_a_plugin_nobody_enables() -> None:
    """Arguments for a plugin that is known but not enabled have no effect; for an unknown one we say so."""
    known = loaded(CUSTOM_SCORES, CUSTOM_A, CUSTOM_B, ALLOCATABLE)
    unknown = loaded(CUSTOM_SCORES, CUSTOM_A, CUSTOM_B)

    assert "NodeResourcesAllocatable" not in known.profiles[0].args
    assert 'there is no plugin "NodeResourcesAllocatable"; its arguments are ignored' in warned(unknown)


def test_003_an_extender_beside_the_profiles() -> None:
    """Where it belongs, an extender is simply there."""
    result = loaded(WITH_EXTENDER)

    (extender,) = result.config.extenders
    assert (extender.filter_verb, extender.prioritize_verb, extender.weight) == ("filter", "prioritize", 1)
    assert result.config.leader_election.resource_name == "my-scheduler"


def test_003_ellipses_are_not_yaml() -> None:
    """`// ...` is how the document leaves something out; YAML knows no such comment."""
    assert refusal(WITH_EXTENDER_AND_ELLIPSES) == [
        "scheduler.yaml:18: not valid YAML: while scanning a simple key: could not find expected ':'; "
        "comments start with # in YAML, not with //"
    ]


def test_003_gangs() -> None:
    """Coscheduling takes over the queue; its arguments are its own affair."""
    result = loaded(GANGS, COSCHEDULING)

    assert [plugin.name for plugin in result.profiles[0].points["queueSort"]] == ["Coscheduling"]
    assert result.profiles[0].args["Coscheduling"] == {
        "permitWaitingTimeSeconds": 10,
        "deniedPGExpirationTimeSeconds": 3,
    }


@pytest.mark.parametrize(
    ("text", "plugin", "near"),
    [
        pytest.param(SAMPLE_SCHEDULER, "sample", (), id="001 sample"),
        pytest.param(MY_SCORING, "MyScoringPlugin", (), id="002 MyScoringPlugin"),
        pytest.param(CUSTOM_SCORES, "MyCustomPluginA", (), id="003 MyCustomPluginA"),
        pytest.param(GANGS, "Coscheduling", (facts("CoSchedule", "filter"),), id="003 Coscheduling"),
    ],
)
def test_plugins_that_nobody_registered(text: str, plugin: str, near: tuple[PluginFacts, ...]) -> None:
    """A plugin must be there; if one of a similar name is, it is suggested."""
    lines = refusal(text, *near)

    assert any(f'there is no plugin "{plugin}"' in line for line in lines)
    assert all(f'did you mean "{other.name}"' in lines[0] for other in near)
