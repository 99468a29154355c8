"""Workloads as data: the nodes, the pods and the other objects.

A string in a template may contain `{app}`, the number of the pod's app, `{pod}`, the pod's name, and
`{cpu}`/`{memory}`, which vary from app to app. With one app all pods are identical.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from bayplan.model import KubeObject, Node, Pod, decode_object

WORKLOADS = Path(__file__).parent / "workloads"


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file of bench/workloads."""

    description: str
    #: Merged over the standard pod.
    pod: dict[str, Any] = {}
    #: How many different apps "different pods" come from.
    apps: int = 200
    #: Pods on each node before the measurement.
    placed_per_node: int = 1
    #: The pods on the nodes beforehand, if they differ from the measured ones.
    placed_pod: dict[str, Any] | None = None
    #: The maximum number of pods that are decided, per node: as many as there is room for.
    max_pods_per_node: float = 20
    #: Other objects.
    objects: tuple[dict[str, Any], ...] = ()
    #: One object per app, for example a quota.
    app_object: dict[str, Any] | None = None
    #: Objects per node, with `{node}` for its name, and per pod, with `{pod}`: slices and claims. The pods of a
    #: workload with claims are decided and reserved.
    node_objects: tuple[dict[str, Any], ...] = ()
    pod_objects: tuple[dict[str, Any], ...] = ()
    #: A KubeSchedulerConfiguration; empty for the default.
    configuration: str = ""
    #: How many pods to decide, however long it takes; None: as many as the time allows.
    n_pods: int | None = None
    #: The cluster sizes and the modes that make sense; empty for all.
    sizes: tuple[int, ...] = ()
    modes: tuple[str, ...] = ()
    #: Whether to measure complete attempts, from the queue to the bind, rather than scheduling cycles alone.
    whole: bool = False
    node_cpu: str = "32"

    def node(self, i: int) -> Node:
        amounts = {"cpu": self.node_cpu, "memory": "256Gi", "pods": "110"}
        return Node.from_dict(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": f"node-{i:05d}",
                    "uid": f"node-{i}",
                    "labels": {
                        "kubernetes.io/hostname": f"node-{i:05d}",
                        "topology.kubernetes.io/zone": f"zone-{i % 3}",
                    },
                },
                "status": {"allocatable": amounts, "capacity": amounts},
            }
        )

    def make_pod(self, i: int, app: int, *, placed_on: str = "") -> Pod:
        template = self.placed_pod if placed_on and self.placed_pod is not None else self.pod
        name = f"pod-{'placed' if placed_on else 'new'}-{i}"
        numbers = {"app": app, "pod": name, "cpu": f"{50 + app % 37 * 10}m", "memory": f"{100 + app % 53 * 10}Mi"}
        pod = merge(_standard_pod(name), filled(template, numbers))
        if placed_on:
            pod["spec"]["nodeName"] = placed_on
        return Pod.from_dict(pod)

    def other_objects(self) -> list[KubeObject]:
        of_apps = [filled(self.app_object, {"app": app}) for app in range(self.apps) if self.app_object]
        return [decode_object(each) for each in (*self.objects, *of_apps)]

    def objects_of_node(self, name: str) -> list[KubeObject]:
        return [decode_object(filled(each, {"node": name})) for each in self.node_objects]

    def objects_of_pod(self, pod: Pod) -> list[KubeObject]:
        return [decode_object(filled(each, {"pod": pod.name})) for each in self.pod_objects]


def _standard_pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "bench", "uid": name, "labels": {"app": "bench"}},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [
                {
                    "name": "c",
                    "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}},
                }
            ],
        },
    }


def merge(base: Any, over: Any) -> Any:
    """*base* overridden by *over*; lists are not merged."""
    if isinstance(base, dict) and isinstance(over, dict):
        return {key: merge(base.get(key), over[key]) if key in over else base[key] for key in {**base, **over}}
    return over


def filled(template: Any, numbers: dict[str, Any]) -> Any:
    """*template* with the placeholders replaced in all its strings."""
    if isinstance(template, dict):
        return {key: filled(value, numbers) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(value, numbers) for value in template]
    return template.format(**numbers) if isinstance(template, str) else template


def load_workload(name: str) -> Workload:
    path = WORKLOADS / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(each.stem for each in sorted(WORKLOADS.glob("*.yaml")))
        raise SystemExit(f"there is no workload {name!r}; there are: {known}")
    return msgspec.convert(yaml.safe_load(path.read_text()), Workload)
