"""Workloads as data: what the nodes look like, and what the pods look like.

A string in a template may hold `{app}`, the number of the pod's app, and `{cpu}`/`{memory}`, which vary from app
to app. With one app all pods are identical.
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
    #: The pods placed before, where they differ from the measured ones.
    placed_pod: dict[str, Any] | None = None
    #: How many pods the measurement decides at most, for each node: as many as there is room for.
    max_pods_per_node: float = 20
    #: Any other objects.
    objects: tuple[dict[str, Any], ...] = ()
    #: An object for each app, a quota say.
    app_object: dict[str, Any] | None = None
    #: A KubeSchedulerConfiguration; the default one if empty.
    configuration: str = ""
    #: How many pods to decide, whatever time that takes; None: as many as the time allows.
    n_pods: int | None = None
    #: Where only some cluster sizes, or runs of pods, make sense.
    sizes: tuple[int, ...] = ()
    modes: tuple[str, ...] = ()
    #: Whole attempts, from the queue to the bind, instead of scheduling cycles alone.
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
        numbers = {"app": app, "cpu": f"{50 + app % 37 * 10}m", "memory": f"{100 + app % 53 * 10}Mi"}
        pod = merge(_standard_pod(f"pod-{'placed' if placed_on else 'new'}-{i}"), filled(template, numbers))
        if placed_on:
            pod["spec"]["nodeName"] = placed_on
        return Pod.from_dict(pod)

    def other_objects(self) -> list[KubeObject]:
        of_apps = [filled(self.app_object, {"app": app}) for app in range(self.apps) if self.app_object]
        return [decode_object(each) for each in (*self.objects, *of_apps)]


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
    """*base* with what *over* says otherwise; lists are not merged."""
    if isinstance(base, dict) and isinstance(over, dict):
        return {key: merge(base.get(key), over[key]) if key in over else base[key] for key in {**base, **over}}
    return over


def filled(template: Any, numbers: dict[str, Any]) -> Any:
    """*template* with its placeholders replaced, in every string of it."""
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
