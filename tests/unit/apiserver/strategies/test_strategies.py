"""Validation of the other kinds, where it is specific to them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.direct_client import DirectClient

MERGE = "application/merge-patch+json"
NAMESPACED = "/namespaces/default/"
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "c", "image": "x:1"}]},
}


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


def refused_fields(client: DirectClient, path: str, body: dict[str, Any]) -> list[str]:
    status, answer = client.request("POST", path, {"metadata": {"name": "x"}, **body})
    assert status == 422, answer
    return sorted({cause["field"] for cause in answer["details"]["causes"]})


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        pytest.param(
            "/apis/apps/v1/namespaces/default/deployments",
            {"spec": {"selector": {"matchLabels": {"app": "b"}}, "template": TEMPLATE}},
            ["spec.template.metadata.labels"],
            id="a deployment that would not find its pods",
        ),
        pytest.param(
            "/apis/apps/v1/namespaces/default/deployments",
            {
                "spec": {
                    "selector": {"matchLabels": {"app": "a"}},
                    "template": TEMPLATE,
                    "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
                }
            },
            ["spec.strategy.rollingUpdate.maxUnavailable"],
            id="a rollout that cannot begin",
        ),
        pytest.param(
            "/apis/batch/v1/namespaces/default/jobs",
            {"spec": {"template": TEMPLATE}},
            ["spec.template.spec.restartPolicy"],
            id="a job that never ends",
        ),
        pytest.param(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {"spec": {"minAvailable": 1, "maxUnavailable": 1}},
            ["spec"],
            id="a budget with two limits",
        ),
        pytest.param(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"value": 2_000_000_000},
            ["value"],
            id="a priority above all users",
        ),
        pytest.param(
            "/api/v1/persistentvolumes",
            {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/d"}}},
            ["spec.nodeAffinity"],
            id="a local volume on no node",
        ),
        pytest.param(
            "/api/v1/namespaces/default/persistentvolumeclaims",
            {"spec": {"accessModes": ["ReadWriteOnce"]}},
            ["spec.resources[storage]"],
            id="a claim for nothing",
        ),
        pytest.param(
            "/api/v1/nodes",
            {"spec": {"taints": [{"key": "a", "effect": "Never"}]}},
            ["metadata.taints[0].effect"],
            id="a taint without a known effect",
        ),
        pytest.param(
            "/api/v1/namespaces/default/limitranges",
            {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
            ["spec.limits[0].min[cpu]"],
            id="limits upside down",
        ),
        pytest.param(
            "/api/v1/namespaces/default/services",
            {"spec": {"ports": [{"port": 80}, {"port": 81}]}},
            ["spec.ports[0].name", "spec.ports[1].name"],
            id="two ports without names",
        ),
        pytest.param(
            "/api/v1/namespaces/default/configmaps",
            {"data": {"no key!": "x"}},
            ["data[no key!]"],
            id="a key that is none",
        ),
    ],
)
def test_wrong_objects_are_refused_at_the_field(
    client: DirectClient, path: str, body: dict[str, Any], fields: list[str]
) -> None:
    assert refused_fields(client, path, body) == fields


def test_services_get_addresses_once(client: DirectClient) -> None:
    """Addresses are allocated, kept by updates, and never allocated twice."""
    path = f"/api/v1{NAMESPACED}services"
    made = [
        client.request("POST", path, {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}})[1]["spec"]
        for name in ("a", "b")
    ]
    assert made[0]["clusterIP"] != made[1]["clusterIP"]
    assert made[0]["clusterIPs"] == [made[0]["clusterIP"]]

    update = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 81}]}}
    _, updated = client.request("PUT", f"{path}/a", update)
    assert updated["spec"]["clusterIP"] == made[0]["clusterIP"]

    asked = {"metadata": {"name": "c"}, "spec": {"ports": [{"port": 80}], "clusterIP": made[0]["clusterIP"]}}
    status, answer = client.request("POST", path, asked)
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "spec.clusterIPs")


def test_jobs_get_a_selector_of_their_own(client: DirectClient) -> None:
    template = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
    body = {"metadata": {"name": "j"}, "spec": {"template": template}}
    _, made = client.request("POST", f"/apis/batch/v1{NAMESPACED}jobs", body)

    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j"


@pytest.mark.parametrize(
    ("patch", "generation"),
    [
        pytest.param({"spec": {"replicas": 3}}, 2, id="the spec counts"),
        pytest.param({"metadata": {"annotations": {"a": "b"}}}, 2, id="annotations count, they are handed on"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, 1, id="labels do not"),
    ],
)
def test_generations_of_deployments(client: DirectClient, patch: dict[str, Any], generation: int) -> None:
    path = f"/apis/apps/v1{NAMESPACED}deployments"
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}
    client.request("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    _, changed = client.request("PATCH", f"{path}/d", patch, content_type=MERGE)

    assert changed["metadata"]["generation"] == generation


def test_events_have_two_forms(client: DirectClient) -> None:
    """An event written as events.k8s.io/v1 can be read as core/v1 under other names."""
    body = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Scheduled",
        "note": "m",
        "type": "Normal",
        "action": "Binding",
        "reportingController": "c",
        "reportingInstance": "i",
    }
    status, _ = client.request("POST", f"/apis/events.k8s.io/v1{NAMESPACED}events", body)
    assert status == 201
    _, core = client.request("GET", f"/api/v1{NAMESPACED}events/e")

    assert (core["involvedObject"]["name"], core["message"], core["reportingComponent"]) == ("p", "m", "c")


@pytest.mark.parametrize(
    ("kind", "counted", "ready"),
    [
        ("replicasets", ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"), "readyReplicas"),
        ("deployments", ("updatedReplicas", "readyReplicas", "availableReplicas"), "readyReplicas"),
        (
            "statefulsets",
            ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
            "status.readyReplicas",
        ),
    ],
)
def test_no_more_replicas_than_there_are(kind: str, counted: tuple[str, ...], ready: str) -> None:
    """In the kind's own order; counts that it does not have are skipped."""
    client = DirectClient()
    path = f"/apis/apps/v1/namespaces/default/{kind}"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    client.request("POST", path, {"metadata": {"name": "w"}, "spec": spec})
    status = {"replicas": 1, "readyReplicas": 2} | {key: 3 for key in counted if key != "readyReplicas"}
    code, answer = client.request(
        "PATCH", f"{path}/w/status", {"status": status}, content_type="application/merge-patch+json"
    )

    fields = [f"status.{key}" for key in counted]
    assert code == 422
    assert [cause["field"] for cause in answer["details"]["causes"]] == [*fields, "status.availableReplicas"]
    assert answer["details"]["causes"][-1]["message"] == f"Invalid value: 3: cannot be greater than {ready}"
