"""Workloads of the end-to-end benchmark as data: files of bench/e2e/workloads.

A string in a template may contain `{i}`, the number of the object, `{app}`, the number modulo `apps`, and `{cpu}`
and `{memory}`, which vary from pod to pod.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from bench.e2e.devices import Devices, node_name
from bench.workload import filled, merge

WORKLOADS = Path(__file__).parent / "workloads"
#: The namespace of the measured pods, and of the pods placed beforehand.
NAMESPACE, PLACED_NAMESPACE = "bench", "bench-placed"
WARM_UP = "warm-up"
#: A label that no node has before the release.
LABEL = "bench"

Object = dict[str, Any]


class EnabledPlugin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Pods that are on nodes before the scheduler starts."""

    per_node: int = 1
    pod: Object = {}


class Churn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Pods that arrive during the measurement, and never fit."""

    every_ms: int = 200
    pod: Object = {}


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The change that makes unschedulable pods fit: the number of pods deleted, nodes labelled, or nodes added."""

    delete: int = 0
    label: int = 0
    add: int = 0


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One file of bench/e2e/workloads."""

    name: str = ""
    description: str
    #: The number of measured pods, unless set on the command line.
    pods: int
    #: How many of them fit on a node; 0 for no limit.
    fit_on_node: int = 0
    #: Merged over the standard pod.
    pod: Object = {}
    apps: int = 1
    #: Services, priority classes and so on.
    objects: tuple[Object, ...] = ()
    #: A workload of `make bench` whose devices and claims it has. The claims are made from a template.
    devices: str = ""
    #: The share of the nodes on which all devices are taken beforehand.
    taken: float = 0.0
    placed: EnabledPlugin | None = None
    churn: Churn | None = None
    release: Release | None = None
    #: A plugin of Bayplan's profile, as `path/to/file.py:Class`; kube-scheduler has only the default profile.
    plugin: str = ""
    #: Whether pods are decided in the order of their names, so that placements can be compared one by one.
    in_order: bool = True
    #: Whether the null scheduler runs it too.
    has_null: bool = False
    #: Whether burst is the only mode that makes sense.
    burst_only: bool = False
    #: Whether it is measured only if it is named on the command line: it takes long.
    by_name: bool = False
    #: Whether pods are created when the scheduler is ready, and measured from then on: most of the work is done
    #: before the first bind.
    from_creation: bool = False
    #: The sizes of its clusters, unless set on the command line; empty for those of all workloads.
    sizes: tuple[int, ...] = ()

    def node(self, i: int) -> Object:
        return make_node(node_name(i), i)

    def all_objects(self, n_nodes: int) -> list[Object]:
        """What is there besides nodes and pods."""
        if not self.devices:
            return list(self.objects)
        devices = Devices(self.devices, NAMESPACE)
        return [*self.objects, *devices.cluster_objects(n_nodes), devices.template()]

    def taken_claims(self, n_nodes: int) -> list[Object]:
        """Claims of others, allocated; the first nodes are theirs."""
        n_taken = int(self.taken * n_nodes)
        return [Devices(self.devices, NAMESPACE).taken(i, PLACED_NAMESPACE) for i in range(n_taken)]

    def new_node(self, i: int) -> Object:
        """A node that the release adds."""
        return make_node(f"new-{i:05d}", i, {LABEL: "open"})

    def make_pod(self, i: int) -> Object:
        return self._made(pod_name(i), i, self.pod, NAMESPACE)

    def placed_pod(self, i: int, n_nodes: int) -> Object:
        assert self.placed is not None
        pod = self._made(f"placed-{i:06d}", i, self.placed.pod, PLACED_NAMESPACE)
        pod["spec"]["nodeName"] = node_name(i % n_nodes)
        return pod

    def churn_pod(self, i: int) -> Object:
        assert self.churn is not None
        return self._made(f"churn-{i:06d}", i, self.churn.pod, NAMESPACE)

    def warm_up_pod(self) -> Object:
        """A pod that shows that the scheduler is ready; it is not measured."""
        pod = _standard_pod(WARM_UP, NAMESPACE)
        pod["metadata"]["labels"] = {"app": WARM_UP}
        return pod

    def n_placed(self, n_nodes: int) -> int:
        return self.placed.per_node * n_nodes if self.placed is not None else 0

    @property
    def has_known_order(self) -> bool:
        """Whether comparing its choices is possible, and shows more than `basic` does."""
        return self.in_order and self.placed is None and not self.plugin and not self.devices

    @property
    def only_scheduled_events(self) -> bool:
        """Whether the only event of each pod is the one that names its node."""
        return self.in_order and self.churn is None

    def _made(self, name: str, i: int, template: Object, namespace: str) -> Object:
        numbers = {"i": i, "app": i % self.apps, "cpu": f"{50 + i % 37 * 10}m", "memory": f"{100 + i % 53 * 10}Mi"}
        made: Object = merge(_standard_pod(name, namespace), filled(template, numbers))
        return made


def pod_name(i: int) -> str:
    return f"pod-{i:06d}"


def make_node(name: str, i: int, labels: Object | None = None) -> Object:
    room = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    own = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{i % 3}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **(labels or {})}},
        "spec": {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def _standard_pod(name: str, namespace: str) -> Object:
    requests = {"cpu": "100m", "memory": "500Mi"}
    container = {"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "bench"}},
        "spec": {"schedulerName": "default-scheduler", "containers": [container]},
    }


def names() -> list[str]:
    return [path.stem for path in sorted(WORKLOADS.glob("*.yaml"))]


def default_names() -> list[str]:
    """Those that are measured if none is named."""
    return [name for name in names() if not load(name).by_name]


def load(name: str) -> Workload:
    """The workload of this name; exits with a message if it is invalid or does not exist."""
    path = WORKLOADS / f"{name}.yaml"
    if not path.is_file():
        raise SystemExit(f"there is no workload {name!r}; there are: {', '.join(names())}")
    try:
        return msgspec.convert({**yaml.safe_load(path.read_text()), "name": name}, Workload)
    except msgspec.ValidationError as error:
        raise SystemExit(f"{path.name}: {error}") from None
