"""What a snapshot keeps: what scheduling reads, and nothing else."""

from __future__ import annotations

from typing import Any

from bayplan.explain.snapshots.captured_fields import captured
from bayplan.model import Lease, Pod, ReplicaSet, Secret

TEMPLATE: dict[str, Any] = {
    "metadata": {
        "labels": {"app": "web"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    },
    "spec": {
        "nodeName": "a",
        "serviceAccountName": "robot",
        "containers": [
            {
                "name": "c",
                "image": "i",
                "command": ["run"],
                "args": ["--password=x"],
                "env": [{"name": "A", "value": "b"}],
                "envFrom": [{"secretRef": {"name": "s"}}],
                "livenessProbe": {"exec": {"command": ["x"]}},
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
        "volumes": [
            {"name": "token", "projected": {"sources": []}},
            {"name": "secret", "secret": {"secretName": "s"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        ],
    },
}


def test_a_pod_keeps_what_places_it() -> None:
    """No command, environment, probe, account or token; requests and claims stay."""
    metadata = {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7", **TEMPLATE["metadata"]}
    pod = Pod.from_dict({**TEMPLATE, "metadata": metadata, "status": {"podIP": "10.0.0.1", "phase": "Running"}})

    assert captured(pod) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"app": "web"}, "annotations": {}},
        "spec": {
            "nodeName": "a",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
        "status": {"phase": "Running"},
    }


def test_a_template_is_kept_like_a_pod() -> None:
    """A cluster that starts with the snapshot needs it."""
    owner = ReplicaSet.from_dict({"metadata": {"name": "r"}, "spec": {"replicas": 2, "template": TEMPLATE}})
    kept = captured(owner)

    assert kept is not None
    assert kept["spec"]["replicas"] == 2
    assert kept["spec"]["template"]["metadata"]["labels"] == {"app": "web"}
    assert "env" not in kept["spec"]["template"]["spec"]["containers"][0]


def test_some_kinds_are_never_captured() -> None:
    assert captured(Secret.from_dict({"metadata": {"name": "s"}, "data": {"a": "Yg=="}})) is None
    assert captured(Lease.from_dict({"metadata": {"name": "l"}})) is None
