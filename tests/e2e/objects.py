"""Objects for the API server, as short as a test can say them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.api import Api, ApiError, Object, eventually


def node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    ready: bool = True,
) -> Object:
    """A node as its kubelet would have registered it."""
    resources = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints], "unschedulable": unschedulable},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def pod(
    name: str,
    *,
    namespace: str = "default",
    cpu: str = "100m",
    memory: str = "64Mi",
    labels: Mapping[str, str] | None = None,
    scheduler: str = "default-scheduler",
    **spec: Any,
) -> Object:
    """A pod with one container; further fields of its spec as they are called in YAML."""
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def priority_class(name: str, value: int, *, policy: str = "PreemptLowerPriority") -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


def create_priority_classes(api: Api, classes: Sequence[Object]) -> None:
    """Create them, and wait until pods that name them are admitted: admission hears of them by a watch."""
    api.create_many(classes)
    for each in classes:
        probe = pod("probe", priorityClassName=each["metadata"]["name"])
        eventually(lambda probe=probe: _is_admitted(api, probe))  # type: ignore[misc]


def _is_admitted(api: Api, probe: Object) -> bool:
    try:
        api.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", probe)
    except ApiError:
        return False
    return True
