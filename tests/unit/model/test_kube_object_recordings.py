"""Real objects, as a kube-scheduler saw them: all decode, and say what they said to it."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from bayplan.model import (
    CSINode,
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    Service,
    StorageClass,
)

GOLDEN = Path(__file__).parents[2] / "parity" / "golden" / "decisions-v1.36.4.jsonl.gz"
TYPES: dict[str, type[KubeObject]] = {
    "nodes": Node,
    "bound": Pod,
    "pvs": PersistentVolume,
    "pvcs": PersistentVolumeClaim,
    "storageclasses": StorageClass,
    "csinodes": CSINode,
    "services": Service,
    "pdbs": PodDisruptionBudget,
    "namespaces": Namespace,
}


@cache
def clusters() -> list[dict[str, Any]]:
    """All recorded clusters."""
    with gzip.open(GOLDEN) as lines:
        return [json.loads(line) for line in lines]


def pods() -> Iterator[Pod]:
    """All pods that were to be scheduled."""
    return (Pod.from_dict(step["pod"]) for cluster in clusters() for step in cluster["steps"])


def test_every_object_decodes() -> None:
    """Nothing a real API server wrote is refused, from bytes or from a mapping, with the same result."""
    for cluster in clusters():
        for name, cls in TYPES.items():
            for mapping in cluster[name]:
                decoded = cls.from_dict(mapping)
                assert decoded == cls.from_json(json.dumps(mapping).encode())
                assert decoded.name == mapping["metadata"]["name"]


def test_derived_values_of_pods_are_available() -> None:
    """Every recorded pod has requests and affinity, and the class of service that the API server recorded."""
    for pod in pods():
        assert pod.requests == pod.spec_requests
        assert pod.nonzero_requests["cpu"] > 0 or pod.spec.resources is not None
        assert pod.affinity_terms is not None
        assert pod.required_node_affinity is not None
        computed = Pod.from_dict({**pod.raw, "status": {}}).qos_class
        assert computed == pod.raw["status"]["qosClass"]


def test_bound_pods_fit_their_nodes_count() -> None:
    """Nodes offer cpu, memory and pods; bound pods name a node of their cluster."""
    for cluster in clusters():
        nodes = {node["metadata"]["name"]: Node.from_dict(node) for node in cluster["nodes"]}
        assert all({"cpu", "memory", "pods"} <= set(node.allocatable) for node in nodes.values())
        assert all(Pod.from_dict(pod).node_name in nodes for pod in cluster["bound"])


def test_first_bound_pod_is_read_in_full() -> None:
    """One pod, field by field."""
    pod = Pod.from_dict(clusters()[0]["bound"][0])
    (constraint,) = pod.spec.topology_spread_constraints
    (preferred,) = pod.affinity_terms.anti_preferred

    assert pod.key == "default/b000"
    assert pod.requests == {"cpu": 100, "memory": 64 * 2**20}
    assert (constraint.max_skew, constraint.min_domains) == (1, 3)
    assert (preferred.weight, preferred.term.namespaces) == (70, frozenset({"team-b"}))
    assert pod.spec.tolerations[0].toleration_seconds == 300
