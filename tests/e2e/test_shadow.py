"""`bayplan shadow` beside a stock kube-scheduler: what both decide, pod by pod."""

from __future__ import annotations

import os
import random
import urllib.request
from collections.abc import Sequence

import pytest
from tests.e2e.api import Object, eventually
from tests.e2e.bayplan import PROGRAM
from tests.e2e.control_plane import ControlPlane, free_port
from tests.e2e.objects import create_priority_classes, node, pod, priority_class
from tests.e2e.processes import Process

from bayplan.shadow.shadow_record import ShadowRecord, SummaryBuilder, read_records

pytestmark = pytest.mark.e2e

#: 1,000 nodes by hand take some minutes. More than 100 are needed for a sample of nodes.
N_NODES = int(os.environ.get("BAYPLAN_SHADOW_NODES", "130"))
N_PODS = int(os.environ.get("BAYPLAN_SHADOW_PODS", "150"))
SEED = int(os.environ.get("BAYPLAN_SHADOW_SEED", "1"))
ZONE = "topology.kubernetes.io/zone"
PRIORITIES = ("low", "high")  # the longer name is the higher one


def _nodes(chance: random.Random, count: int) -> list[Object]:
    """Nodes of many sizes, so that few of them are equally good."""
    found = []
    for number in range(count):
        labels = {ZONE: chance.choice("abc"), "disk": chance.choice(["ssd", "hdd"])}
        taints = [{"key": "slow", "effect": "PreferNoSchedule"}] if chance.random() < 0.2 else []
        cpu, memory = f"{chance.randint(4000, 16000)}m", f"{chance.randint(8000, 32000)}Mi"
        found.append(node(f"n{number}", cpu=cpu, memory=memory, labels=labels, taints=taints))
    return found


def _pods(chance: random.Random, count: int, priorities: Sequence[str]) -> list[Object]:
    pods = [_pod(chance, f"p{number}") for number in range(count)]
    for each in pods:
        if priorities and chance.random() < 0.3:
            each["spec"]["priorityClassName"] = chance.choice(priorities)
    return pods


def _pod(chance: random.Random, name: str) -> Object:
    labels = {"app": chance.choice(["web", "db", "job"])}
    made = pod(name, cpu=f"{chance.randint(50, 2500)}m", memory=f"{chance.randint(64, 4000)}Mi", labels=labels)
    spec: Object = made["spec"]
    affinity: Object = {}
    if chance.random() < 0.2:
        spec["nodeSelector"] = {"disk": "ssd"}
    if chance.random() < 0.3:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [chance.choice("abc")]}]}
        affinity["nodeAffinity"] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 40, "preference": term}]
        }
    if chance.random() < 0.2:
        away = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
        affinity["podAntiAffinity"] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 60, "podAffinityTerm": away}]
        }
    if chance.random() < 0.2:
        spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
        spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": labels}}]
    if affinity:
        spec["affinity"] = affinity
    return made


class Shadow:
    """`bayplan shadow` as a process, and the records that it wrote."""

    def __init__(self, plane: ControlPlane, config: Object | None, arguments: Sequence[str]) -> None:
        self.out = plane.folder / "shadow.jsonl"
        file = plane.scheduler_configuration(config, name="shadow")
        self.metrics_port = free_port()
        self.process: Process = plane.start(
            "bayplan-shadow",
            [
                *(PROGRAM, "shadow", f"--kubeconfig={plane.kubeconfig}", f"--config={file}", f"--out={self.out}"),
                *(f"--metrics-port={self.metrics_port}", "-v", "2", *arguments),
            ],
        )
        self.process.wait_until(
            lambda: "The cluster is read" in self.process.log.read_text(errors="replace"), timeout=90
        )

    def records(self) -> list[ShadowRecord]:
        with self.out.open("rb") as lines:
            return list(read_records(lines, str(self.out)))

    def metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30) as answer:
            text: str = answer.read().decode()
            return text


def _play(
    plane: ControlPlane,
    config: Object,
    *,
    gates: Sequence[str] = (),
    arguments: Sequence[str] = (),
    priorities: Sequence[str] = (),
) -> Shadow:
    """Pods in a burst, placed by a stock kube-scheduler, with a shadow beside it."""
    chance = random.Random(SEED)  # noqa: S311  a cluster, not a secret
    plane.api.create_many(_nodes(chance, N_NODES))
    plane.start_scheduler(config, arguments=gates)
    create_priority_classes(plane.api, [priority_class(name, 100 * len(name)) for name in priorities])
    shadow = Shadow(plane, config, arguments)
    plane.api.create_many(_pods(chance, N_PODS, priorities))
    eventually(lambda: len(shadow.records()) >= N_PODS, timeout=300)
    return shadow


@pytest.mark.timeout(900)
def test_both_decide_alike_without_sampling(control_plane: ControlPlane) -> None:
    """Parallelism 1, every node, no batching: nothing but ties is left to chance. Pods of one priority are decided
    in the order in which they were created, whichever bind is seen first."""
    shadow = _play(
        control_plane,
        {"parallelism": 1, "percentageOfNodesToScore": 100},
        gates=["--feature-gates=OpportunisticBatching=false"],
        arguments=["--no-batching"],
    )

    metrics = shadow.metrics()
    assert shadow.process.stop() == 0
    records = shadow.records()
    _report(records)
    assert len(records) == N_PODS
    assert [each for each in records if each.class_ not in ("same", "tie")] == []
    assert sum(each.class_ == "same" for each in records) > N_PODS / 4
    placed = {each["metadata"]["name"]: each["spec"]["nodeName"] for each in control_plane.api.list("Pod")}
    assert {each.pod.name: each.node for each in records} == placed
    assert 'bayplan_shadow_agreement_ratio{config="shadow.yaml"} 1.0' in metrics
    assert "100.0% agreement" in shadow.process.log.read_text()


@pytest.mark.timeout(900)
def test_no_disagreement_is_unexplained_at_the_defaults(control_plane: ControlPlane) -> None:
    """kube-scheduler looks at a sample of the nodes: the best node may not be in it. Of pods of several priorities
    it is not certain which was decided first."""
    shadow = _play(control_plane, {}, priorities=PRIORITIES)

    assert shadow.process.stop() == 0
    records = shadow.records()
    _report(records)
    assert [each for each in records if each.class_ == "real"] == []
    assert any(each.class_ == "sample" for each in records)


@pytest.mark.timeout(900)
def test_another_configuration_disagrees(control_plane: ControlPlane) -> None:
    """A configuration that packs, beside a scheduler that spreads: the shadow must notice."""
    chance = random.Random(SEED)  # noqa: S311
    control_plane.api.create_many(_nodes(chance, 20))
    control_plane.start_scheduler()
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    args = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    plugins = {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 1}]}}
    profile = {"schedulerName": "default-scheduler", "pluginConfig": args, "plugins": plugins}
    shadow = Shadow(control_plane, {"profiles": [profile]}, ["--pods=30"])
    control_plane.api.create_many([pod(f"p{number}", cpu="500m") for number in range(30)])

    assert shadow.process.wait(120) == 0
    records = shadow.records()
    real = [each for each in records if each.class_ == "real"]
    assert len(records) == 30
    assert len(real) > 20
    assert all("NodeResourcesFit" in each.reason for each in real)


def _report(records: Sequence[ShadowRecord]) -> None:
    summary = SummaryBuilder()
    for record in records:
        summary.add(record)
    print(summary.summary().configs)
