"""Clients of others against the embedded API server: the official Python client, kr8s, a stock kube-scheduler."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.api import Object, eventually
from tests.e2e.binaries import kubernetes_version
from tests.e2e.embedded import EmbeddedServer
from tests.e2e.objects import node, pod
from tests.e2e.processes import Process, ProcessGroup

from bayplan.conformance import read_lines

pytestmark = pytest.mark.e2e

RECORDING = Path(__file__).parents[1] / "parity" / "golden" / f"decisions-{kubernetes_version()}.jsonl.gz"
#: The recording was made without them; priorities are in the recorded pods already, as admission had written them.
NOT_RECORDED = (
    "ServiceAccount",
    "TaintNodesByCondition",
    "StorageObjectInUseProtection",
    "PodTopologyLabels",
    "Priority",
)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path) as server:
        (tmp_path / "kubeconfig").write_text(server.http.kubeconfig())
        yield server


# --- the official Python client ---------------------------------------------------------------------------


@pytest.fixture
def core(embedded: EmbeddedServer, tmp_path: Path) -> Iterator[Any]:
    """CoreV1Api of the package `kubernetes`."""
    kubernetes = importlib.import_module("kubernetes")
    client = kubernetes.config.new_client_from_config(str(tmp_path / "kubeconfig"))
    yield kubernetes.client.CoreV1Api(client)
    client.close()


def test_official_client_reads_and_writes(embedded: EmbeddedServer, core: Any) -> None:
    """Create, list, patch, bind, event, delete: objects come back as its typed models."""
    kubernetes = importlib.import_module("kubernetes").client
    embedded.api.create(node("n1"))
    core.create_namespaced_pod("default", pod("p"))
    assert [each.metadata.name for each in core.list_pod_for_all_namespaces().items] == ["p"]
    core.patch_namespaced_pod("p", "default", {"metadata": {"labels": {"a": "b"}}})
    assert core.list_namespaced_pod("default", label_selector="a=b").items[0].spec.node_name is None
    target = kubernetes.V1ObjectReference(api_version="v1", kind="Node", name="n1")
    meta = kubernetes.V1ObjectMeta(name="p")
    core.create_namespaced_binding(
        "default", kubernetes.V1Binding(metadata=meta, target=target), _preload_content=False
    )
    bound = core.read_namespaced_pod("p", "default")
    assert bound.spec.node_name == "n1"
    assert {each.type: each.status for each in bound.status.conditions}["PodScheduled"] == "True"
    with pytest.raises(kubernetes.ApiException) as refused:
        core.create_namespaced_pod("default", pod("p"))
    assert refused.value.status == 409
    core.delete_namespaced_pod("p", "default", grace_period_seconds=0)
    assert core.list_namespaced_pod("default").items == []


def test_official_client_keeps_a_lease(embedded: EmbeddedServer, core: Any) -> None:
    """An update with the resourceVersion of the last answer is taken, one with an older version is not."""
    kubernetes = importlib.import_module("kubernetes").client
    leases = kubernetes.CoordinationV1Api(core.api_client)
    spec = kubernetes.V1LeaseSpec(holder_identity="me", lease_duration_seconds=15, renew_time=datetime.now(UTC))
    made = leases.create_namespaced_lease(
        "default", kubernetes.V1Lease(metadata=kubernetes.V1ObjectMeta(name="l"), spec=spec)
    )
    version = made.metadata.resource_version
    made.spec.holder_identity = "you"
    leases.replace_namespaced_lease("l", "default", made)
    made.metadata.resource_version = version
    with pytest.raises(kubernetes.ApiException, match="the object has been modified"):
        leases.replace_namespaced_lease("l", "default", made)


def test_official_client_watches(embedded: EmbeddedServer, core: Any) -> None:
    """From the list's version on, each change once and in order."""
    watch = importlib.import_module("kubernetes").watch
    embedded.api.create(pod("before"))
    version = core.list_namespaced_pod("default").metadata.resource_version
    for name in ("a", "b"):
        embedded.api.create(pod(name))
    embedded.api.delete("Pod", "a")
    events = watch.Watch().stream(
        core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=60
    )
    seen = [(event["type"], event["object"].metadata.name) for event in itertools.islice(events, 4)]
    # A pod is marked before it goes, even without grace.
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]


# --- kr8s -------------------------------------------------------------------------------------------------


# It knows fewer versions of Kubernetes than there are, and says so.
@pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")
def test_kr8s(embedded: EmbeddedServer, tmp_path: Path) -> None:
    """Create, get by selector, patch, watch until a condition holds, delete."""
    embedded.api.create(node("n1"))
    asyncio.run(_use_kr8s(embedded, str(tmp_path / "kubeconfig")))


async def _use_kr8s(embedded: EmbeddedServer, kubeconfig: str) -> None:
    kr8s = importlib.import_module("kr8s.asyncio")
    objects = importlib.import_module("kr8s.asyncio.objects")
    api = await kr8s.api(kubeconfig=kubeconfig)
    made = await objects.Pod(pod("p", labels={"app": "web"}), api=api)
    await made.create()
    found = [each.name async for each in api.get("pods", namespace="default", label_selector="app=web")]
    assert found == ["p"]
    await made.patch({"metadata": {"annotations": {"a": "b"}}})
    assert made.annotations["a"] == "b"
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    embedded.api.patch("Pod", "p", ready, subresource="status")
    await made.wait("condition=Ready", timeout=60)
    await made.delete()
    assert [each.name async for each in api.get("nodes")] == ["n1"]


# --- a stock kube-scheduler -------------------------------------------------------------------------------


class StockScheduler:
    """A kube-scheduler on an embedded server."""

    def __init__(self, programs: dict[str, Path], folder: Path, configuration: Object) -> None:
        file = folder / "scheduler.yaml"
        connection = {
            "kubeconfig": str(folder / "kubeconfig"),
            "contentType": "application/json",
            "acceptContentTypes": "application/json",
            "qps": 1000,
            "burst": 1000,
        }
        own = {"clientConnection": connection, "leaderElection": {"leaderElect": False}}
        file.write_text(yaml.safe_dump({**configuration, **own}))
        self._group = ProcessGroup(folder)
        arguments: list[str | Path] = [programs["kube-scheduler"], f"--config={file}", "--secure-port=0", "--v=3"]
        arguments.append("--feature-gates=OpportunisticBatching=false")
        self.process: Process = self._group.start("kube-scheduler", arguments)

    def has_heard_of(self, pod_key: str) -> bool:
        """Whether it has counted a pod that came, bound already, in the place of one that was deleted."""
        log = self.process.log.read_text()
        _, deleted, since = log.rpartition(f'"Delete event for scheduled pod" pod="{pod_key}"')
        return bool(deleted) and f'"Add event for scheduled pod" pod="{pod_key}"' in since

    def close(self) -> None:
        self._group.end()


def _scenarios() -> list[Any]:
    """The recorded scenarios that need neither volumes nor victims."""
    found: list[Any] = []
    for line in read_lines(RECORDING):
        plain = not line["pvs"] and not line["pvcs"] and not any("preemption" in step for step in line["steps"])
        # A server writes these keys into the selectors, and refuses to be given the outcome.
        plain = plain and "LabelKeys" not in json.dumps([line["bound"], line["steps"]])
        # Without scores the choice among feasible nodes is free, and the recording does not tell them.
        plain = plain and '"score"' not in json.dumps(line["config"])
        if plain:
            found.append(pytest.param(line, id=f"seed {line['seed']}"))
    return found


@pytest.mark.parametrize("scenario", _scenarios())
def test_stock_scheduler_decides_as_on_a_real_server(
    scenario: Object, programs: dict[str, Path], tmp_path: Path
) -> None:
    """The recording tells what this scheduler did on a real API server; the embedded one must lead to the same."""
    with EmbeddedServer(tmp_path, disabled_admission=NOT_RECORDED) as server:
        (tmp_path / "kubeconfig").write_text(server.http.kubeconfig())
        for kind in ("namespaces", "nodes", "csinodes", "storageclasses", "services", "pdbs", "bound"):
            for obj in scenario[kind]:
                if obj["metadata"]["name"] not in ("default", "kubernetes"):
                    server.api.create(_fresh(obj))
        scheduler = StockScheduler(programs, tmp_path, scenario["config"])
        try:
            for number, step in enumerate(scenario["steps"]):
                _play(server, scheduler, step, number)
        finally:
            scheduler.close()


def _play(server: EmbeddedServer, scheduler: StockScheduler, step: Object, number: int) -> None:
    body = _fresh(step["pod"])
    name, namespace = body["metadata"]["name"], body["metadata"].get("namespace", "default")
    server.api.create(body)
    if "gated" in step:
        conditions = server.api.get("Pod", name, namespace=namespace)["status"]["conditions"]
        assert [each["reason"] for each in conditions] == ["SchedulingGated"]
        return
    settled = eventually(lambda: _settled(server, name, namespace))
    if "unschedulable" in step:
        condition = next(each for each in settled["status"]["conditions"] if each["type"] == "PodScheduled")
        assert (condition["reason"], condition["message"]) == (step["reason"], step["unschedulable"]), number
        server.api.delete("Pod", name, namespace=namespace)
        return
    assert settled["spec"]["nodeName"] in _best(step), number
    if settled["spec"]["nodeName"] != step["node"]:
        # Another of the best: the next step is to start from the recorded cluster.
        server.api.delete("Pod", name, namespace=namespace)
        body["spec"]["nodeName"] = step["node"]
        server.api.create(body)
        eventually(lambda: scheduler.has_heard_of(f"{namespace}/{name}"))


def _settled(server: EmbeddedServer, name: str, namespace: str) -> Object | None:
    found = server.api.get("Pod", name, namespace=namespace)
    return found if found["spec"].get("nodeName") or found["status"].get("conditions") else None


def _best(step: Object) -> set[str]:
    """Ties are broken at random: every node with the highest total is right."""
    if "scores" not in step:
        return {step["node"]}
    highest = max(scores["total"] for scores in step["scores"].values())
    return {name for name, scores in step["scores"].items() if scores["total"] == highest}


def _fresh(obj: Object) -> Object:
    """Without what only a server may give; a node keeps its status, which the scenario is about."""
    given = ("uid", "resourceVersion", "creationTimestamp", "generation")
    meta = {key: value for key, value in obj["metadata"].items() if key not in given}
    fresh = {**obj, "metadata": meta}
    if obj["kind"] != "Node":
        fresh.pop("status", None)
    if obj["kind"] == "Service":
        spec = {key: value for key, value in obj["spec"].items() if not key.startswith("clusterIP")}
        fresh["spec"] = spec
    return fresh
