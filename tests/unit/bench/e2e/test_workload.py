"""Workloads: the files, and what is made of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from bench.e2e import aims, workload
from bench.e2e.judge import with_uid
from bench.e2e.workload import LABEL, Workload

from bayplan.model import Node, Pod, ResourceClaim
from bayplan.testing import Harness

ROOT = Path(workload.__file__).parents[2]
ALL = [workload.load(name) for name in workload.names()]


def test_every_aim_has_its_workload() -> None:
    """What is to be shown can be measured."""
    assert {name for row in aims.ROWS for name in row.workloads} | {"memory", "plugin"} <= set(workload.names())


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.name)
def test_pods_are_kubernetes_pods(each: Workload) -> None:
    """Names are unique and sort as they are numbered, and the scheduler is the default one."""
    pods = [Pod.from_dict(each.make_pod(i)) for i in range(min(each.pods, 300))]

    names = [pod.name for pod in pods]
    assert names == sorted(set(names))
    assert {pod.spec.scheduler_name for pod in pods} == {"default-scheduler"}


@pytest.mark.parametrize("each", [each for each in ALL if each.release], ids=lambda each: each.name)
@pytest.mark.parametrize("n_nodes", [500, 5_000])
def test_release_makes_room_for_all(each: Workload, n_nodes: int) -> None:
    """Ten pods of 3 cpu fit on a node with 32, or where 31 are given up: so many nodes must be let go."""
    assert each.release is not None
    n_open = max(min(each.release.delete, n_nodes), min(each.release.label, n_nodes), each.release.add)

    assert n_open * 10 >= each.pods


@pytest.mark.parametrize("name", ["events-delete", "events-labels", "events-nodes", "preemption", "unschedulable"])
def test_pods_that_are_to_wait_fit_nowhere(name: str) -> None:
    """Before the release, or without preemption, no node takes them; after it, one does."""
    each = workload.load(name)
    nodes = [Node.from_dict(with_uid(each.node(i))) for i in range(3)]
    placed = [Pod.from_dict(with_uid(each.placed_pod(i, 3))) for i in range(each.n_placed(3))]
    waiting = each.churn_pod(0) if each.churn else each.make_pod(0)

    decision = Harness(nodes=nodes, pods=placed).decide(Pod.from_dict(with_uid(waiting)))

    assert decision.node_name == ""


def test_new_node_has_what_pods_wait_for() -> None:
    """A pod of events-nodes goes to the node that the release adds."""
    each = workload.load("events-nodes")
    nodes = [Node.from_dict(with_uid(node)) for node in (each.node(0), each.new_node(0))]

    decision = Harness(nodes=nodes).decide(Pod.from_dict(with_uid(each.make_pod(0))))

    assert decision.node_name == "new-00000"


def test_plugin_is_there() -> None:
    """The plugin of a workload can be loaded, and every node of the cluster passes it."""
    each = workload.load("plugin")
    harness = Harness(nodes=[Node.from_dict(each.node(0))], plugins=[str(ROOT / each.plugin)])

    assert harness.decide(Pod.from_dict(each.make_pod(0))).node_name == "node-00000"


def test_numbers_vary_from_pod_to_pod() -> None:
    """`mixed` has the requests and the apps of the common yardstick."""
    pod = workload.load("mixed").make_pod(203)

    assert pod["metadata"]["labels"] == {"app": "app-3"}
    # 203 % 37 = 18 and 203 % 53 = 44
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "230m", "memory": "540Mi"}


def test_unknown_workload_names_the_known_ones() -> None:
    with pytest.raises(SystemExit, match=r"no workload 'basics'; there are: .*basic"):
        workload.load("basics")


def test_unknown_field_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and the field are named."""
    monkeypatch.setattr(workload, "WORKLOADS", tmp_path)
    (tmp_path / "mine.yaml").write_text("description: x\npods: 1\nplacd: {}\n")

    with pytest.raises(SystemExit, match=r"mine\.yaml: .*placd"):
        workload.load("mine")


def test_label_is_nobodys_before() -> None:
    """Only a release gives it."""
    each = workload.load("events-labels")

    assert LABEL not in each.node(0)["metadata"]["labels"]
    assert LABEL in each.new_node(0)["metadata"]["labels"]


@pytest.mark.parametrize("each", [each for each in ALL if each.devices], ids=lambda each: each.name)
def test_devices_are_there_for_the_claims(each: Workload) -> None:
    """Slices, class and template are objects of the API; some of the devices may be taken beforehand."""
    objects = each.all_objects(10)
    kinds = Counter(body["kind"] for body in objects)
    (template,) = [body for body in objects if body["kind"] == "ResourceClaimTemplate"]
    claim = ResourceClaim.from_dict({"metadata": {"name": "c"}, "spec": template["spec"]["spec"]})
    (of_pod,) = each.make_pod(0)["spec"]["resourceClaims"]

    assert kinds["DeviceClass"] == 1
    assert kinds["ResourceSlice"] in (10, 20)
    assert of_pod["resourceClaimTemplateName"] == template["metadata"]["name"]
    assert len(claim.spec.devices.requests) == 1
    taken = [ResourceClaim.from_dict(body) for body in each.taken_claims(10)]
    assert len(taken) == round(10 * each.taken)
    assert all(len(body.status.allocation.devices.results) == 8 for body in taken if body.status.allocation)
