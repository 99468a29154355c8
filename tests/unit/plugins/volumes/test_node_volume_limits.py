"""No more volumes of a CSI driver on a node than its CSINode allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.volumes.storage import (
    csi,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
    pod_claiming,
    pod_with,
)

from bayplan.framework import Code, CycleState, Hint, Resource, Status
from bayplan.model import CSIDriver, KubeObject, Pod
from bayplan.plugins.volumes.node_volume_limits import NodeVolumeLimits
from bayplan.testing import Harness, make_node, make_pod

EXCEEDED = Status.unschedulable("node(s) exceed max volume count")
DRIVER = "csi.example.com"
EBS = "ebs.csi.aws.com"


def bound(name: str, driver: str = DRIVER, **source: Any) -> list[KubeObject]:
    """A claim with its CSI volume."""
    source = source or {"csi": csi(f"h-{name}", driver)}
    return [make_volume(f"pv-{name}", claim=name, **source), make_claim(name, volume=f"pv-{name}")]


def bench_with(
    limit: int | None, pods: Iterable[Pod], objects: Iterable[KubeObject], driver: str = DRIVER
) -> Bench:
    bench = Bench([make_node("n")], pods)
    bench.objects.set(make_csi_node("n", {driver: limit}))
    for each in objects:
        bench.objects.set(each)
    return bench


def is_full(bench: Bench, pod: Pod) -> bool:
    found = bench.rejections(bench.plugin(NodeVolumeLimits), pod)
    assert found in ({}, {"n": EXCEEDED})
    return bool(found)


@pytest.mark.parametrize(
    ("limit", "there", "wanted", "full"),
    [
        pytest.param(2, [["a"]], ["b"], False, id="room for one more"),
        pytest.param(1, [["a"]], ["b"], True, id="no room"),
        pytest.param(0, [], ["b"], True, id="a limit of none"),
        pytest.param(None, [["a"]], ["b"], False, id="no limit"),
        pytest.param(1, [["a"]], ["a"], False, id="a volume that is there already"),
        pytest.param(2, [["a"], ["a"]], ["b"], False, id="a volume that two pods use counts once"),
        pytest.param(2, [["a"]], ["b", "c"], True, id="two more where there is room for one"),
        pytest.param(2, [["a"]], ["a", "b"], False, id="one there already, one more"),
        pytest.param(1, [["other"]], ["b"], False, id="volumes of another driver"),
        pytest.param(1, [["a"]], ["other"], False, id="a driver without a limit"),
        pytest.param(1, [["gone"]], ["b"], False, id="a claim that is gone is not counted"),
        pytest.param(1, [["nfs"]], ["b"], False, id="volumes that are not CSI"),
    ],
)
def test_limits(limit: int | None, there: list[list[str]], wanted: list[str], full: bool) -> None:
    """Volumes of the driver that pods on the node use, each once, and the new ones must be within the limit."""
    objects = [each for name in "abc" for each in bound(name)]
    objects += [*bound("other", "other.example.com"), *bound("nfs", nfs={"server": "s", "path": "/"})]
    pods = [pod_claiming(f"p{i}", *claims, node_name="n") for i, claims in enumerate(there)]
    assert is_full(bench_with(limit, pods, objects), pod_claiming("p", *wanted)) is full


def test_unbound_claims_count_for_their_class() -> None:
    """A claim without a volume counts as one of the driver that will make it."""
    objects = [make_class("dyn", provisioner=DRIVER), *(make_claim(c, storage_class="dyn") for c in "abc")]
    pods = [pod_claiming("other", "a", node_name="n")]
    assert not is_full(bench_with(2, pods, objects), pod_claiming("p", "b"))
    assert is_full(bench_with(2, pods, objects), pod_claiming("p", "b", "c"))
    assert not is_full(bench_with(1, pods, objects), pod_claiming("p", "a"))


def test_unbound_claims_without_class_do_not_count() -> None:
    objects = [make_claim("a", storage_class=None), make_claim("b", storage_class="gone")]
    assert not is_full(bench_with(0, [], objects), pod_claiming("p", "a", "b"))


def test_claim_of_a_missing_volume_counts_for_its_class() -> None:
    objects = [make_class("dyn", provisioner=DRIVER), make_claim("a", storage_class="dyn", volume="gone")]
    assert is_full(bench_with(0, [], objects), pod_claiming("p", "a"))


@pytest.mark.parametrize(
    ("attachments", "full"),
    [
        pytest.param([("x", "n", "pv-b")], True, id="an attached volume that no pod uses"),
        pytest.param([("x", "n", "pv-a")], False, id="one that a pod uses is counted already"),
        pytest.param([("x", "m", "pv-b")], False, id="one attached elsewhere"),
        pytest.param([("x", "n", "gone")], False, id="one whose volume is gone"),
        pytest.param([("x", "n", None)], False, id="one without a volume's name"),
        pytest.param([("x", "n", "pv-b", "other")], False, id="one of another driver"),
        pytest.param([("x", "n", "pv-nfs")], False, id="one that is not CSI"),
    ],
)
def test_volume_attachments(attachments: list[Any], full: bool) -> None:
    """What is attached to the node takes room, whoever uses it."""
    objects = [each for name in "abc" for each in bound(name)]
    objects += bound("nfs", nfs={"server": "s", "path": "/"})
    objects += [make_attachment(*each) for each in attachments]
    bench = bench_with(2, [pod_claiming("other", "a", node_name="n")], objects)
    assert is_full(bench, pod_claiming("p", "c")) is full


def test_attachments_are_followed() -> None:
    """An attachment that comes or goes counts, or not, from then on."""
    bench = bench_with(1, [], [*bound("a"), *bound("b")])
    plugin, pod = bench.plugin(NodeVolumeLimits), pod_claiming("p", "b")
    attachment = make_attachment("x", "n", "pv-a")
    bench.objects.set(attachment)
    assert bench.rejections(plugin, pod) == {"n": EXCEEDED}
    bench.objects.remove(attachment)
    assert bench.rejections(plugin, pod) == {}
    bench.objects.set(make_csi_node("n", {DRIVER: 0}))
    assert bench.rejections(plugin, pod) == {"n": EXCEEDED}
    bench.cache.set_node(make_node("m"))
    assert bench.rejections(plugin, pod) == {"n": EXCEEDED}


@pytest.mark.parametrize(
    ("there", "wanted", "full"),
    [
        pytest.param("vol-1", "vol-2", True, id="two disks"),
        pytest.param("vol-1", "aws://zone/vol-1", False, id="the same disk, written in two ways"),
    ],
)
def test_in_tree_disks_count_for_csi_driver(there: str, wanted: str, full: bool) -> None:
    """In-tree disks count for the driver that has taken them over."""
    ours = pod_with("p", {"awsElasticBlockStore": {"volumeID": wanted}})
    other = pod_with("other", {"awsElasticBlockStore": {"volumeID": there}}, node_name="n")
    assert is_full(bench_with(1, [other], [], EBS), ours) is full


def test_in_tree_persistent_volumes_count_for_csi_driver() -> None:
    objects = [
        *bound("a", awsElasticBlockStore={"volumeID": "vol-1"}),
        *bound("file", azureFile={"secretName": "s", "shareName": "n"}),
        *bound("wrong", awsElasticBlockStore={"volumeID": "aws://zone/disk"}),
        make_class("ebs", provisioner="kubernetes.io/aws-ebs"),
        make_claim("new", storage_class="ebs"),
    ]
    assert is_full(bench_with(0, [], objects, EBS), pod_claiming("p", "a"))
    assert is_full(bench_with(0, [], objects, EBS), pod_claiming("p", "new"))
    assert not is_full(bench_with(0, [], objects, EBS), pod_claiming("p", "wrong"))
    assert not is_full(bench_with(0, [], objects, "file.csi.azure.com"), pod_claiming("p", "file"))


def test_disk_that_cannot_be_translated_is_an_error() -> None:
    """The attempt ends with an error, on nodes that have a CSINode."""
    pod = pod_with("p", {"azureDisk": {"diskURI": "u", "kind": "Dedicated"}})
    harness = Harness(nodes=[make_node("n")], objects=[make_csi_node("n")])
    decision = harness.decide(pod)
    text = 'running "NodeVolumeLimits" filter plugin: converting volume(v0) from inline to csi: '
    assert decision.status.code is Code.ERROR
    assert decision.message == text + "kind(Dedicated) is not supported in csi migration"
    assert Harness(nodes=[make_node("n")]).decide(pod).node_name == "n"


def ephemeral_claim(owner: str) -> KubeObject:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}]
    return make_claim("p-v0", storage_class="dyn", metadata={"ownerReferences": owners})


def test_ephemeral_volumes_count() -> None:
    """A generic ephemeral volume counts by the claim that was made for it."""
    pod = pod_with("p", {"ephemeral": {}}, metadata={"uid": "me"})
    bench = bench_with(0, [], [make_class("dyn", provisioner=DRIVER), ephemeral_claim("me")])
    assert is_full(bench, pod)


def test_somebody_elses_ephemeral_claim_is_an_error() -> None:
    pod = pod_with("p", {"ephemeral": {}}, metadata={"uid": "me"})
    bench = bench_with(0, [], [ephemeral_claim("you")])
    status = bench.rejections(bench.plugin(NodeVolumeLimits), pod)["n"]
    assert status == Status.failed("PVC default/p-v0 was not created for pod default/p (pod is not owner)")


def test_error_about_a_pod_on_the_node() -> None:
    """A node whose pods cannot be counted fails the attempt, unless it was rejected before."""
    there = pod_with("p", {"ephemeral": {}}, metadata={"uid": "me"}, node_name="n")
    bench = bench_with(1, [there], [*bound("a"), ephemeral_claim("you")])
    status = bench.rejections(bench.plugin(NodeVolumeLimits), pod_claiming("new", "a"))["n"]
    assert status == Status.failed("PVC default/p-v0 was not created for pod default/p (pod is not owner)")


def test_missing_claim_is_unresolvable() -> None:
    bench = bench_with(1, [], [])
    found = bench.rejections(bench.plugin(NodeVolumeLimits), pod_claiming("p", "c"))
    text = 'looking up PVC default/c: persistentvolumeclaim "c" not found'
    assert found == {"n": Status.unresolvable(text)}


@pytest.mark.parametrize(
    ("pod", "answer"),
    [
        pytest.param(make_pod("p"), Status.skip(), id="no volumes"),
        pytest.param(pod_with("p", {"emptyDir": {}}, {"hostPath": {}}), Status.skip(), id="no storage"),
        pytest.param(pod_with("p", {"csi": {"driver": "x"}}), Status.skip(), id="inline CSI volumes"),
        pytest.param(pod_with("p", {"ephemeral": {}}), None, id="a generic ephemeral volume"),
        pytest.param(pod_with("p", {"azureFile": {"shareName": "s"}}), None, id="a share of a cloud"),
        pytest.param(pod_with("p", {"cinder": {"volumeID": "v"}}), None, id="a disk of a cloud"),
        pytest.param(pod_claiming("p", "c"), None, id="a claim"),
    ],
)
def test_pre_filter(pod: Pod, answer: Status | None) -> None:
    bench = Bench()
    assert bench.pre_filter(bench.plugin(NodeVolumeLimits), pod) == answer


CLAIMS = [f"c{i}" for i in range(5)]


@given(
    limits=st.lists(st.none() | st.integers(0, 4), min_size=1, max_size=4),
    there=st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from(CLAIMS), max_size=3)), max_size=8),
    attached=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(CLAIMS)), max_size=4, unique=True),
    wanted=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3, unique=True),
)
def test_all_nodes_at_once_as_one_by_one(
    limits: list[int | None],
    there: list[tuple[int, list[str]]],
    attached: list[tuple[int, str]],
    wanted: list[str],
) -> None:
    """The bound that spares most nodes the counting never changes the answer."""
    names = [f"n{i}" for i in range(len(limits))]
    there = [(i % len(limits), claims) for i, claims in there]
    pods = [pod_claiming(f"p{j}", *claims, node_name=names[i]) for j, (i, claims) in enumerate(there)]
    bench = Bench(map(make_node, names), pods)
    for name, limit in zip(names, limits, strict=True):
        bench.objects.set(make_csi_node(name, {DRIVER: limit}))
    for each in (each for claim in CLAIMS for each in bound(claim)):
        bench.objects.set(each)
    for i, claim in attached:
        bench.objects.set(make_attachment(f"{i}-{claim}", f"n{i}", f"pv-{claim}"))
    expected = set()
    for i, limit in enumerate(limits):
        used = {claim for j, claims in there if j == i for claim in claims}
        held = used | {claim for j, claim in attached if j == i}
        if limit is not None and set(wanted) - used and len(held) + len(set(wanted) - used) > limit:
            expected.add(names[i])
    assert set(bench.rejections(bench.plugin(NodeVolumeLimits), pod_claiming("p", *wanted))) == expected


def test_one_node_of_a_what_if() -> None:
    """A pod taken off a node frees its volumes there."""
    bench = bench_with(1, [pod_claiming("other", "a", node_name="n")], [*bound("a"), *bound("b")])
    plugin, pod = bench.plugin(NodeVolumeLimits), pod_claiming("p", "b")
    with bench.cache.snapshot().what_if() as what_if:
        what_if.remove(0, *bench.nodes[0].pods)
        assert not plugin.filter_nodes(CycleState(), pod, bench.nodes.select(bench.nodes.rows)).rejected.any()
    assert plugin.filter_nodes(CycleState(), pod, bench.nodes.select(bench.nodes.rows)).rejected.all()


def disk(volume: str) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": volume}}


@pytest.mark.parametrize(
    ("resource", "pod", "old", "new", "hint"),
    [
        pytest.param(
            Resource.CSI_NODE,
            make_pod("p"),
            make_csi_node("n", {DRIVER: 1}),
            make_csi_node("n", {DRIVER: 2}),
            Hint.QUEUE,
            id="a limit was raised",
        ),
        pytest.param(
            Resource.CSI_NODE,
            make_pod("p"),
            make_csi_node("n", {DRIVER: 2}),
            make_csi_node("n", {DRIVER: 1, "x": None}),
            Hint.SKIP,
            id="a limit was lowered",
        ),
        pytest.param(
            Resource.POD, make_pod("p"), pod_claiming("d", "c", node_name="n"), None, Hint.QUEUE, id="pod gone"
        ),
        pytest.param(Resource.POD, make_pod("p"), pod_claiming("d", "c"), None, Hint.SKIP, id="never placed"),
        pytest.param(
            Resource.POD,
            make_pod("p"),
            pod_claiming("d", "c", status={"nominatedNodeName": "n"}),
            None,
            Hint.QUEUE,
            id="a pod that was promised a node",
        ),
        pytest.param(Resource.POD, make_pod("p"), make_pod("d", node_name="n"), None, Hint.SKIP, id="no volumes"),
        pytest.param(
            Resource.PERSISTENT_VOLUME_CLAIM, pod_claiming("p", "c"), None, make_claim("c"), Hint.QUEUE, id="claim"
        ),
        pytest.param(
            Resource.PERSISTENT_VOLUME_CLAIM,
            pod_with("p", {"ephemeral": {}}),
            None,
            make_claim("p-v0"),
            Hint.QUEUE,
            id="the claim of an ephemeral volume",
        ),
        pytest.param(
            Resource.PERSISTENT_VOLUME_CLAIM, pod_claiming("p", "c"), None, make_claim("d"), Hint.SKIP, id="other"
        ),
        pytest.param(
            Resource.VOLUME_ATTACHMENT,
            pod_claiming("p", "c"),
            make_attachment("x", "n", "v"),
            None,
            Hint.QUEUE,
            id="a volume was detached, and the pod has a claim",
        ),
        pytest.param(
            Resource.VOLUME_ATTACHMENT,
            pod_with("p", disk("vol-1")),
            make_attachment("x", "n", "v", EBS),
            None,
            Hint.QUEUE,
            id="a volume of the disk's driver was detached",
        ),
        pytest.param(
            Resource.VOLUME_ATTACHMENT,
            pod_with("p", disk("vol-1"), {"emptyDir": {}}),
            make_attachment("x", "n", "v"),
            None,
            Hint.SKIP,
            id="a volume of another driver was detached",
        ),
        pytest.param(
            Resource.VOLUME_ATTACHMENT,
            pod_with("p", disk("aws://z/what")),
            make_attachment("x", "n", "v"),
            None,
            Hint.QUEUE,
            id="a disk that cannot be translated",
        ),
    ],
)
def test_hints(resource: Resource, pod: Pod, old: Any, new: Any, hint: Hint) -> None:
    events = Bench().plugin(NodeVolumeLimits).events_to_register()
    event = next(each for each in events if each.resource == resource and each.hint is not None)
    assert event.hint is not None
    assert event.hint(pod, old, new) is hint


@pytest.mark.parametrize(
    ("release", "prevents", "installed", "message"),
    [
        pytest.param("1.37", True, False, f"{DRIVER} CSI driver is not installed on the node", id="missing"),
        pytest.param("1.37", True, True, None, id="installed"),
        pytest.param("1.37", False, False, None, id="the driver does not ask for it"),
        pytest.param("1.36", True, False, None, id="the gate is off"),
    ],
)
def test_node_without_the_driver(release: str, prevents: bool, installed: bool, message: str | None) -> None:
    """A driver can keep pods away from nodes on which it does not run."""
    bench = Bench([make_node("n")], release=release)
    driver = {"metadata": {"name": DRIVER}, "spec": {"preventPodSchedulingIfMissing": prevents}}
    for each in (
        CSIDriver.from_dict(driver),
        make_csi_node("n", {DRIVER if installed else EBS: None}),
        *bound("a"),
    ):
        bench.objects.set(each)
    found = bench.rejections(bench.plugin(NodeVolumeLimits), pod_claiming("p", "a"))
    assert found == ({} if message is None else {"n": Status.unschedulable(message)})
