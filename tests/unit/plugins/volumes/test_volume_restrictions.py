"""Disks that cannot be shared, and claims that only one pod may use."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.volumes.storage import make_claim, make_volume, pod_claiming, pod_with

from bayplan.framework import Action, CycleState, Hint, Resource, Status
from bayplan.plugins.volumes.volume_restrictions import VolumeRestrictions
from bayplan.testing import Harness, make_node, make_pod

DISK = Status.unschedulable("node(s) had no available disk")
CLAIM = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)


def gce(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn: str, read_only: bool = False) -> dict[str, Any]:
    return {"iscsi": {"targetPortal": "10.0.0.1", "iqn": iqn, "lun": 0, "readOnly": read_only}}


def rbd(*monitors: str, image: str = "i", pool: str = "p", read_only: bool = False) -> dict[str, Any]:
    return {"rbd": {"monitors": list(monitors), "image": image, "pool": pool, "readOnly": read_only}}


@pytest.mark.parametrize(
    ("there", "wanted", "fits"),
    [
        pytest.param(gce("d"), gce("d"), False, id="the same GCE disk"),
        pytest.param(gce("d"), gce("e"), True, id="another GCE disk"),
        pytest.param(gce("d", True), gce("d", True), True, id="a GCE disk that both only read"),
        pytest.param(gce("d", True), gce("d"), False, id="a GCE disk that one writes"),
        pytest.param(ebs("d"), ebs("d"), False, id="the same AWS disk"),
        pytest.param(ebs("d", True), ebs("d", True), False, id="an AWS disk, even if both only read"),
        pytest.param(gce("d"), ebs("d"), True, id="disks of two clouds"),
        pytest.param(iscsi("q"), iscsi("q"), False, id="the same iSCSI target"),
        pytest.param(iscsi("q", True), iscsi("q", True), True, id="an iSCSI target that both only read"),
        pytest.param(rbd("a", "b"), rbd("b", "c"), False, id="an RBD image by a monitor in common"),
        pytest.param(rbd("a"), rbd("b"), True, id="RBD images of two clusters"),
        pytest.param(rbd("a", image="x"), rbd("a"), True, id="two RBD images"),
        pytest.param(rbd("a", pool="x"), rbd("a"), True, id="two RBD pools"),
        pytest.param(
            rbd("a", read_only=True), rbd("a", read_only=True), True, id="an RBD image that both only read"
        ),
    ],
)
def test_disk_conflicts(there: dict[str, Any], wanted: dict[str, Any], fits: bool) -> None:
    """A disk in use keeps a second pod off the node, unless both only read it (AWS: always)."""
    bench = Bench(
        [make_node("free"), make_node("busy")], [pod_with("other", {"emptyDir": {}}, there, node_name="busy")]
    )
    found = bench.rejections(bench.plugin(VolumeRestrictions), pod_with("p", wanted))
    assert found == ({} if fits else {"busy": DISK})


def bench_with_user(*, namespace: str = "default") -> Bench:
    bench = Bench(
        [make_node("a"), make_node("b")], [pod_claiming("user", "c", node_name="a", namespace=namespace)]
    )
    bench.objects.set(make_claim("c", modes=["ReadWriteOncePod"]))
    bench.objects.set(make_claim("shared", modes=["ReadWriteOnce"]))
    return bench


def test_claim_of_one_pod_is_taken_everywhere() -> None:
    """A ReadWriteOncePod claim in use rejects every node; evicting its user would help."""
    bench = bench_with_user()
    found = bench.rejections(bench.plugin(VolumeRestrictions), pod_claiming("p", "c", "shared"))
    assert found == {"a": CLAIM, "b": CLAIM}


def test_disk_conflict_is_named_before_claim() -> None:
    """A node has one reason: the disk's, where both apply."""
    bench = bench_with_user()
    bench.cache.add_pod(pod_with("disk", gce("d"), node_name="b"))
    pod = pod_with("p", gce("d"), {"persistentVolumeClaim": {"claimName": "c"}})
    assert bench.rejections(bench.plugin(VolumeRestrictions), pod) == {"a": CLAIM, "b": DISK}


@pytest.mark.parametrize(
    ("pod", "answer"),
    [
        pytest.param(make_pod("p"), Status.skip(), id="no volumes"),
        pytest.param(pod_with("p", {"emptyDir": {}}), Status.skip(), id="no claims or disks"),
        pytest.param(pod_claiming("p", "shared"), Status.skip(), id="a claim that pods may share"),
        pytest.param(pod_claiming("p", "c", namespace="x"), Status.unresolvable(
            'persistentvolumeclaim "c" not found'), id="a claim of another namespace"),
        pytest.param(pod_with("p", gce("d")), None, id="a disk"),
        pytest.param(pod_claiming("p", "c"), None, id="a claim in use"),
    ],
)  # fmt: skip
def test_pre_filter(pod: Any, answer: Status | None) -> None:
    bench = bench_with_user()
    assert bench.pre_filter(bench.plugin(VolumeRestrictions), pod) == answer


def test_unused_claim_of_one_pod_is_skipped() -> None:
    bench = bench_with_user()
    bench.objects.set(make_claim("mine", modes=["ReadWriteOncePod"]))
    assert bench.pre_filter(bench.plugin(VolumeRestrictions), pod_claiming("p", "mine")) == Status.skip()


def test_claim_is_free_when_its_user_is_removed() -> None:
    """A what-if without the user frees the claim; the state it was cloned from is not touched."""
    bench = bench_with_user()
    plugin, state, pod = bench.plugin(VolumeRestrictions), CycleState(), pod_claiming("p", "c")
    assert bench.pre_filter(plugin, pod, state) is None
    what_if = state.clone()
    (user,) = bench.nodes[0].pods
    plugin.remove_pod(what_if, pod, user, bench.nodes[0])
    assert not plugin.filter_nodes(what_if, pod, bench.nodes).rejected.any()
    assert plugin.filter_nodes(state, pod, bench.nodes).rejected.all()
    plugin.add_pod(what_if, pod, user, bench.nodes[0])
    assert plugin.filter_nodes(what_if, pod, bench.nodes).rejected.all()


def test_preemption_frees_a_claim() -> None:
    """The user of a ReadWriteOncePod claim is a victim for a pod of higher priority."""
    harness = Harness(nodes=[make_node("a")], pods=[pod_claiming("user", "c", node_name="a", priority=0)])
    harness.add(make_volume("v", claim="c"), make_claim("c", modes=["ReadWriteOncePod"], volume="v"))
    assert harness.decide(pod_claiming("p", "c", priority=10)).nominate == "a"


@pytest.mark.parametrize(
    ("deleted", "hint"),
    [
        pytest.param(pod_with("d", gce("d")), Hint.QUEUE, id="it had the disk"),
        pytest.param(pod_claiming("d", "c"), Hint.QUEUE, id="it used the claim"),
        pytest.param(pod_claiming("d", "c", namespace="x"), Hint.SKIP, id="it was in another namespace"),
        pytest.param(pod_with("d", gce("e")), Hint.SKIP, id="it had another disk"),
        pytest.param(make_pod("d"), Hint.SKIP, id="it had no volumes"),
    ],
)
def test_hint_after_pod_deleted(deleted: Any, hint: Hint) -> None:
    plugin = Bench().plugin(VolumeRestrictions)
    event = next(each for each in plugin.events_to_register() if each.matches(Resource.POD, Action.DELETE))
    pod = pod_with("p", gce("d"), {"persistentVolumeClaim": {"claimName": "c"}})
    assert event.hint is not None
    assert event.hint(pod, deleted, None) is hint


@pytest.mark.parametrize(
    ("claim", "hint"),
    [
        pytest.param(make_claim("c"), Hint.QUEUE, id="the pod's claim"),
        pytest.param(make_claim("other"), Hint.SKIP, id="another claim"),
        pytest.param(make_claim("c", namespace="x"), Hint.SKIP, id="a claim of another namespace"),
    ],
)
def test_hint_after_claim_added(claim: Any, hint: Hint) -> None:
    plugin = Bench().plugin(VolumeRestrictions)
    event = next(e for e in plugin.events_to_register() if e.resource == Resource.PERSISTENT_VOLUME_CLAIM)
    assert event.hint is not None
    assert event.hint(pod_claiming("p", "c"), None, claim) is hint
