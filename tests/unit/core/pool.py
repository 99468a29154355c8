"""Pods, nodes and objects to draw from: small sets of values, so that they meet often."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

from bayplan.model import (
    CSINode,
    KubeObject,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    Service,
    StorageClass,
)

Raw = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
MIB: Final = 1024 * 1024

CONFIGURATION: Final = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packed
  plugins:
    score:
      disabled: [{name: NodeResourcesFit}, {name: ImageLocality}]
      enabled: [{name: NodeResourcesFit, weight: 5}, {name: ImageLocality, weight: 4}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [example.com/foo]
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 3}, {name: memory, weight: 1}, {name: example.com/gpu, weight: 2}]
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: NotIn, values: [hdd]}]}]
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 10}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
"""

# --- nodes ------------------------------------------------------------------------------------------

NODE_LABELS: Final[tuple[Mapping[str, str], ...]] = (
    {ZONE: "a", "disk": "ssd"},
    {ZONE: "b", "disk": "ssd", "size": "7"},
    {ZONE: "b", "disk": "hdd", "size": "30"},
    {ZONE: "c"},
    {"disk": "ssd"},
)
NODE_TAINTS: Final[tuple[tuple[str, ...], ...]] = (
    (),
    (),
    ("dedicated=db:NoSchedule",),
    ("dedicated=db:PreferNoSchedule",),
    ("flaky=:PreferNoSchedule", "dedicated=web:NoExecute"),
)
NODE_AMOUNTS: Final[tuple[Mapping[str, str], ...]] = (
    {"cpu": "4", "memory": "8Gi", "pods": "110"},
    {"cpu": "2", "memory": "4Gi", "pods": "4", "example.com/gpu": "2"},
    {"cpu": "8", "memory": "4Gi", "pods": "110", "example.com/foo": "1"},
    {},
)
IMAGE_SIZES: Final = {"registry/web:1": 300 * MIB, "registry/db:1": 900 * MIB}
NODE_IMAGES: Final[tuple[tuple[str, ...], ...]] = ((), ("registry/web:1",), ("registry/db:1", "registry/web:1"))


def node(name: str, facts: tuple[int, int, int, int, bool]) -> Raw:
    """A node whose labels, taints, amounts and images are those with the given numbers."""
    labels, taints, amounts, images, cordoned = facts
    offered = dict(NODE_AMOUNTS[amounts])
    return {
        "metadata": {"name": name, "uid": f"node-{name}", "labels": {HOSTNAME: name, **NODE_LABELS[labels]}},
        "spec": {"unschedulable": cordoned, "taints": [_taint(text) for text in NODE_TAINTS[taints]]},
        "status": {
            "allocatable": offered,
            "capacity": offered,
            "images": [{"names": [name], "sizeBytes": IMAGE_SIZES[name]} for name in NODE_IMAGES[images]],
        },
    }


def _taint(text: str) -> dict[str, str]:
    head, _, effect = text.rpartition(":")
    key, _, value = head.partition("=")
    return {"key": key, "value": value, "effect": effect}


# --- pods -------------------------------------------------------------------------------------------


def _app(name: str) -> Raw:
    return {"matchLabels": {"app": name}}


def _terms(topology_key: str, selector: Raw, **more: Any) -> list[Raw]:
    return [{"topologyKey": topology_key, "labelSelector": selector, **more}]


def _preferred(weight: int, topology_key: str, selector: Raw) -> list[Raw]:
    return [{"weight": weight, "podAffinityTerm": _terms(topology_key, selector)[0]}]


def _required_pods(kind: str, topology_key: str, selector: Raw, **more: Any) -> Raw:
    terms = _terms(topology_key, selector, **more)
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def _preferred_pods(kind: str, weight: int, topology_key: str, selector: Raw) -> Raw:
    terms = _preferred(weight, topology_key, selector)
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


def _required_nodes(*expressions: Raw, fields: tuple[Raw, ...] = ()) -> Raw:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    return {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        }
    }


def _spread(topology_key: str, when: str, name: str, **more: Any) -> Raw:
    constraint = {
        "maxSkew": 1,
        "topologyKey": topology_key,
        "whenUnsatisfiable": when,
        "labelSelector": _app(name),
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def _claim(name: str) -> Raw:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


def container(requests: Mapping[str, str], **more: Any) -> Raw:
    return {"name": "main", "image": "registry/web:1", "resources": {"requests": dict(requests)}, **more}


SMALL: Final = container({"cpu": "250m", "memory": "256Mi"})

#: What each template is about → (labels, spec).
TEMPLATES: Final[Mapping[str, tuple[Mapping[str, str], Raw]]] = {
    "no requests": ({"app": "web"}, {"containers": [{"name": "main", "image": "registry/db:1"}]}),
    "small": ({"app": "web"}, {"containers": [SMALL]}),
    "large": ({"app": "db"}, {"containers": [container({"cpu": "1500m", "memory": "1Gi"})]}),
    "gpu": ({}, {"containers": [container({"example.com/gpu": "1", "example.com/foo": "1"})]}),
    "host port": ({"app": "web"}, {"containers": [{**SMALL, "ports": [{"containerPort": 80, "hostPort": 80}]}]}),
    "tolerates db": (
        {"app": "db"},
        {"containers": [SMALL], "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "db"}]},
    ),
    "tolerates all": ({"app": "web"}, {"containers": [SMALL], "tolerations": [{"operator": "Exists"}]}),
    "node selector": ({}, {"containers": [SMALL], "nodeSelector": {"disk": "ssd"}}),
    "node affinity": (
        {},
        {"containers": [SMALL], **_required_nodes({"key": "size", "operator": "Gt", "values": ["10"]})},
    ),
    "one node by name": (
        {},
        {
            "containers": [SMALL],
            **_required_nodes(fields=({"key": "metadata.name", "operator": "In", "values": ["n2"]},)),
        },
    ),
    "preferred nodes": (
        {"app": "web"},
        {
            "containers": [SMALL],
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 7,
                            "preference": {
                                "matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]
                            },
                        }
                    ]
                }
            },
        },
    ),
    "spread hard": ({"app": "web"}, {"containers": [SMALL], **_spread(ZONE, "DoNotSchedule", "web")}),
    "spread soft": ({"app": "web"}, {"containers": [SMALL], **_spread(HOSTNAME, "ScheduleAnyway", "web")}),
    "spread honouring": (
        {"app": "db"},
        {
            "containers": [SMALL],
            **_spread(ZONE, "DoNotSchedule", "db", nodeTaintsPolicy="Honor", minDomains=2),
        },
    ),
    "affinity": ({"app": "web"}, {"containers": [SMALL], **_required_pods("podAffinity", ZONE, _app("db"))}),
    "anti-affinity": (
        {"app": "db"},
        {"containers": [SMALL], **_required_pods("podAntiAffinity", HOSTNAME, _app("db"))},
    ),
    "affinity by namespaces": (
        {"app": "db"},
        {
            "containers": [SMALL],
            **_required_pods(
                "podAffinity", ZONE, _app("web"), namespaceSelector={"matchLabels": {"team": "shop"}}
            ),
        },
    ),
    "prefers company": (
        {"app": "web"},
        {"containers": [SMALL], **_preferred_pods("podAffinity", 50, ZONE, _app("db"))},
    ),
    "prefers solitude": (
        {"app": "web"},
        {"containers": [SMALL], **_preferred_pods("podAntiAffinity", 20, HOSTNAME, _app("web"))},
    ),
    "important": (
        {"app": "db"},
        {"containers": [container({"cpu": "3", "memory": "1Gi"})], "priority": 1000},
    ),
    "important, polite": (
        {"app": "db"},
        {
            "containers": [container({"cpu": "3", "memory": "1Gi"})],
            "priority": 1000,
            "preemptionPolicy": "Never",
        },
    ),
    "important, alone": (
        {"app": "db"},
        {"containers": [SMALL], "priority": 500, **_required_pods("podAntiAffinity", ZONE, _app("web"))},
    ),
    "claim": ({"app": "db"}, {"containers": [SMALL], **_claim("data")}),
    "claim to be bound": ({}, {"containers": [SMALL], **_claim("late")}),
    "ephemeral": (
        {},
        {
            "containers": [SMALL],
            "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}],
        },
    ),
    "invalid selector": (
        {},
        {
            "containers": [SMALL],
            **_required_pods(
                "podAffinity", ZONE, {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["x"]}]}
            ),
        },
    ),
}
TEMPLATE_NAMES: Final = tuple(TEMPLATES)
NAMESPACES: Final = ("default", "shop")
SCHEDULERS: Final = ("default-scheduler", "packed")

_serial = itertools.count(1)


def pod(template: str, namespace: str = "default", scheduler_name: str = "default-scheduler") -> Raw:
    """A new pod of the template; each starts a second after the one before it."""
    number = next(_serial)
    labels, spec = TEMPLATES[template]
    return {
        "metadata": {
            "name": f"p{number}",
            "namespace": namespace,
            "uid": f"uid-{number}",
            "labels": dict(labels),
        },
        "spec": {"schedulerName": scheduler_name, **spec},
        "status": {"startTime": f"2024-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"},
    }


# --- other objects ----------------------------------------------------------------------------------


def _named(name: str, namespace: str = "", **labels: str) -> Raw:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "labels": labels, "namespace": namespace}}


OBJECTS: Final[tuple[tuple[type[KubeObject], Raw], ...]] = (
    (Namespace, _named("default")),
    (Namespace, _named("shop", team="shop")),
    (Service, {**_named("web", "default"), "spec": {"selector": {"app": "web"}}}),
    (Service, {**_named("web", "shop"), "spec": {"selector": {"app": "web"}}}),
    (
        PodDisruptionBudget,
        {**_named("web", "default"), "spec": {"selector": _app("web")}, "status": {"disruptionsAllowed": 1}},
    ),
    (PodDisruptionBudget, {**_named("db", "default"), "spec": {"selector": _app("db")}}),
    (
        StorageClass,
        {
            **_named("late"),
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    ),
    (
        PersistentVolumeClaim,
        {
            **_named("data", "default"),
            "spec": {"volumeName": "disk", "storageClassName": "late", "accessModes": ["ReadWriteOncePod"]},
            "status": {"phase": "Bound"},
        },
    ),
    (
        PersistentVolumeClaim,
        {
            **_named("late", "default"),
            "spec": {
                "storageClassName": "late",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    ),
    (
        PersistentVolume,
        {
            **_named("disk", **{ZONE: "b"}),
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOncePod"],
                "storageClassName": "late",
                "claimRef": {"name": "data", "namespace": "default", "uid": "uid-data"},
            },
        },
    ),
    (
        PersistentVolume,
        {
            **_named("local"),
            "spec": {
                "capacity": {"storage": "2Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "late",
                "nodeAffinity": {
                    "required": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
                        ]
                    }
                },
            },
        },
    ),
    (
        CSINode,
        {**_named("n1"), "spec": {"drivers": [{"name": "csi", "nodeID": "n1", "allocatable": {"count": 1}}]}},
    ),
)
