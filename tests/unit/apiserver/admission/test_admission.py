"""Admission: what is added to objects, and what is refused although the objects are in order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.asking import Asker

PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MERGE = "application/merge-patch+json"


@pytest.fixture
def asker() -> Asker:
    return Asker()


def pod(resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x:1", **({"resources": resources} if resources else {})}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def test_priority_comes_from_the_class(asker: Asker) -> None:
    asker.ask("POST", CLASSES, {"metadata": {"name": "gold"}, "value": 7, "preemptionPolicy": "Never"})
    _, made = asker.ask("POST", PODS, pod(priorityClassName="gold"))

    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (7, "Never")


def test_the_default_class_is_the_only_one(asker: Asker) -> None:
    asker.ask("POST", CLASSES, {"metadata": {"name": "std"}, "value": 5, "globalDefault": True})
    status, answer = asker.ask("POST", CLASSES, {"metadata": {"name": "b"}, "value": 6, "globalDefault": True})
    assert status == 403
    assert "PriorityClass std is already marked as default" in answer["message"]

    _, made = asker.ask("POST", PODS, pod())
    assert (made["spec"]["priorityClassName"], made["spec"]["priority"]) == ("std", 5)


def test_system_classes_are_there_and_stay(asker: Asker) -> None:
    _, made = asker.ask("POST", PODS, pod(priorityClassName="system-node-critical"))
    assert made["spec"]["priority"] == 2_000_001_000

    status, answer = asker.ask("DELETE", f"{CLASSES}/system-node-critical")
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
def test_short_outages_are_tolerated(asker: Asker, toleration: dict[str, Any], added: int) -> None:
    _, made = asker.ask("POST", PODS, pod(tolerations=[toleration]))
    assert len(made["spec"]["tolerations"]) == 1 + added


def test_a_new_node_is_not_ready(asker: Asker) -> None:
    """TaintNodesByCondition is on unless it is switched off."""
    _, node = asker.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]

    off = Asker(disabled_admission=("TaintNodesByCondition",))
    _, node = off.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    assert "taints" not in node["spec"]


def test_bound_pods_tell_where_they_are(asker: Asker) -> None:
    """PodTopologyLabels: the node's zone becomes a label of the pod."""
    labels = {"topology.kubernetes.io/zone": "z1", "other": "x"}
    asker.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": labels}})
    asker.ask("POST", PODS, pod())
    asker.ask("POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
    _, bound = asker.ask("GET", f"{PODS}/p")

    assert bound["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z1"}


def test_limit_ranges_fill_in_and_bound(asker: Asker) -> None:
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": "1"}}]
    asker.ask(
        "POST", "/api/v1/namespaces/default/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": limits}}
    )
    _, made = asker.ask("POST", PODS, pod())
    assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "500m"}}

    status, answer = asker.ask("POST", PODS, pod({"limits": {"cpu": "2"}}))
    assert status == 403
    assert answer["message"].endswith("maximum cpu usage per Container is 1, but limit is 2")


def test_quotas_count_what_their_status_says(asker: Asker) -> None:
    """Limits and use are those of the status; a creation is booked there."""
    path = "/api/v1/namespaces/default/resourcequotas"
    asker.ask("POST", path, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    status = {"hard": {"pods": "1"}, "used": {"pods": "0"}}
    asker.ask("PATCH", f"{path}/q/status", {"status": status}, content_type=MERGE)
    assert asker.ask("POST", PODS, pod())[0] == 201

    code, answer = asker.ask("POST", PODS, {**pod(), "metadata": {"name": "r"}})
    assert code == 403
    assert answer["message"].endswith("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")


def test_a_namespace_that_ends_takes_nothing(asker: Asker) -> None:
    asker.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "s"}})
    asker.ask("DELETE", "/api/v1/namespaces/s")
    status, answer = asker.ask("POST", "/api/v1/namespaces/s/configmaps", {"metadata": {"name": "c"}})

    assert status == 403
    assert answer["details"]["causes"][0]["reason"] == "NamespaceTerminating"


def test_claims_get_the_default_class(asker: Asker) -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    fast = {"metadata": {"name": "fast", "annotations": annotations}, "provisioner": "x.example.com"}
    asker.ask("POST", "/apis/storage.k8s.io/v1/storageclasses", fast)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    _, claim = asker.ask("POST", path, {"metadata": {"name": "c"}, "spec": spec})

    assert claim["spec"]["storageClassName"] == "fast"
