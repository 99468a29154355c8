"""Builders for pods and nodes. Fields that are not given have the defaults of the API server."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.model import Node, Pod

_uids = itertools.count(1)


def make_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "32Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[str] = (),
    unschedulable: bool = False,
    resources: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Node:
    """A ready node; taints as kubectl writes them: `key=value:NoSchedule`."""
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), **(resources or {})}
    return Node.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "uid": f"node-{name}",
                "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            },
            "spec": {
                "unschedulable": unschedulable,
                "taints": [_taint(text) for text in taints],
                **(spec or {}),
            },
            "status": {"allocatable": amounts, "capacity": amounts, **(status or {})},
        }
    )


def make_pod(
    name: str,
    *,
    namespace: str = "default",
    cpu: str | None = None,
    memory: str | None = None,
    labels: Mapping[str, str] | None = None,
    node_name: str = "",
    priority: int | None = None,
    requests: Mapping[str, str] | None = None,
    image: str = "app",
    scheduler_name: str = "default-scheduler",
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Pod:
    """A pending pod with one container; *spec*, *status* and *metadata* add raw fields."""
    amounts = {**({"cpu": cpu} if cpu else {}), **({"memory": memory} if memory else {}), **(requests or {})}
    return Pod.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"pod-{name}-{next(_uids)}",
                "labels": dict(labels or {}),
                **(metadata or {}),
            },
            "spec": {
                "schedulerName": scheduler_name,
                "containers": [{"name": "main", "image": image, "resources": {"requests": amounts}}],
                **({"nodeName": node_name} if node_name else {}),
                **({"priority": priority} if priority is not None else {}),
                **(spec or {}),
            },
            "status": {"phase": "Pending", **(status or {})},
        }
    )


def _taint(text: str) -> dict[str, str]:
    head, _, effect = text.rpartition(":")
    key, _, value = head.partition("=")
    return {"key": key, "value": value, "effect": effect}
