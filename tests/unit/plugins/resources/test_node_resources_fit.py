"""Enough of every resource, and scores by how full nodes get."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.bench import Bench

from bayplan.framework import Code, Hint, Status
from bayplan.model import DeviceClass, DeviceClassSpec, Node, ObjectMeta, Pod
from bayplan.plugins.resources.node_resources_fit import NodeResourcesFit
from bayplan.testing import make_node, make_pod

GPU = "example.com/gpu"


def strategy(kind: str, *resources: tuple[str, int], **more: Any) -> dict[str, Any]:
    listed = [{"name": name, "weight": weight} for name, weight in resources]
    return {"scoringStrategy": {"type": kind, "resources": listed, **more}}


def shaped(*points: tuple[int, int], resources: tuple[tuple[str, int], ...] = (("cpu", 1),)) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return strategy("RequestedToCapacityRatio", *resources, requestedToCapacityRatio={"shape": shape})


def device_class(name: str, resource: str | None = None) -> DeviceClass:
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(extended_resource_name=resource))


# --- Filter ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requests", "reasons", "code"),
    [
        pytest.param({}, (), None, id="requests nothing"),
        pytest.param({"cpu": "1", "memory": "1Gi"}, (), None, id="exactly what is left"),
        pytest.param({"cpu": "1001m"}, ("Insufficient cpu",), Code.UNSCHEDULABLE, id="a milli too much"),
        pytest.param(
            {"cpu": "5"}, ("Insufficient cpu",), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, id="more than the node has"
        ),
        pytest.param(
            {GPU: "1", "ephemeral-storage": "2Gi", "memory": "2Gi", "cpu": "2"},
            ("Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage", f"Insufficient {GPU}"),
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            id="all at once, one of them for good",
        ),
        pytest.param({GPU: "0", "cpu": "0"}, (), None, id="zeros are no requests"),
        pytest.param(
            {"hugepages-2Mi": "4Mi"},
            ("Insufficient hugepages-2Mi",),
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            id="huge pages",
        ),
        pytest.param({"unknown": "7"}, (), None, id="a name that nobody counts"),
    ],
)
def test_filter(requests: dict[str, str], reasons: tuple[str, ...], code: Code | None) -> None:
    """A 4-core node with 3 cores, 3 GiB and all storage in use; what exceeds the node itself is unresolvable."""
    node = make_node("a", cpu="4", memory="4Gi", resources={"ephemeral-storage": "4Gi"})
    taken = make_pod("t", cpu="3", memory="3Gi", requests={"ephemeral-storage": "4Gi"}, node_name="a")
    bench = Bench([node], [taken])
    rejected = bench.rejections(bench.plugin(NodeResourcesFit), make_pod("p", requests=requests))
    assert rejected == ({} if code is None else {"a": Status(code, reasons)})


def test_number_of_pods() -> None:
    """Every pod takes one of the node's pods, whatever it requests; it is the first reason given."""
    bench = Bench([make_node("a", pods=1, cpu="1")], [make_pod("t", cpu="1", node_name="a")])
    plugin = bench.plugin(NodeResourcesFit)
    assert bench.rejections(plugin, make_pod("p")) == {"a": Status.unschedulable("Too many pods")}
    both = Status.unschedulable("Too many pods", "Insufficient cpu")
    assert bench.rejections(plugin, make_pod("p", cpu="1")) == {"a": both}


def test_node_without_allocatable() -> None:
    """Offers nothing, not even room for a pod."""
    bench = Bench([make_node("a", status={"allocatable": {}})])
    rejected = bench.rejections(bench.plugin(NodeResourcesFit), make_pod("p", cpu="1"))
    assert rejected == {"a": Status.unresolvable("Too many pods", "Insufficient cpu")}


def test_overcommitted_node_takes_what_needs_nothing_of_it() -> None:
    """More than all cpu in use: no cpu for anyone, but a pod without a request for cpu fits."""
    bench = Bench([make_node("a", cpu="1")], [make_pod("t", cpu="2", node_name="a")])
    plugin = bench.plugin(NodeResourcesFit)
    assert bench.rejections(plugin, make_pod("p", memory="1Gi")) == {}
    assert bench.rejections(plugin, make_pod("p", cpu="1m")) == {"a": Status.unschedulable("Insufficient cpu")}


def test_init_containers_and_overhead_count() -> None:
    """The most that is needed at any time, plus overhead."""
    init = [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]
    bench = Bench([make_node("a", cpu="3500m")])
    plugin = bench.plugin(NodeResourcesFit)
    assert bench.rejections(plugin, make_pod("p", cpu="1", spec={"initContainers": init})) == {}
    heavy = make_pod("p", cpu="1", spec={"initContainers": init, "overhead": {"cpu": "1"}})
    assert bench.rejections(plugin, heavy) == {"a": Status.unresolvable("Insufficient cpu")}


def test_negative_request_is_no_request() -> None:
    """The API server refuses one; where it gets through all the same, it counts as 0."""
    bench = Bench([make_node("a", cpu="1")], [make_pod("t", cpu="1", node_name="a")])
    assert bench.rejections(bench.plugin(NodeResourcesFit), make_pod("p", requests={"cpu": "-1"})) == {}


@pytest.mark.parametrize(
    ("args", "fits"),
    [
        pytest.param({}, False, id="nothing ignored"),
        pytest.param({"ignoredResources": [GPU]}, True, id="the resource"),
        pytest.param({"ignoredResources": ["example.com/other"]}, False, id="another resource"),
        pytest.param({"ignoredResourceGroups": ["example.com"]}, True, id="its group"),
        pytest.param({"ignoredResourceGroups": ["example.org"]}, False, id="another group"),
    ],
)
def test_ignored_resources(args: dict[str, Any], fits: bool) -> None:
    """Extended resources that somebody else manages, by name or by the part before the slash."""
    bench = Bench([make_node("a")])
    rejected = bench.rejections(bench.plugin(NodeResourcesFit, args), make_pod("p", requests={GPU: "1"}))
    assert rejected == ({} if fits else {"a": Status.unresolvable(f"Insufficient {GPU}")})


def test_native_resources_cannot_be_ignored() -> None:
    bench = Bench([make_node("a", cpu="1")])
    plugin = bench.plugin(NodeResourcesFit, {"ignoredResources": ["cpu", "hugepages-2Mi"]})
    pod = make_pod("p", requests={"cpu": "2", "hugepages-2Mi": "2Mi"})
    assert bench.rejections(plugin, pod) == {
        "a": Status.unresolvable("Insufficient cpu", "Insufficient hugepages-2Mi")
    }


def test_device_class_stands_in_for_a_resource() -> None:
    """Nodes without the resource are left to DynamicResources; nodes with some of it are judged as ever."""
    nodes = [make_node("without"), make_node("few", resources={GPU: "1"}), make_node("many", resources={GPU: "4"})]
    bench = Bench(nodes)
    plugin, pod = bench.plugin(NodeResourcesFit), make_pod("p", requests={GPU: "2"})
    few = Status.unresolvable(f"Insufficient {GPU}")
    before = plugin.sign(pod)
    assert bench.rejections(plugin, pod) == {"without": few, "few": few}
    bench.objects.set(device_class("gpus", GPU))
    assert bench.rejections(plugin, pod) == {"few": few}
    assert plugin.sign(pod) != before


# --- Score -------------------------------------------------------------------------------------------------


def test_least_allocated_is_the_default() -> None:
    """cpu (4−1−1)/4 = 50, memory (8−2−2)/8 = 50 on the busy node; 75 and 75 on the empty one."""
    nodes = [make_node("empty", memory="8Gi"), make_node("busy", memory="8Gi")]
    bench = Bench(nodes, [make_pod("t", cpu="1", memory="2Gi", node_name="busy")])
    scores = bench.scores(bench.plugin(NodeResourcesFit), make_pod("p", cpu="1", memory="2Gi"))
    assert scores == {"empty": 75, "busy": 50}


def test_pods_without_requests_count_a_little() -> None:
    """100m and 200 MiB for each container, of the pod and of those on the node: 1 − 200m/1 and 1 − 400/1000."""
    bench = Bench([make_node("a", cpu="1", memory="1000Mi")], [make_pod("t", node_name="a")])
    assert bench.scores(bench.plugin(NodeResourcesFit), make_pod("p")) == {"a": (80 + 60) // 2}


def test_weights_and_cut() -> None:
    """Each share is cut, then the weighted mean: (3·33 + 1·50)/4 = 37."""
    bench = Bench([make_node("a", cpu="3", memory="4Gi")])
    args = strategy("MostAllocated", ("cpu", 3), ("memory", 1))
    assert bench.scores(bench.plugin(NodeResourcesFit, args), make_pod("p", cpu="1", memory="2Gi")) == {"a": 37}


@pytest.mark.parametrize(("kind", "score"), [("LeastAllocated", 0), ("MostAllocated", 100)])
def test_overcommitted_is_full(kind: str, score: int) -> None:
    bench = Bench([make_node("a", cpu="1")], [make_pod("t", cpu="3", node_name="a")])
    plugin = bench.plugin(NodeResourcesFit, strategy(kind, ("cpu", 1)))
    assert bench.scores(plugin, make_pod("p")) == {"a": score}


def test_resources_that_do_not_count() -> None:
    """What a node does not offer, and scalar resources the pod does not request, leave the mean to the others."""
    nodes = [make_node("plain"), make_node("gpus", resources={GPU: "4"})]
    bench = Bench(nodes)
    args = strategy("MostAllocated", ("cpu", 1), (GPU, 1), ("pods", 1), ("unknown", 1))
    plugin = bench.plugin(NodeResourcesFit, args)
    assert bench.scores(plugin, make_pod("p", cpu="1")) == {"plain": 25, "gpus": 25}
    with_gpu = make_pod("p", cpu="1", requests={GPU: "3"})
    assert bench.scores(plugin, with_gpu) == {"plain": 25, "gpus": (25 + 75) // 2}


def test_node_that_offers_nothing_scores_nothing() -> None:
    bench = Bench([make_node("a", status={"allocatable": {"pods": "1"}}), make_node("b")])
    for kind in ("LeastAllocated", "MostAllocated"):
        scores = bench.scores(bench.plugin(NodeResourcesFit, strategy(kind, ("cpu", 1))), make_pod("p", cpu="1"))
        assert scores is not None
        assert scores["a"] == 0


@pytest.mark.parametrize(
    ("points", "cpu", "score"),
    [
        pytest.param([(0, 0), (100, 10)], "1", 25, id="rising line"),
        pytest.param([(0, 10), (100, 0)], "1", 75, id="falling line"),
        pytest.param([(30, 4), (60, 8)], "1", 40, id="level before the first point"),
        pytest.param([(30, 4), (60, 8)], "3", 80, id="level behind the last point"),
        pytest.param([(0, 10), (30, 3)], "1", 100 - 70 * 25 // 30, id="falls by a fraction, cut towards zero"),
        pytest.param([(0, 0), (40, 8), (100, 3)], "3", 80 - 50 * 35 // 60, id="a broken line"),
        pytest.param([(0, 0), (50, 5), (100, 10)], "9", 100, id="more than the node has"),
    ],
)
def test_requested_to_capacity_ratio(points: list[tuple[int, int]], cpu: str, score: int) -> None:
    """The configured line at 100·requested/capacity, scores of 0–10 stretched to 0–100; a node of 4 cores."""
    bench = Bench([make_node("a", cpu="4")])
    scores = bench.scores(bench.plugin(NodeResourcesFit, shaped(*points)), make_pod("p", cpu=cpu))
    assert scores == {"a": score}


def test_ratio_leaves_out_zeros_and_rounds() -> None:
    """cpu 25 and memory 50 → 37.5 → 38; a resource that scores 0 does not weigh the mean down."""
    bench = Bench([make_node("a", cpu="4", memory="4Gi", resources={"ephemeral-storage": "4Gi"})])
    resources = (("cpu", 1), ("memory", 1), ("ephemeral-storage", 5))
    plugin = bench.plugin(NodeResourcesFit, shaped((0, 0), (100, 10), resources=resources))
    assert bench.scores(plugin, make_pod("p", cpu="1", memory="2Gi")) == {"a": 38}


def test_requests_of_the_pod_as_a_whole_do_not_score() -> None:
    """Known of kube-scheduler 1.36: Fit's scorer counts containers only, here one without requests: 100m."""
    bench = Bench([make_node("a", cpu="1")])
    plugin = bench.plugin(NodeResourcesFit, strategy("MostAllocated", ("cpu", 1)))
    whole = make_pod("p", spec={"resources": {"requests": {"cpu": "500m"}}})
    assert bench.scores(plugin, whole) == {"a": 10}


amounts = st.integers(0, 8)


@given(
    st.lists(st.tuples(amounts, amounts, amounts, st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=6),
    st.tuples(amounts, amounts, amounts),
    st.sampled_from(["LeastAllocated", "MostAllocated"]),
    st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5)),
)
def test_columns_agree_with_the_rule_per_node(
    nodes: list[tuple[int, int, int, int, int]],
    wanted: tuple[int, int, int],
    kind: str,
    weights: tuple[int, int, int],
) -> None:
    """Every node alone, by the documented formulas; cpu in cores, memory in GiB, GPUs."""

    def node(i: int, cpu: int, memory: int, gpus: int) -> Node:
        return make_node(f"n{i}", cpu=str(cpu), memory=f"{memory}Gi", resources={GPU: str(gpus)} if gpus else {})

    def pod(name: str, cpu: int, memory: int, gpus: int, node_name: str = "") -> Pod:
        requests = {"cpu": str(cpu), "memory": f"{memory}Gi", **({GPU: str(gpus)} if gpus else {})}
        return make_pod(name, requests=requests, node_name=node_name)

    bench = Bench(
        [node(i, *each[:3]) for i, each in enumerate(nodes)],
        [pod(f"t{i}", *each[3:], 0, f"n{i}") for i, each in enumerate(nodes)],
    )
    plugin = bench.plugin(NodeResourcesFit, strategy(kind, *zip(("cpu", "memory", GPU), weights, strict=True)))

    def score(offered: tuple[int, ...], used: tuple[int, ...]) -> int:
        shares, total = 0, 0
        for i, (has, taken) in enumerate(zip(offered, used, strict=True)):
            if not has or (i == 2 and not wanted[2]):
                continue
            requested = taken + wanted[i]
            full = min(requested, has) * 100 // has
            free = max(has - requested, 0) * 100 // has
            shares += weights[i] * (full if kind == "MostAllocated" else free)
            total += weights[i]
        return shares // total if total else 0

    used = [(*each[3:], 0) for each in nodes]
    assert bench.scores(plugin, pod("p", *wanted)) == {
        f"n{i}": score(each[:3], used[i]) for i, each in enumerate(nodes)
    }
    short = {
        f"n{i}"
        for i, each in enumerate(nodes)
        if any(w and w > has - taken for w, has, taken in zip(wanted, each[:3], used[i], strict=True))
    }
    assert set(bench.rejections(plugin, pod("p", *wanted))) == short


@given(st.integers(0, 10), st.integers(1, 10), st.integers(0, 10), st.integers(0, 10))
def test_ratio_agrees_with_the_line(requested: int, capacity: int, low: int, high: int) -> None:
    """One segment from 0 to 100 percent: low + (high − low)·percent/100, the fraction cut towards zero."""
    bench = Bench([make_node("a", cpu=str(capacity))])
    plugin = bench.plugin(NodeResourcesFit, shaped((0, low), (100, high)))
    percent = min(requested, capacity) * 100 // capacity
    expected = 10 * low + math.trunc(10 * (high - low) * percent / 100)
    assert bench.scores(plugin, make_pod("p", requests={"cpu": str(requested)})) == {"a": expected}


# --- hints -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, {"cpu": "2"}, Hint.QUEUE, id="big node added"),
        pytest.param(None, {"cpu": "1"}, Hint.SKIP, id="small node added"),
        pytest.param(None, {"cpu": "2", "pods": 0}, Hint.SKIP, id="node without room for pods added"),
        pytest.param({"cpu": "2"}, {"cpu": "3"}, Hint.QUEUE, id="more of what the pod needs"),
        pytest.param({"cpu": "1"}, {"cpu": "1500m"}, Hint.SKIP, id="more, but not enough"),
        pytest.param({"cpu": "3"}, {"cpu": "2"}, Hint.SKIP, id="less"),
        pytest.param({"cpu": "3"}, {"cpu": "3", "memory": "64Gi"}, Hint.SKIP, id="more of something else"),
        pytest.param({"cpu": "3"}, {"cpu": "3", "pods": 111}, Hint.QUEUE, id="room for more pods"),
    ],
)
def test_hint_for_nodes(old: dict[str, Any] | None, new: dict[str, Any], hint: Hint) -> None:
    """A node helps that would fit the pod if it were empty, and offers more than before."""
    _, on_node, _ = Bench().plugin(NodeResourcesFit).events_to_register()
    assert on_node.hint is not None
    before = None if old is None else make_node("a", **old)
    assert on_node.hint(make_pod("p", cpu="2"), before, make_node("a", **new)) is hint


def test_hint_for_pods() -> None:
    """A pod helps that goes from a node, or that takes less of what the waiting one needs."""
    on_pod, _, _ = Bench().plugin(NodeResourcesFit).events_to_register()
    hint = on_pod.hint
    assert hint is not None
    waiting = make_pod("p", cpu="1")
    placed = make_pod("t", cpu="2", memory="2Gi", node_name="a")
    assert hint(waiting, placed, None) is Hint.QUEUE
    assert hint(waiting, make_pod("t", status={"nominatedNodeName": "a"}), None) is Hint.QUEUE
    assert hint(waiting, make_pod("t"), None) is Hint.SKIP
    assert hint(waiting, placed, make_pod("t", cpu="1", memory="2Gi", node_name="a")) is Hint.QUEUE
    assert hint(waiting, placed, make_pod("t", cpu="2", memory="1Gi", node_name="a")) is Hint.SKIP
    assert hint(waiting, make_pod("t", cpu="2"), make_pod("t", cpu="1")) is Hint.SKIP
    assert hint(waiting, waiting, waiting) is Hint.QUEUE


def test_hint_for_device_classes() -> None:
    """A class helps that comes to stand behind a resource of the pod, by the name it gives or by its own."""
    *_, on_class = Bench().plugin(NodeResourcesFit).events_to_register()
    hint, pod = on_class.hint, make_pod("p", requests={GPU: "1"})
    assert hint is not None
    assert hint(pod, None, device_class("gpus", GPU)) is Hint.QUEUE
    assert hint(pod, None, device_class("gpus")) is Hint.SKIP
    assert hint(pod, device_class("gpus"), device_class("gpus", GPU)) is Hint.QUEUE
    assert hint(pod, device_class("gpus", GPU), device_class("gpus", GPU)) is Hint.SKIP
    assert hint(pod, device_class("gpus", GPU), device_class("gpus")) is Hint.SKIP
    implicit = make_pod("p", requests={"deviceclass.resource.kubernetes.io/gpus": "1"})
    assert hint(implicit, None, device_class("gpus")) is Hint.QUEUE
