"""Small random clusters with a pod that may not fit: every kind of rule, as the API server accepts it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.e2e.api import Object
from tests.e2e.objects import node, pod

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class RandomCluster(NamedTuple):
    nodes: Sequence[Object]
    bound: Sequence[Object]
    pending: Object


def random_cluster(seed: int) -> RandomCluster:
    chance = random.Random(seed)  # noqa: S311  a cluster, not a secret
    nodes = [_node(chance, f"n{number}") for number in range(chance.randint(2, 6))]
    names = [each["metadata"]["name"] for each in nodes]
    bound = [_bound(chance, f"b{number}", names) for number in range(chance.randint(2, 10))]
    return RandomCluster(nodes, bound, _pending(chance, f"pending-{seed}"))


def _node(chance: random.Random, name: str) -> Object:
    labels = {ZONE: chance.choice(["east", "west"]), "disk": chance.choice(["ssd", "hdd"])}
    if chance.random() < 0.2:
        del labels[ZONE]
    taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if chance.random() < 0.3 else []
    return node(
        name,
        cpu=chance.choice(["1", "2", "4"]),
        memory=chance.choice(["2Gi", "8Gi"]),
        pods=chance.choice([3, 110]),
        labels=labels,
        taints=taints,
        unschedulable=chance.random() < 0.15,
    )


def _bound(chance: random.Random, name: str, nodes: Sequence[str]) -> Object:
    made = pod(
        name,
        cpu=chance.choice(["100m", "500m", "1"]),
        memory=chance.choice(["128Mi", "1Gi"]),
        labels={"app": chance.choice(["web", "db"])},
        nodeName=chance.choice(nodes),
    )
    if chance.random() < 0.15:
        made["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: [_term(chance)]}}
    if chance.random() < 0.2:
        _use_port(made)
    return made


def _pending(chance: random.Random, name: str) -> Object:
    made = pod(
        name,
        cpu=chance.choice(["100m", "1", "3", "6"]),
        memory=chance.choice(["128Mi", "4Gi"]),
        labels={"app": chance.choice(["web", "db"])},
    )
    spec: dict[str, Any] = made["spec"]
    affinity: dict[str, Any] = {}
    if chance.random() < 0.3:
        spec["nodeSelector"] = {"disk": chance.choice(["ssd", "nvme"])}
    if chance.random() < 0.3:
        expression = {"key": "disk", "operator": chance.choice(["In", "NotIn"]), "values": ["ssd"]}
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    if chance.random() < 0.25:
        affinity["podAntiAffinity"] = {REQUIRED: [_term(chance)]}
    if chance.random() < 0.2:
        affinity["podAffinity"] = {REQUIRED: [_term(chance, "cache", "web")]}
    if affinity:
        spec["affinity"] = affinity
    if chance.random() < 0.3:
        constraint = {
            "maxSkew": 1,
            "topologyKey": chance.choice([ZONE, "kubernetes.io/hostname"]),
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": made["metadata"]["labels"]},
        }
        spec["topologySpreadConstraints"] = [constraint]
    if chance.random() < 0.25:
        _use_port(made)
    if chance.random() < 0.1:
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    return made


def _term(chance: random.Random, *apps: str) -> Object:
    app = chance.choice(apps or ("web", "db"))
    key = chance.choice([ZONE, "kubernetes.io/hostname"])
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def _use_port(made: Object) -> None:
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
