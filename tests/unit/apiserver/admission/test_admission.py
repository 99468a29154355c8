"""Admission: what it adds to objects, and valid objects that it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.direct_client import DirectClient

PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MERGE = "application/merge-patch+json"


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


def pod(resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x:1", **({"resources": resources} if resources else {})}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def test_priority_comes_from_the_class(client: DirectClient) -> None:
    client.request("POST", CLASSES, {"metadata": {"name": "gold"}, "value": 7, "preemptionPolicy": "Never"})
    _, made = client.request("POST", PODS, pod(priorityClassName="gold"))

    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (7, "Never")


def test_the_default_class_is_the_only_one(client: DirectClient) -> None:
    client.request("POST", CLASSES, {"metadata": {"name": "std"}, "value": 5, "globalDefault": True})
    status, answer = client.request(
        "POST", CLASSES, {"metadata": {"name": "b"}, "value": 6, "globalDefault": True}
    )
    assert status == 403
    assert "PriorityClass std is already marked as default" in answer["message"]

    _, made = client.request("POST", PODS, pod())
    assert (made["spec"]["priorityClassName"], made["spec"]["priority"]) == ("std", 5)


def test_system_classes_exist_and_cannot_be_deleted(client: DirectClient) -> None:
    _, made = client.request("POST", PODS, pod(priorityClassName="system-node-critical"))
    assert made["spec"]["priority"] == 2_000_001_000

    status, answer = client.request("DELETE", f"{CLASSES}/system-node-critical")
    assert status == 403
    assert "system priority class" in answer["message"]


@pytest.mark.parametrize(
    ("toleration", "added"),
    [
        pytest.param({"operator": "Exists"}, 0, id="tolerates everything"),
        pytest.param({"key": "node.kubernetes.io/not-ready", "operator": "Exists"}, 1, id="tolerates one"),
        pytest.param({"key": "a", "operator": "Exists"}, 2, id="tolerates others"),
        pytest.param({"operator": "Exists", "effect": "NoSchedule"}, 2, id="another effect"),
    ],
)
def test_short_outages_are_tolerated_by_default(
    client: DirectClient, toleration: dict[str, Any], added: int
) -> None:
    _, made = client.request("POST", PODS, pod(tolerations=[toleration]))
    assert len(made["spec"]["tolerations"]) == 1 + added


def test_a_new_node_is_not_ready(client: DirectClient) -> None:
    """TaintNodesByCondition is on by default."""
    _, node = client.request("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]

    off = DirectClient(disabled_admission=("TaintNodesByCondition",))
    _, node = off.request("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    assert "taints" not in node["spec"]


def test_bound_pods_get_topology_labels(client: DirectClient) -> None:
    """PodTopologyLabels: the node's zone becomes a label of the pod."""
    labels = {"topology.kubernetes.io/zone": "z1", "other": "x"}
    client.request("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}})
    client.request("POST", PODS, pod())
    client.request("POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
    _, bound = client.request("GET", f"{PODS}/p")

    assert bound["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z1"}


def test_limit_ranges_fill_in_and_bound(client: DirectClient) -> None:
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": "1"}}]
    client.request(
        "POST", "/api/v1/namespaces/default/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}}
    )
    _, made = client.request("POST", PODS, pod())
    assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "500m"}}

    status, answer = client.request("POST", PODS, pod({"limits": {"cpu": "2"}}))
    assert status == 403
    assert answer["message"].endswith("maximum cpu usage per Container is 1, but limit is 2")


def test_quotas_count_what_their_status_says(client: DirectClient) -> None:
    """Limits and usage are those of the status; a creation is added to the usage."""
    path = "/api/v1/namespaces/default/resourcequotas"
    client.request("POST", path, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    status = {"hard": {"pods": "1"}, "used": {"pods": "0"}}
    client.request("PATCH", f"{path}/q/status", {"status": status}, content_type=MERGE)
    assert client.request("POST", PODS, pod())[0] == 201

    code, answer = client.request("POST", PODS, {**pod(), "metadata": {"name": "r"}})
    assert code == 403
    assert answer["message"].endswith("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")


def test_a_terminating_namespace_accepts_no_objects(client: DirectClient) -> None:
    client.request("POST", "/api/v1/namespaces", {"metadata": {"name": "s"}})
    client.request("DELETE", "/api/v1/namespaces/s")
    status, answer = client.request("POST", "/api/v1/namespaces/s/configmaps", {"metadata": {"name": "c"}})

    assert status == 403
    assert answer["details"]["causes"][0]["reason"] == "NamespaceTerminating"


def test_claims_get_the_default_class(client: DirectClient) -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    fast = {"metadata": {"name": "fast", "annotations": annotations}, "provisioner": "x.example.com"}
    client.request("POST", "/apis/storage.k8s.io/v1/storageclasses", fast)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    _, claim = client.request("POST", path, {"metadata": {"name": "c"}, "spec": spec})

    assert claim["spec"]["storageClassName"] == "fast"
