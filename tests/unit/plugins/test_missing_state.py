"""Profiles that disable a plugin's PreFilter or PreScore and keep what follows it.

What comes of it is recorded from kube-scheduler 1.36.4: most plugins then fail every attempt that reaches them.
"""

from __future__ import annotations

import json

import pytest
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.volumes.storage import make_claim, make_volume, pod_claiming, pod_with

from bayplan.core import Decision
from bayplan.framework import Code, CycleState, Plugin, Status
from bayplan.model import Pod
from bayplan.plugins.devices.dynamic_resources import DynamicResources
from bayplan.plugins.volumes.volume_binding import VolumeBinding
from bayplan.plugins.volumes.volume_restrictions import VolumeRestrictions
from bayplan.plugins.volumes.volume_zone import ZONE, VolumeZone
from bayplan.testing import Harness, make_node, make_pod


def without(point: str, *plugins: str) -> str:
    """A configuration with these plugins disabled at one point."""
    disabled = {point: {"disabled": [{"name": name} for name in plugins]}}
    profile = {"schedulerName": "default-scheduler", "plugins": disabled}
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return json.dumps({**header, "profiles": [profile]})


def decide_twice(configuration: str) -> list[Decision]:
    """What becomes of two pods alike: for the second one answers of the first are remembered."""
    harness = Harness(nodes=[make_node("a"), make_node("b")], configuration=configuration)
    return [harness.decide(make_pod("p")), harness.decide(make_pod("q"))]


def errors(configuration: str) -> list[str]:
    decisions = decide_twice(configuration)
    assert [each.reason for each in decisions] == ["SchedulerError"] * 2
    return [each.message for each in decisions]


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        ("DynamicResources", "not found"),
        ("InterPodAffinity", 'error reading "PreFilterInterPodAffinity" from cycleState: not found'),
        ("NodeDeclaredFeatures", 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'),
        ("NodePorts", 'reading "PreFilterNodePorts" from cycleState: not found'),
        ("NodeResourcesFit", 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'),
        ("PodTopologySpread", 'reading "PreFilterPodTopologySpread" from cycleState: not found'),
        ("VolumeBinding", "not found"),
        ("VolumeRestrictions", 'cannot read "PreFilterVolumeRestrictions" from cycleState'),
    ],
)
def test_filter_that_needs_its_pre_filter(plugin: str, error: str) -> None:
    """Every pod fails, one that the plugin has nothing to do with as well."""
    assert errors(without("preFilter", plugin)) == [f'running "{plugin}" filter plugin: {error}'] * 2


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        ("InterPodAffinity", 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'),
        ("PodTopologySpread", 'error reading "PreScorePodTopologySpread" from cycleState: not found'),
        ("TaintToleration", 'failed to read "PreScoreTaintToleration" from cycleState: not found'),
    ],
)
def test_score_that_needs_its_pre_score(plugin: str, error: str) -> None:
    """The same for Score."""
    expected = f'running Score plugins: plugin "{plugin}" failed with: {error}'
    assert errors(without("preScore", plugin)) == [expected] * 2


@pytest.mark.parametrize(
    ("point", "plugin"),
    [
        ("preFilter", "NodeAffinity"),
        ("preFilter", "NodeVolumeLimits"),
        ("preFilter", "VolumeZone"),
        ("preScore", "NodeAffinity"),
        ("preScore", "NodeResourcesFit"),
        ("preScore", "NodeResourcesBalancedAllocation"),
        ("preScore", "VolumeBinding"),
    ],
)
def test_plugins_that_do_without(point: str, plugin: str) -> None:
    """These work out what they need where they need it."""
    assert all(each.node_name for each in decide_twice(without(point, plugin)))


def test_filter_is_not_reached() -> None:
    """An error counts only where a node is still in question: here PreFilter leaves none."""
    harness = Harness(nodes=[make_node("a")], configuration=without("preFilter", "NodeResourcesFit"))
    ghost = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["ghost"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ghost]}}
    decision = harness.decide(make_pod("p", spec={"affinity": {"nodeAffinity": required}}))
    assert decision.reason == "Unschedulable"


def test_what_pre_filter_wrote_is_remembered() -> None:
    """With all points enabled, the second of two pods alike gets the state that the first one's PreFilter made."""
    ports = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    features = {"hostNetwork": True, "hostUsers": False}
    harness = Harness(nodes=[make_node("a"), make_node("b")])
    assert {harness.schedule(make_pod(name, spec=ports)).node_name for name in "pq"} == {"a", "b"}
    for _ in range(2):
        assert "2 node(s) didn't have free ports" in harness.decide(make_pod("r", spec=ports)).message
        assert "2 node(s) didn't match Pod's required feat" in harness.decide(make_pod("s", spec=features)).message


def test_balance_of_a_pod_that_requests_nothing() -> None:
    """PreScore would have skipped it; Score gives 0."""
    configuration = without("preScore", "NodeResourcesBalancedAllocation")
    harness = Harness(nodes=[make_node("a"), make_node("b")], configuration=configuration)
    scores = harness.decide(make_pod("p")).scores
    assert scores is not None
    assert scores.by_plugin["NodeResourcesBalancedAllocation"].raw.tolist() == [0, 0]


# --- volumes ------------------------------------------------------------------------------------------


def test_disk_conflict_comes_before_the_error() -> None:
    """VolumeRestrictions looks at disks first: a node with a conflict is rejected, the others fail."""
    disk = {"gcePersistentDisk": {"pdName": "d"}}
    bench = Bench([make_node("busy"), make_node("free")], [pod_with("other", disk, node_name="busy")])
    verdict = bench.plugin(VolumeRestrictions).filter_nodes(CycleState(), pod_with("p", disk), bench.nodes)
    assert verdict.status(0) == Status.unschedulable("node(s) had no available disk")
    assert verdict.status(1) == Status.failed('cannot read "PreFilterVolumeRestrictions" from cycleState')


def test_volume_zone_looks_volumes_up() -> None:
    """Filter finds the zones itself; a claim that PreFilter would have refused rejects every node."""
    bench = Bench([make_node("a", labels={ZONE: "za"}), make_node("b", labels={ZONE: "zb"})])
    bench.objects.set(make_volume("v", labels={ZONE: "za"}))
    bench.objects.set(make_claim("c", volume="v"))
    plugin = bench.plugin(VolumeZone)

    def verdicts(pod: Pod) -> list[Status | None]:
        verdict = plugin.filter_nodes(CycleState(), pod, bench.nodes)
        return [verdict.status(position) for position in range(2)]

    missing = Status.unresolvable('persistentvolumeclaim "gone" not found')
    assert verdicts(make_pod("p")) == [None, None]
    assert verdicts(pod_claiming("p", "c")) == [
        None,
        Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) had no available volume zone"]),
    ]
    assert verdicts(pod_claiming("p", "c", "gone")) == [missing, missing]


@pytest.mark.parametrize("plugin_class", [DynamicResources, VolumeBinding])
def test_later_points_need_the_state_too(plugin_class: type[Plugin]) -> None:
    """With Filter disabled as well, Reserve is the next to miss it; a PreFilter that skipped is enough for it."""
    bench = Bench([make_node("a")])
    plugin, pod, state = bench.plugin(plugin_class), make_pod("p"), CycleState()
    assert plugin.reserve(CycleState(), pod, "a") == Status.failed("not found")
    assert bench.pre_filter(plugin, pod, state).is_skip
    assert plugin.reserve(state, pod, "a") is None
