"""The contract of the plugins that ship with Bayplan, and the names that others rely on."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

import bayplan
import bayplan.framework
from bayplan.framework import POINTS, Plugin, Reads, Registry, check_class, registered_events
from bayplan.framework.plugin import args_parameter, defines
from bayplan.plugins import BUILTIN, FAMILY
from bayplan.release import SUPPORTED, Release
from bayplan.scheduler import default_registry
from bayplan.testing import Harness, make_node, make_pod

#: Plugin → its extension points in kube-scheduler 1.37 (its interfaces; those for pod groups are not for us).
UPSTREAM_POINTS: dict[str, str] = {
    "DefaultBinder": "bind",
    "DefaultPreemption": "preEnqueue postFilter",
    "DynamicResources": "preEnqueue preFilter filter postFilter score reserve preBind",
    "ImageLocality": "score",
    "InterPodAffinity": "preFilter filter preScore score",
    "NodeAffinity": "preFilter filter preScore score",
    "NodeDeclaredFeatures": "preFilter filter",
    "NodeName": "preFilter filter",
    "NodePorts": "preFilter filter",
    "NodeResourcesBalancedAllocation": "preScore score",
    "NodeResourcesFit": "preFilter filter preScore score",
    "NodeUnschedulable": "preFilter filter",
    "NodeVolumeLimits": "preFilter filter",
    "PodTopologySpread": "preFilter filter preScore score",
    "PrioritySort": "queueSort",
    "SchedulingGates": "preEnqueue",
    "TaintToleration": "preFilter filter preScore score",
    "VolumeBinding": "preFilter filter preScore score reserve preBind",
    "VolumeRestrictions": "preFilter filter",
    "VolumeZone": "preFilter filter",
}
#: Those that tell kube-scheduler's queue which events may help (EnqueueExtensions).
UPSTREAM_EVENTS = frozenset(
    {
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeDeclaredFeatures",
        "NodeName",
        "NodePorts",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "SchedulingGates",
        "TaintToleration",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
)
#: Those that sign pods in kube-scheduler (SignPlugin).
UPSTREAM_SIGNERS = frozenset(UPSTREAM_POINTS) - {
    "DefaultBinder",
    "DefaultPreemption",
    "PrioritySort",
    "SchedulingGates",
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return default_registry()


@pytest.fixture(scope="module")
def plugins() -> dict[str, Plugin]:
    """The default profile's plugins at work."""
    return dict(Harness(nodes=[make_node("a")]).profile().plugins.plugins)


@pytest.mark.parametrize("name", BUILTIN)
def test_points_are_those_of_kube_scheduler(name: str, registry: Registry) -> None:
    """Each passes the contract check and is on the extension points it is on upstream, in their order."""
    cls = registry.get(name).plugin
    assert list(check_class(cls)) == UPSTREAM_POINTS[name].split()
    assert cls.name == name


@pytest.mark.parametrize("release", SUPPORTED.values(), ids=str)
def test_every_default_plugin_is_built_in(release: Release) -> None:
    """The default profile of every release is made of all built-in plugins."""
    assert sorted(name for name, _ in release.default_plugins) == sorted(BUILTIN) == sorted(UPSTREAM_POINTS)


@pytest.mark.parametrize("name", BUILTIN)
def test_no_plugin_looks_at_nodes_one_by_one(name: str, registry: Registry) -> None:
    """Our own plugins use the column form, so that every node can be looked at."""
    cls = registry.get(name).plugin
    assert not defines(cls, "filter")
    assert not defines(cls, "score")


@pytest.mark.parametrize("name", BUILTIN)
def test_plain_pods_are_signed(name: str, plugins: dict[str, Plugin]) -> None:
    """A plugin that says what it reads signs a plain pod, hashably and the same every time."""
    plugin: Any = plugins[name]
    if plugin.reads is Reads.ANYTHING and not defines(plugin, "sign"):
        return
    first, second = (plugin.sign(make_pod(f"p{i}", cpu="1", labels={"app": "web"})) for i in range(2))
    assert isinstance(first, Hashable)
    assert hash(first) == hash(second)
    assert first == second
    if plugin.reads is not Reads.ANYTHING:
        assert first is not None


@pytest.mark.parametrize("name", [*BUILTIN, *FAMILY])
def test_args_are_named_in_brackets(name: str, registry: Registry) -> None:
    """`Plugin[…]` gives `self.args` its type; the class attribute alone does not."""
    cls = registry.get(name).plugin
    assert cls.Args is None or args_parameter(cls) is cls.Args


def test_signers_are_those_of_kube_scheduler(registry: Registry) -> None:
    """The same plugins sign pods as upstream."""
    assert {name for name in BUILTIN if defines(registry.get(name).plugin, "sign")} == UPSTREAM_SIGNERS


def test_plugins_with_events_are_those_of_kube_scheduler(plugins: dict[str, Plugin]) -> None:
    """The same plugins register events; the others wait for anything, or reject nobody."""
    assert {name for name, plugin in plugins.items() if registered_events(plugin) is not None} == UPSTREAM_EVENTS


def test_every_point_but_two_has_a_default_plugin(registry: Registry) -> None:
    """Permit and PostBind are for others."""
    used = {point for name in BUILTIN for point in registry.get(name).points}
    assert {point.name for point in POINTS} - used == {"permit", "postBind"}


# --- public names -------------------------------------------------------------------------------------

BAYPLAN = [
    "Action",
    "ApiError",
    "Args",
    "BackgroundTask",
    "BoolArray",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "ClassScores",
    "Client",
    "Clock",
    "Cluster",
    "ClusterEvent",
    "Code",
    "Comparable",
    "ConfigError",
    "ConfigMap",
    "ConflictError",
    "Counter",
    "CycleState",
    "DeviceClass",
    "DeviceTaintRule",
    "Diagnosis",
    "Domains",
    "ElasticQuota",
    "Evaluation",
    "Event",
    "EventRecorder",
    "FieldError",
    "FilterOutcome",
    "Gauge",
    "Handle",
    "Hint",
    "Histogram",
    "Index",
    "Informers",
    "IntArray",
    "KubeObject",
    "LabelColumn",
    "LabelSelector",
    "Lease",
    "Lister",
    "Logger",
    "Metrics",
    "Namespace",
    "Node",
    "NodeInfo",
    "NodeTable",
    "Nominator",
    "NotFoundError",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Plugin",
    "PluginError",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PodQuery",
    "PostFilterResult",
    "PreBindPreFlight",
    "PreFilterResult",
    "Preemption",
    "PriorityClass",
    "QueuedPod",
    "QueueingHint",
    "Reads",
    "Ref",
    "ReplicaSet",
    "ReplicationController",
    "Resource",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "ResourceSpec",
    "ScoreArray",
    "ScoreOutcome",
    "Secret",
    "Selector",
    "Service",
    "Snapshot",
    "StatefulSet",
    "Status",
    "StorageClass",
    "Verdict",
    "VolumeAttachment",
    "WaitingPod",
    "WaitingPods",
    "__version__",
    "check_class",
    "compile_selector",
    "default_normalize",
    "get_logger",
    "parse_milli",
    "parse_value",
    "scores_alone",
    "selector_from_labels",
]

FRAMEWORK = [
    "Action",
    "AmountsWhatIf",
    "Args",
    "BackgroundTask",
    "BindPlan",
    "BindingRunner",
    "BoolArray",
    "Candidate",
    "ClassScores",
    "Client",
    "Clock",
    "ClusterEvent",
    "Code",
    "Comparable",
    "CountClasses",
    "CycleState",
    "Decided",
    "Derived",
    "Diagnosis",
    "DirectEvaluator",
    "Domains",
    "Evaluation",
    "Evaluator",
    "EventRecorder",
    "FilterOutcome",
    "FloatArray",
    "Handle",
    "Hint",
    "Index",
    "Informers",
    "IntArray",
    "LabelColumn",
    "Lister",
    "MAX_SCORE",
    "MIN_SCORE",
    "Metrics",
    "NodeInfo",
    "NodeTable",
    "Nominator",
    "Observer",
    "POINTS",
    "PermitOutcome",
    "PlacedPlugin",
    "Plugin",
    "PluginCaller",
    "PluginError",
    "PluginMethod",
    "PluginScores",
    "PodQuery",
    "Point",
    "PostFilterResult",
    "PreBindPreFlight",
    "PreFilterOutcome",
    "PreFilterResult",
    "Preemption",
    "PreemptionReport",
    "ProfilePlugins",
    "QueuedPod",
    "QueueingHint",
    "Reads",
    "Registration",
    "Registry",
    "Rejection",
    "Resource",
    "Runner",
    "SKIP",
    "SKIP_ALIKE",
    "SUCCESS",
    "SUCCESS_ALONE",
    "ScoreArray",
    "ScoreOutcome",
    "Scorer",
    "SearchPlan",
    "Snapshot",
    "Status",
    "TermColumn",
    "TermKind",
    "Verdict",
    "VictimRules",
    "Victims",
    "WaitingPod",
    "WaitingPods",
    "check_class",
    "create_plugin",
    "create_profile_plugins",
    "default_normalize",
    "extremes",
    "has_any",
    "registered_events",
    "scores_alone",
]


def test_public_names_of_bayplan() -> None:
    """What a plugin author imports; every name is really there."""
    assert sorted(bayplan.__all__) == BAYPLAN
    assert dir(bayplan) == BAYPLAN
    for name in BAYPLAN:
        assert getattr(bayplan, name) is not None


def test_unknown_name_of_bayplan() -> None:
    """A name that is not public is an AttributeError, as of any module."""
    with pytest.raises(AttributeError, match="module 'bayplan' has no attribute 'Pluggin'"):
        bayplan.Pluggin  # noqa: B018


def test_public_names_of_the_framework() -> None:
    """What the scheduler and its plugins share."""
    assert sorted(bayplan.framework.__all__) == FRAMEWORK
    for name in FRAMEWORK:
        assert hasattr(bayplan.framework, name)
