"""Pods with claims go where their volumes are, can be bound, or can be made."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.volumes.storage import (
    affinity,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
    pod_claiming,
    pod_with,
    terms,
)

from bayplan.framework import Action, Code, CycleState, Hint, Resource, Status
from bayplan.model import KubeObject, Pod
from bayplan.plugins.volumes.volume_binding import VolumeBinding
from bayplan.testing import Harness, make_node, make_pod

BIND = "node(s) didn't find available persistent volumes to bind"
NODE = "node(s) didn't match PersistentVolume's node affinity"
SPACE = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"
DRIVER = "csi.example.com"

NODES = [
    make_node("a", labels={ZONE: "z1"}),
    make_node("b", labels={ZONE: "z1"}),
    make_node("c", labels={ZONE: "z2"}),
]


def bench_with(*objects: KubeObject) -> Bench:
    bench = Bench(NODES)
    for each in (make_class("local"), make_class("dyn", provisioner=DRIVER), *objects):
        bench.objects.set(each)
    return bench


def rejected(bench: Bench, *claims: str) -> dict[str, tuple[str, ...]]:
    """Node → reasons, all of which eviction cannot help with."""
    found = bench.rejections(bench.plugin(VolumeBinding), pod_claiming("p", *claims))
    assert all(status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE for status in found.values())
    return {name: status.reasons for name, status in found.items()}


# --- PreFilter ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "answer"),
    [
        pytest.param(None, 'persistentvolumeclaim "c" not found', id="missing"),
        pytest.param(
            make_claim("c", volume="v", phase="Lost"),
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="lost",
        ),
        pytest.param(
            make_claim("c", volume="v", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            'persistentvolumeclaim "c" is being deleted',
            id="being deleted",
        ),
        pytest.param(
            make_claim("c", storage_class="imm"),
            "pod has unbound immediate PersistentVolumeClaims",
            id="immediate",
        ),
        pytest.param(
            make_claim("c", storage_class="gone"),
            "pod has unbound immediate PersistentVolumeClaims",
            id="of a class that is not there",
        ),
        pytest.param(
            make_claim("c", storage_class=None),
            "pod has unbound immediate PersistentVolumeClaims",
            id="without a class",
        ),
        pytest.param(
            make_claim("c", volume="v", annotations={}),
            "pod has unbound immediate PersistentVolumeClaims",
            id="that names its volume, but is not bound yet",
        ),
    ],
)
def test_claims_that_no_node_suits(claim: KubeObject | None, answer: str) -> None:
    bench = bench_with(make_class("imm", mode="Immediate"))
    if claim is not None:
        bench.objects.set(claim)
    found = bench.pre_filter(bench.plugin(VolumeBinding), pod_claiming("p", "c"))
    assert found == Status.unresolvable(answer)


def test_class_without_binding_mode_is_an_error() -> None:
    bench = bench_with(make_class("odd", mode=None), make_claim("c", storage_class="odd"))
    found = bench.pre_filter(bench.plugin(VolumeBinding), pod_claiming("p", "c"))
    assert found == Status.failed('VolumeBindingMode not set for StorageClass "odd"')


def test_ephemeral_claims() -> None:
    """The claim of an ephemeral volume has the pod's name and the volume's, and must be the pod's own."""
    bench = bench_with()
    plugin, pod = bench.plugin(VolumeBinding), pod_with("p", {"ephemeral": {}}, metadata={"uid": "me"})
    text = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v0"'
    assert bench.pre_filter(plugin, pod) == Status.unresolvable(text)
    bench.objects.set(make_claim("p-v0"))
    text = "PVC default/p-v0 was not created for pod default/p (pod is not owner)"
    assert bench.pre_filter(plugin, pod) == Status.unresolvable(text)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "me", "controller": True}
    bench.objects.set(make_claim("p-v0", metadata={"ownerReferences": [owner]}))
    assert bench.pre_filter(plugin, pod).is_success


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod("p"), id="no volumes"),
        pytest.param(pod_with("p", {"emptyDir": {}}, {"gcePersistentDisk": {"pdName": "d"}}), id="no claims"),
    ],
)
def test_pods_without_claims_are_skipped(pod: Pod) -> None:
    bench = bench_with()
    plugin, state = bench.plugin(VolumeBinding), CycleState()
    assert bench.pre_filter(plugin, pod, state) == Status.skip()
    assert plugin.reserve(state, pod, "a") is None
    assert plugin.pre_bind_pre_flight(state, pod, "a") == Status.skip()
    plugin.unreserve(state, pod, "a")


# --- bound claims ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "unreachable"),
    [
        pytest.param({}, "", id="from everywhere"),
        pytest.param({"nodeAffinity": affinity(ZONE, "z1")}, "c", id="from a zone"),
        pytest.param({"nodeAffinity": affinity(HOST, "b")}, "ac", id="from one node"),
        pytest.param(
            {
                "nodeAffinity": terms(
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
                )
            },
            "",
            id="fields do not count",
        ),
        pytest.param({"nodeAffinity": affinity(ZONE)}, "abc", id="from nowhere: the affinity is invalid"),
    ],
)
def test_bound_volumes(more: dict[str, Any], unreachable: str) -> None:
    bench = bench_with(make_volume("v", claim="x", **more), make_claim("x", volume="v"))
    assert rejected(bench, "x") == dict.fromkeys(unreachable, (NODE,))


def test_missing_volume_of_a_bound_claim() -> None:
    """The first claim that does not suit the node decides which of the two reasons is given."""
    bench = bench_with(
        make_volume("v", claim="x", nodeAffinity=affinity(HOST, "a")),
        make_claim("x", volume="v"),
        make_claim("y", volume="gone"),
    )
    assert rejected(bench, "x", "y") == {"a": (MISSING,), "b": (NODE,), "c": (NODE,)}
    assert rejected(bench, "y", "x") == dict.fromkeys("abc", (MISSING,))


def test_migrated_volume_is_looked_for_under_csi_label() -> None:
    """Where its plugin has been migrated, an in-tree volume's zone is the driver's zone."""
    key = "topology.ebs.csi.aws.com/zone"
    bench = Bench([make_node("a", labels={ZONE: "z1"}), make_node("b", labels={key: "z1"}), make_node("c")])
    for name in "bc":
        annotations = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
        bench.objects.set(make_csi_node(name, annotations=annotations))
    source: dict[str, Any] = {"awsElasticBlockStore": {"volumeID": "vol-1"}, "nodeAffinity": affinity(ZONE, "z1")}
    bench.objects.set(make_volume("v", claim="x", **source))
    bench.objects.set(make_claim("x", volume="v"))
    assert rejected(bench, "x") == {"c": (NODE,)}


def test_volume_that_cannot_be_migrated_is_an_error() -> None:
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/azure-disk"}
    volume = make_volume("v", claim="x", azureDisk={"diskURI": "u", "kind": "Shared"})
    objects = [volume, make_claim("x", volume="v"), make_csi_node("a", annotations=annotations)]
    decision = Harness(nodes=NODES, objects=objects).decide(pod_claiming("p", "x"))
    assert decision.status.code is Code.ERROR
    assert decision.message == (
        'running "VolumeBinding" filter plugin: could not translate pv: '
        "kind(Shared) is not supported in csi migration"
    )


# --- dynamic provisioning -------------------------------------------------------------------------


def topology(*zones: str) -> dict[str, Any]:
    return {"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}


@pytest.mark.parametrize(
    ("allowed", "unsuitable"),
    [
        pytest.param([], "", id="everywhere"),
        pytest.param([topology("z1")], "c", id="in one zone"),
        pytest.param([topology("z1"), topology("z2")], "", id="in one zone or another"),
        pytest.param([{}], "abc", id="an empty term allows nothing"),
        pytest.param([{}, topology("z2")], "ab", id="an empty term takes nothing away"),
        pytest.param([topology()], "abc", id="a term without values is invalid"),
    ],
)
def test_allowed_topologies(allowed: list[Any], unsuitable: str) -> None:
    storage_class = make_class("top", provisioner=DRIVER, allowedTopologies=allowed)
    bench = bench_with(storage_class, make_claim("x", storage_class="top"))
    assert rejected(bench, "x") == dict.fromkeys(unsuitable, (BIND,))


def pool(name: str, zone: str | None, storage_class: str = "dyn", **amounts: str) -> KubeObject:
    where = {} if zone is None else {"nodeTopology": {"matchLabels": {ZONE: zone}} if zone else {}}
    return make_capacity(name, storage_class, **where, **amounts)


@pytest.mark.parametrize(
    ("pools", "size", "poor"),
    [
        pytest.param([], "5Gi", "abc", id="no pool"),
        pytest.param([], None, "", id="no size asked for"),
        pytest.param([pool("p", "z1", capacity="10Gi")], "5Gi", "c", id="a pool in one zone"),
        pytest.param([pool("p", "", capacity="10Gi")], "5Gi", "", id="a pool everywhere"),
        pytest.param([pool("p", None, capacity="10Gi")], "5Gi", "abc", id="a pool nowhere"),
        pytest.param([pool("p", "", capacity="4Gi")], "5Gi", "abc", id="a pool that is too small"),
        pytest.param([pool("p", "", capacity="5Gi")], "5Gi", "", id="a pool that is just large enough"),
        pytest.param([pool("p", "")], "5Gi", "abc", id="a pool that does not say"),
        pytest.param(
            [pool("p", "", capacity="9Gi", maximumVolumeSize="1Gi")], "5Gi", "abc", id="a maximum size goes first"
        ),
        pytest.param([pool("p", "", "other", capacity="9Gi")], "5Gi", "abc", id="a pool of another class"),
        pytest.param(
            [pool("p", "z1", capacity="9Gi"), pool("q", "z2", capacity="9Gi")], "5Gi", "", id="two pools"
        ),
    ],
)
def test_storage_capacity(pools: list[KubeObject], size: str | None, poor: str) -> None:
    """For a driver that reports capacity, the node must reach a pool with enough of it."""
    claim = make_claim("x", storage_class="dyn", size=size)
    bench = bench_with(make_driver(DRIVER, storage_capacity=True), claim, *pools)
    assert rejected(bench, "x") == dict.fromkeys(poor, (SPACE,))


def test_capacity_of_other_drivers_does_not_matter() -> None:
    assert rejected(bench_with(make_claim("x", storage_class="dyn")), "x") == {}
    bench = bench_with(make_driver(DRIVER, storage_capacity=False), make_claim("x", storage_class="dyn"))
    assert rejected(bench, "x") == {}


def test_no_provisioner_and_no_volume() -> None:
    assert rejected(bench_with(make_claim("x")), "x") == dict.fromkeys("abc", (BIND,))


def test_claim_that_waits_for_a_node_stays_there() -> None:
    """Once a node has been selected, provisioning happens there or not at all."""
    bench = bench_with(make_claim("x", storage_class="dyn", annotations={SELECTED: "b"}))
    assert rejected(bench, "x") == {"a": (BIND,), "c": (BIND,)}


def test_reasons_are_listed_in_order() -> None:
    """Bound and unbound claims are judged apart; a node may fail for both."""
    bench = bench_with(
        make_volume("v", claim="x", nodeAffinity=affinity(HOST, "a")),
        make_claim("x", volume="v"),
        make_claim("y"),
        make_claim("z", storage_class="dyn"),
        make_driver(DRIVER, storage_capacity=True),
    )
    assert rejected(bench, "y", "x") == {"a": (BIND,), "b": (NODE, BIND), "c": (NODE, BIND)}
    assert rejected(bench, "z", "x") == {"a": (SPACE,), "b": (NODE, SPACE), "c": (NODE, SPACE)}


# --- hints ----------------------------------------------------------------------------------------


def capacity(**fields: str) -> KubeObject:
    return make_capacity("c", "dyn", **fields)


@pytest.mark.parametrize(
    ("resource", "old", "new", "hint"),
    [
        pytest.param(Resource.STORAGE_CLASS, None, make_class("x"), Hint.QUEUE, id="new class"),
        pytest.param(
            Resource.STORAGE_CLASS,
            make_class("x"),
            make_class("x", allowedTopologies=[topology("z")]),
            Hint.QUEUE,
            id="other topologies",
        ),
        pytest.param(
            Resource.STORAGE_CLASS, make_class("x"), make_class("x", reclaimPolicy="Retain"), Hint.SKIP, id="same"
        ),
        pytest.param(Resource.PERSISTENT_VOLUME_CLAIM, None, make_claim("x"), Hint.QUEUE, id="the pod's claim"),
        pytest.param(Resource.PERSISTENT_VOLUME_CLAIM, None, make_claim("p-v1"), Hint.QUEUE, id="ephemeral claim"),
        pytest.param(Resource.PERSISTENT_VOLUME_CLAIM, None, make_claim("y"), Hint.SKIP, id="another claim"),
        pytest.param(
            Resource.PERSISTENT_VOLUME_CLAIM, None, make_claim("x", namespace="n"), Hint.SKIP, id="elsewhere"
        ),
        pytest.param(Resource.CSI_NODE, None, make_csi_node("n"), Hint.QUEUE, id="new CSINode"),
        pytest.param(
            Resource.CSI_NODE,
            make_csi_node("n"),
            make_csi_node("n", annotations={"storage.alpha.kubernetes.io/migrated-plugins": "x"}),
            Hint.QUEUE,
            id="a plugin was migrated",
        ),
        pytest.param(
            Resource.CSI_NODE, make_csi_node("n"), make_csi_node("n", {"d": 1}), Hint.SKIP, id="another limit"
        ),
        pytest.param(
            Resource.CSI_DRIVER,
            make_driver("inline", storage_capacity=True),
            make_driver("inline"),
            Hint.QUEUE,
            id="capacity is no longer checked",
        ),
        pytest.param(
            Resource.CSI_DRIVER,
            make_driver("other", storage_capacity=True),
            make_driver("other"),
            Hint.SKIP,
            id="another driver",
        ),
        pytest.param(
            Resource.CSI_DRIVER, make_driver("inline"), make_driver("inline"), Hint.SKIP, id="never was checked"
        ),
        pytest.param(Resource.CSI_STORAGE_CAPACITY, None, capacity(), Hint.QUEUE, id="new capacity"),
        pytest.param(
            Resource.CSI_STORAGE_CAPACITY,
            capacity(capacity="1Gi"),
            capacity(capacity="2Gi"),
            Hint.QUEUE,
            id="more capacity",
        ),
        pytest.param(
            Resource.CSI_STORAGE_CAPACITY, capacity(), capacity(capacity="0"), Hint.QUEUE, id="known capacity"
        ),
        pytest.param(
            Resource.CSI_STORAGE_CAPACITY,
            capacity(maximumVolumeSize="1Gi", capacity="1Gi"),
            capacity(maximumVolumeSize="1Gi", capacity="2Gi"),
            Hint.SKIP,
            id="more capacity, but not for a larger volume",
        ),
        pytest.param(Resource.CSI_STORAGE_CAPACITY, capacity(capacity="1"), capacity(), Hint.SKIP, id="unknown"),
    ],
)
def test_hints(resource: Resource, old: Any, new: Any, hint: Hint) -> None:
    pod = pod_with(
        "p",
        {"persistentVolumeClaim": {"claimName": "x"}},
        {"ephemeral": {}},
        {"csi": {"driver": "inline"}},
    )
    event = next(e for e in Bench().plugin(VolumeBinding).events_to_register() if e.resource == resource)
    assert event.hint is not None
    assert event.hint(pod, old, new) is hint


@pytest.mark.parametrize(
    ("resource", "action"),
    [
        (Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE),
        (Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
    ],
)
def test_events_that_always_queue(resource: Resource, action: Action) -> None:
    event = next(e for e in Bench().plugin(VolumeBinding).events_to_register() if e.resource == resource)
    assert event.hint is None
    assert event.action == action


@pytest.mark.parametrize(
    ("pod", "kept"),
    [
        pytest.param(make_pod("p"), True, id="no volumes"),
        pytest.param(pod_with("p", {"projected": {}}, {"hostPath": {}}), True, id="no storage"),
        pytest.param(pod_claiming("p", "x"), False, id="a claim"),
        pytest.param(pod_with("p", {"rbd": {"image": "i"}}), False, id="a disk"),
    ],
)
def test_answers_are_kept_without_storage_only(pod: Pod, kept: bool) -> None:
    """What the plugin says of claims depends on objects that no sign can cover."""
    assert (Bench().plugin(VolumeBinding).sign(pod) is not None) is kept


def test_class_that_went_missing_is_an_error() -> None:
    bench = bench_with(make_claim("x", storage_class="dyn"))
    plugin, state, pod = bench.plugin(VolumeBinding), CycleState(), pod_claiming("p", "x")
    assert bench.pre_filter(plugin, pod, state).is_success
    bench.objects.remove(make_class("dyn"))
    failed = Status.failed('failed to find storage class "dyn"')
    assert plugin.filter_nodes(state, pod, bench.nodes) == failed
    assert plugin.reserve(state, pod, "a") == failed
