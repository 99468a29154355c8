"""The plugins by hand-made cases, and the published table where the traces are."""

import csv
import sys
from pathlib import Path

import pytest

from bayplan.framework.plugin_loading import load_module
from bayplan.testing import Harness, VirtualCluster, make_node, make_pod

HERE = Path(__file__).parent
gpus = load_module(str(HERE / "gpu_sharing.py"))
COUNT, MILLI, MODEL, INDEX = gpus.COUNT, gpus.MILLI, gpus.MODEL, gpus.INDEX


@pytest.fixture
def paper(monkeypatch):
    """The program, which imports its neighbour."""
    monkeypatch.syspath_prepend(str(HERE))
    yield load_module(str(HERE / "paper.py"))
    sys.modules.pop("go_random", None)


def node(name, count=2, model="", **more):
    labels = {MODEL: model} if model else {}
    return make_node(name, cpu="64", resources={COUNT: str(count)}, labels=labels, **more)


def gpu_pod(name, milli=1000, count=1, models="", **more):
    annotations = {COUNT: str(count), MILLI: str(milli)} | ({MODEL: models} if models else {})
    return make_pod(name, cpu="1", metadata={"annotations": annotations}, **more)


def configured(policy):
    return (HERE / "scheduler.yaml").read_text().replace("name: FGD", f"name: {policy}")


def cluster(nodes, policy):
    plugins = [gpus.GpuShare, getattr(gpus, {"Random": "RandomNode"}.get(policy, policy))]
    return VirtualCluster(nodes, plugins=plugins, configuration=configured(policy))


def placed(nodes, policy, *pods):
    """(node, devices) of each pod, one after another."""
    with cluster(nodes, policy) as running:
        seen = [running.schedule(pod) for pod in pods]
        return [(pod.node_name, pod.annotations.get(INDEX)) for pod in seen]


def test_shares_go_together_and_whole_gpus_stay_whole():
    pods = [gpu_pod("a", 500), gpu_pod("b", 300), gpu_pod("c"), gpu_pod("d", 300)]

    assert placed([node("n", 3)], "BestFit", *pods) == [("n", "0"), ("n", "0"), ("n", "1"), ("n", "2")]


@pytest.mark.parametrize("policy", ["Random", "FGD"])
def test_the_policy_and_the_plugin_know_the_same_devices(policy):
    """So that the policy chooses the device, too."""
    with cluster([node("n")], policy) as running:
        plugins = running.cluster.scheduler.core.profiles["default-scheduler"].plugins.plugins
        assert plugins["GpuShare"].devices is plugins[policy].devices
        assert plugins["GpuShare"].devices.choose_shared == plugins[policy]._choose


def test_several_gpus_are_whole_ones():
    assert placed([node("n", 4)], "BestFit", gpu_pod("a", 100), gpu_pod("b", count=3)) == [
        ("n", "0"),
        ("n", "1-2-3"),
    ]


def test_models():
    harness = Harness(
        plugins=[gpus.GpuShare], nodes=[node("a", model="T4"), node("b", model="P100"), node("c", 0)]
    )

    assert harness.decide(gpu_pod("p", models="V100|P100")).node_name == "b"
    assert harness.decide(gpu_pod("p", models="V100")).message.startswith(
        "0/3 nodes are available: 1 node(s) had not enough free GPUs, 2 node(s) had another GPU model."
    )


@pytest.mark.parametrize(("count", "milli"), [("2", "500"), ("1", "1001"), ("1", "0"), ("one", "5")])
def test_senseless_annotations_are_refused(count, milli):
    pod = make_pod("p", metadata={"annotations": {COUNT: count, MILLI: milli}})

    message = Harness(plugins=[gpus.GpuShare], nodes=[node("a")]).decide(pod).message

    assert "annotations about GPUs cannot be understood" in message


def test_devices_are_free_again_when_a_pod_is_gone():
    with cluster([node("n", 1)], "FGD") as running:
        running.schedule(gpu_pod("a"))
        assert running.schedule(gpu_pod("b")).node_name == ""
        running.run(running.cluster.client.request("DELETE", "/api/v1/namespaces/default/pods/a"))
        running.wait(60)
        assert running.pod("b").annotations[INDEX] == "0"


def test_annotations_of_pods_that_are_there_count():
    """As after a restart."""
    there = make_pod("there", node_name="n", metadata={"annotations": {COUNT: "1", MILLI: "1000", INDEX: "0"}})
    harness = Harness(plugins=[gpus.GpuShare], nodes=[node("n", 2)], pods=[there])

    assert harness.decide(gpu_pod("p", count=2)).node_name == ""
    assert harness.decide(gpu_pod("p")).node_name == "n"


def test_devices_stay_taken_when_the_file_is_loaded_again():
    harness = Harness(plugins=[gpus.GpuShare], nodes=[node("n", 1)])
    handle = harness.profile().handle
    old, new = gpus.devices_of(handle), gpus.Devices(handle)
    old.take("uid", "n", [0], gpus.GpuRequest(1, 600, ()))
    nodes = harness.core.cache.snapshot().nodes

    new.take_over(old)
    assert new.free(nodes).tolist() == [[400]]
    old.release("uid")
    assert new.free(nodes).tolist() == [[1000]]


#: a: both GPUs free; b: half of one taken; c: one taken whole.
BUSY = (gpu_pod("x", 500, spec={"nodeName": "b"}), gpu_pod("y", spec={"nodeName": "c"}))
INDEXED = [
    make_pod(pod.name, cpu="1", node_name=pod.node_name, metadata={"annotations": {**pod.annotations, INDEX: "0"}})
    for pod in BUSY
]


@pytest.mark.parametrize(
    ("policy", "pod", "scores"),
    [
        # Of CPUs 64 or 63 of 128, of GPUs 2, 1.5 or 1 of 8; the pod asks for 1/128 and 0.5/8.
        ("DotProd", gpu_pod("p", 500), [99, 99, 99]),
        # 25 · (8 − free) / 8 on top of 25 for an empty node, 75 for one with pods of the kind, 0 for others.
        ("GpuClustering", gpu_pod("p", 500), [43, 95, 21]),
        # An empty node: 33 − 2. The half that is left: 100 − 5. A free GPU of a node in use: 50 − 1.
        ("GpuPacking", gpu_pod("p", 500), [31, 95, 49]),
        ("GpuPacking", gpu_pod("p"), [31, 49, 49]),
        # 100 · (1 − (63/128 + 1.5/8) / 2), and so on.
        ("BestFit", gpu_pod("p", 500), [66, 69, 72]),
    ],
)
def test_scores_by_hand(policy, pod, scores):
    plugins = [gpus.GpuShare, getattr(gpus, policy)]
    harness = Harness(
        plugins=plugins,
        configuration=configured(policy),
        nodes=[node("a"), node("b"), node("c")],
        pods=INDEXED,
    )

    assert harness.decide(pod).scores.by_plugin[policy].raw.tolist() == scores


def test_fgd_keeps_a_gpu_whole():
    """For a typical pod of one whole GPU, sharing the second device of a node costs half a GPU more."""
    args = "{typicalPods: [{cpuMilli: 1000, gpuCount: 1, gpuMilli: 1000, weight: 1}]}"
    text = configured("FGD") + f"  pluginConfig:\n  - name: FGD\n    args: {args}\n"
    harness = Harness(
        plugins=[gpus.GpuShare, gpus.FGD], configuration=text, nodes=[node("a"), node("b")], pods=INDEXED
    )

    # a: 500 of 1000 become useless: 100 · sigmoid(−0.5) = 37. b: 500 useless ones are used: sigmoid(0.5) → 62.
    assert harness.decide(gpu_pod("p", 500)).scores.by_plugin["FGD"].raw.tolist() == [37, 62]


def test_go_random(paper):
    """What a Go program prints with rand.New(rand.NewSource(42))."""
    random = paper.GoRandom(42)
    items = list(range(10))

    assert (random.int63(), random.intn(8152), random.intn(1000), random.intn(1024)) == (
        3440579354231278675,
        4315,
        668,
        574,
    )
    random.shuffle(items)
    assert items == [1, 4, 9, 5, 8, 7, 2, 6, 3, 0]
    assert random.permutation(12) == [3, 4, 7, 2, 11, 6, 8, 1, 5, 0, 10, 9]


def test_the_program_writes_the_table(paper, tmp_path, capsys):
    files = ["--nodes", str(HERE / "nodes.csv"), "--pods", str(HERE / "pods.csv")]
    paper.main([*files, "--policies", "BestFit", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path / "t.csv")])

    with (tmp_path / "t.csv").open() as text:
        rows = list(csv.DictReader(text))
    assert list(rows[0]) == ["trace", "policy", "seed", "arrived_percent", "gpu_allocation_percent"]
    assert [row["arrived_percent"] for row in rows] == [str(percent) for percent in range(70, 131, 10)]
    assert "BestFit" in capsys.readouterr().out


def test_ours_is_the_published_allocation(paper):
    """One seed of one trace: up to 90 % nothing is refused, after that our policies are within half a point."""
    if not (paper.TRACES / paper.NODES).is_file():
        pytest.skip(f"the traces are not in {paper.TRACES}; README.md tells where to get them")
    published = {
        row[3]: row[4]
        for row in paper.published_rows(paper.TRACES / paper.PUBLISHED)
        if row[:3] == ("default", "BestFit", 42)
    }
    pods = paper.TRACES / "openb_pod_list_default.csv.gz"

    ours = dict(paper.run_once(paper.TRACES / paper.NODES, pods, "BestFit", 42, "name"))

    assert {percent: ours[percent] for percent in (70, 80, 90)} == {
        percent: published[percent] for percent in (70, 80, 90)
    }
    assert ours == pytest.approx(published, abs=0.5)
