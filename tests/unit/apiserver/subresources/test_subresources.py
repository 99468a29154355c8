"""Binding, eviction, scale, finalize and reviews."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.direct_client import DirectClient

from bayplan.apiserver.transport.api_messages import UserInfo

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MERGE = "application/merge-patch+json"


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "x:1"}], **spec}
    return {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": spec}


def binding(name: str = "p", node: str = "n") -> dict[str, Any]:
    return {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}


def test_a_pod_is_bound_once(client: DirectClient) -> None:
    client.request("POST", PODS, pod())
    assert client.request("POST", f"{PODS}/p/binding", binding())[0] == 201

    status, answer = client.request("POST", f"{PODS}/p/binding", binding(node="m"))
    assert status == 409
    assert answer["message"].endswith('pod p is already assigned to node "n"')


def test_binding_settles_the_condition(client: DirectClient) -> None:
    """PodScheduled is true, with the time of the binding, and the nomination is cleared."""
    client.request("POST", PODS, pod())
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}
    status = {"nominatedNodeName": "m", "conditions": [condition]}
    client.request("PATCH", f"{PODS}/p/status", {"status": status}, content_type=MERGE)
    client.request("POST", "/api/v1/namespaces/default/bindings", binding())
    _, bound = client.request("GET", f"{PODS}/p")

    assert "nominatedNodeName" not in bound["status"]
    (settled,) = bound["status"]["conditions"]
    assert (settled["status"], settled.get("reason")) == ("True", None)


def test_a_dry_run_binds_nothing(client: DirectClient) -> None:
    client.request("POST", PODS, pod())
    assert client.request("POST", f"{PODS}/p/binding?dryRun=All", binding())[0] == 201
    assert "nodeName" not in client.request("GET", f"{PODS}/p")[1]["spec"]


@pytest.mark.parametrize(
    ("status", "code", "left"),
    [
        pytest.param({"disruptionsAllowed": 1, "observedGeneration": 1}, 201, 0, id="allowed"),
        pytest.param({"disruptionsAllowed": 0, "observedGeneration": 1}, 429, 0, id="used up"),
        pytest.param({"disruptionsAllowed": 1, "observedGeneration": 0}, 429, 1, id="not yet looked at"),
    ],
)
def test_budgets_decide_on_evictions(client: DirectClient, status: dict[str, int], code: int, left: int) -> None:
    """An eviction is taken from the budget at once, so that two concurrent ones cannot use it twice."""
    client.request("POST", PODS, pod(nodeName="n"))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    client.request("PATCH", f"{PODS}/p/status", {"status": ready}, content_type=MERGE)
    spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": "a"}}}
    client.request("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    client.request("PATCH", f"{BUDGETS}/b/status", {"status": status}, content_type=MERGE)

    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert client.request("POST", f"{PODS}/p/eviction", eviction)[0] == code
    assert client.request("GET", f"{BUDGETS}/b")[1]["status"]["disruptionsAllowed"] == left
    assert ("deletionTimestamp" in client.request("GET", f"{PODS}/p")[1]["metadata"]) == (code == 201)


def test_scale_changes_replicas_only(client: DirectClient) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    client.request("POST", path, {"metadata": {"name": "d"}, "spec": spec})

    _, scale = client.request("PATCH", f"{path}/d/scale", {"spec": {"replicas": 4}}, content_type=MERGE)
    assert (scale["spec"]["replicas"], scale["status"]["selector"]) == (4, "app=a")
    assert client.request("GET", f"{path}/d")[1]["spec"]["replicas"] == 4
    assert client.request("PATCH", f"{path}/d/scale", {"spec": {"replicas": -1}}, content_type=MERGE)[0] == 422


def test_the_last_finalizer_ends_a_namespace(client: DirectClient) -> None:
    client.request("POST", "/api/v1/namespaces", {"metadata": {"name": "s"}})
    client.request("DELETE", "/api/v1/namespaces/s")
    client.request("PUT", "/api/v1/namespaces/s/finalize", {"metadata": {"name": "s"}, "spec": {"finalizers": []}})

    assert client.request("GET", "/api/v1/namespaces/s")[0] == 404


def test_what_needs_containers_is_refused_clearly(client: DirectClient) -> None:
    client.request("POST", PODS, pod())
    status, answer = client.request("PUT", f"{PODS}/p/ephemeralcontainers", pod())

    assert status == 405
    assert "pods/ephemeralcontainers is not supported by the embedded API server" in answer["message"]


@pytest.mark.parametrize(
    ("user", "attributes", "allowed"),
    [
        pytest.param("u", {"verb": "get", "resource": "pods"}, True, id="granted"),
        pytest.param("u", {"verb": "create", "resource": "pods"}, False, id="another verb"),
        pytest.param("u", {"verb": "get", "resource": "pods", "subresource": "log"}, False, id="a subresource"),
        pytest.param("u", {"verb": "get", "resource": "nodes"}, False, id="another resource"),
        pytest.param("v", {"verb": "get", "resource": "pods"}, False, id="another user"),
    ],
)
def test_access_reviews_follow_the_roles(
    client: DirectClient, user: str, attributes: dict[str, str], allowed: bool
) -> None:
    base = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    client.request("POST", f"{base}/roles", {"metadata": {"name": "r"}, "rules": rules})
    subjects = [{"kind": "User", "name": "u"}]
    reference = {"kind": "Role", "name": "r"}
    client.request(
        "POST", f"{base}/rolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects}
    )

    spec = {"user": user, "resourceAttributes": {"namespace": "default", **attributes}}
    _, review = client.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
    assert review["status"]["allowed"] is allowed


def test_masters_may_do_everything(client: DirectClient) -> None:
    body = {"spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    user = UserInfo("admin", ("system:masters",))

    assert client.request("POST", path, body, user=user)[1]["status"] == {"allowed": True}


@pytest.mark.parametrize("subresource", ["log", "exec", "attach", "portforward", "proxy"])
def test_what_needs_a_container_is_refused_in_words(subresource: str) -> None:
    client = DirectClient()
    status, answer = client.request("GET", f"/api/v1/namespaces/default/pods/web/{subresource}")
    assert status == 405
    assert answer["message"].startswith(f"pods/{subresource} is not supported by the embedded API server")
