"""Objects for tests of gangs and quotas, a configuration with both plugins, and what is reported about a pod."""

from __future__ import annotations

from typing import Any

from tests.integration.cluster.cluster_driver import ClusterDriver, Object

from bayplan.apiserver.simulation.simulated_nodes import make_nodes
from bayplan.config import Loaded, load
from bayplan.controllers.api_objects import path_of
from bayplan.framework import Registry
from bayplan.scheduler import default_registry

API_VERSION = "scheduling.x-k8s.io/v1alpha1"
LABEL = "scheduling.x-k8s.io/pod-group"
#: Quotas of these tests are about cpu; memory is never short.
PLENTY = {"memory": "1Ti"}
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {{enabled: [{{name: CapacityScheduling}}, {{name: Coscheduling}}]}}
    queueSort: {{disabled: [{{name: "*"}}], enabled: [{{name: Coscheduling}}]}}
    postFilter: {{disabled: [{{name: "*"}}], enabled: [{{name: CapacityScheduling}}, {{name: Coscheduling}}]}}
  pluginConfig:
  - name: Coscheduling
    args: {{permitWaitingTimeSeconds: {seconds}, podGroupRejectPercentage: {percentage}}}
"""


def options(*, wait_seconds: int = 5, reject_percentage: int = 10) -> dict[str, Any]:
    """What `Cluster` needs to schedule gangs and quotas."""
    text = CONFIGURATION.format(seconds=wait_seconds, percentage=reject_percentage)
    return loaded(text)


def loaded(text: str) -> dict[str, Any]:
    registry: Registry = default_registry()
    configuration: Loaded = load(text, source="scheduler.yaml", catalogue=registry)
    return {"configuration": configuration, "registry": registry}


def nodes_of(cpus: list[int]) -> list[Object]:
    made: list[Object] = make_nodes(len(cpus))
    for node, cpu in zip(made, cpus, strict=True):
        node["status"] = {each: {**amounts, "cpu": str(cpu)} for each, amounts in node["status"].items()}
    return made


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def priority_class(value: int) -> Object:
    """`priority-1` and the like."""
    meta = {"name": f"priority-{value}"}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": value}


def group(name: str, min_member: int, namespace: str = "default", **spec: Any) -> Object:
    meta = {"name": name, "namespace": namespace}
    return {
        "apiVersion": API_VERSION, "kind": "PodGroup", "metadata": meta, "spec": {"minMember": min_member, **spec},
    }  # fmt: skip


def quota(namespace: str, low: int, high: int, name: str = "quota") -> Object:
    """cpu: min and max."""
    spec = {"min": {"cpu": str(low), **PLENTY}, "max": {"cpu": str(high), **PLENTY}}
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": "ElasticQuota", "metadata": meta, "spec": spec}


def pod(name: str, namespace: str = "default", *, cpu: int = 1, group: str = "", priority: int = 0) -> Object:
    labels = {LABEL: group} if group else {}
    meta = {"name": name, "namespace": namespace, "labels": labels}
    requests = {"cpu": str(cpu), "memory": "1Mi"}
    spec: Object = {"containers": [{"name": "c", "image": "c", "resources": {"requests": requests}}]}
    if priority:
        spec["priorityClassName"] = f"priority-{priority}"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def create(driver: ClusterDriver, *objects: Object) -> None:
    await driver.cluster.apply(objects)


async def bound(driver: ClusterDriver) -> set[str]:
    """The names of all pods on nodes."""
    items = (await driver.cluster.get("/api/v1/pods"))["items"]
    return {each["metadata"]["name"] for each in items if each["spec"].get("nodeName")}


async def why_pending(driver: ClusterDriver, name: str, namespace: str = "default") -> str:
    """What the condition PodScheduled says; empty before the pod was tried."""
    found = await driver.get("v1", "pods", name, namespace)
    conditions = (found.get("status") or {}).get("conditions", ())
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


async def events_about(driver: ClusterDriver, name: str, namespace: str = "default") -> list[tuple[str, str, str]]:
    """Type, reason and text of the events about an object."""
    items = (await driver.cluster.get(path_of("events.k8s.io/v1", "events", namespace)))["items"]
    return [
        (each["type"], each["reason"], each.get("note", "")) for each in items if each["regarding"]["name"] == name
    ]
