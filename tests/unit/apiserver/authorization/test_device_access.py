"""Admin access by the namespace's label; parts of a claim's status by RBAC."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.direct_client import DirectClient

from bayplan.apiserver.transport.api_messages import UserInfo

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"
SOMEONE = UserInfo("someone", ("system:authenticated",))
ALLOCATION = {"devices": {"results": [{"request": "r", "driver": "gpu.x", "pool": "a", "device": "d"}]}}
REPORTS = [{"driver": "gpu.x", "pool": "a", "device": "d", "data": {}}]


def claim(**request: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", **request}
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


def test_admin_access_needs_a_label_on_the_namespace(client: DirectClient) -> None:
    """For claims and for templates."""
    status, answer = client.request("POST", CLAIMS, claim(adminAccess=True))
    assert status == 422
    assert answer["details"]["causes"] == [
        {
            "reason": "FieldValueForbidden",
            "message": "Forbidden: admin access to devices requires the "
            "`resource.kubernetes.io/admin-access: true` label on the containing namespace",
            "field": "spec.devices.requests[0].adminAccess",
        }
    ]

    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    client.request("PATCH", "/api/v1/namespaces/default", label, content_type=MERGE)
    template = {"metadata": {"name": "t"}, "spec": {"spec": claim(adminAccess=True)["spec"]}}
    assert client.request("POST", CLAIMS, claim(adminAccess=True))[0] == 201
    assert client.request("POST", f"{GROUP}/namespaces/default/resourceclaimtemplates", template)[0] == 201


def allow(client: DirectClient, *rules: tuple[str, str, list[str]]) -> None:
    """Let SOMEONE use verbs on resources of resource.k8s.io, of all names or of some."""
    body = {
        "metadata": {"name": "r"},
        "rules": [
            {"apiGroups": ["resource.k8s.io"], "verbs": [verb], "resources": [resource], "resourceNames": names}
            for verb, resource, names in rules
        ],
    }
    assert client.request("POST", f"{RBAC}/clusterroles", body)[0] == 201
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "someone"}
    binding = {"metadata": {"name": "r"}, "roleRef": role, "subjects": [subject]}
    assert client.request("POST", f"{RBAC}/clusterrolebindings", binding)[0] == 201


def change_status(client: DirectClient, **status: Any) -> tuple[int, list[str]]:
    code, answer = client.request(
        "PATCH", f"{CLAIMS}/c/status", {"status": status}, content_type=MERGE, user=SOMEONE
    )
    return code, [cause["field"] for cause in answer.get("details", {}).get("causes", ())]


def test_an_allocation_needs_the_right_to_bind(client: DirectClient) -> None:
    """The right to write the status is not enough."""
    client.request("POST", CLAIMS, claim())
    allow(client, ("patch", "resourceclaims/status", []))

    assert change_status(client, allocation=ALLOCATION) == (422, ["status.allocation"])


def test_the_right_to_bind_is_for_the_verb(client: DirectClient) -> None:
    client.request("POST", CLAIMS, claim())
    allow(client, ("patch", "resourceclaims/status", []), ("patch", "resourceclaims/binding", []))

    assert change_status(client, allocation=ALLOCATION) == (200, [])
    # Reports about devices are another right.
    assert change_status(client, devices=REPORTS) == (422, ["status.devices"])


@pytest.mark.parametrize(
    ("driver", "outcome"),
    [
        pytest.param("gpu.x", (200, []), id="its own devices"),
        pytest.param("nic.x", (422, ["status.devices"]), id="those of another driver"),
    ],
)
def test_a_driver_reports_about_its_devices(client: DirectClient, driver: str, outcome: object) -> None:
    """The resource name of the rule is the driver's."""
    client.request("POST", CLAIMS, claim())
    client.request("PATCH", f"{CLAIMS}/c/status", {"status": {"allocation": ALLOCATION}}, content_type=MERGE)
    rule = ("arbitrary-node:patch", "resourceclaims/driver", [driver])
    allow(client, ("patch", "resourceclaims/status", []), rule)

    assert change_status(client, devices=REPORTS) == outcome
