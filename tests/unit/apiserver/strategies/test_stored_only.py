"""Kinds that nothing acts on: stored as they are, with a warning."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.direct_client import DirectClient

INGRESS = {
    "metadata": {"name": "web"},
    "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
}
AUTOSCALER = {
    "metadata": {"name": "web"},
    "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
}
NETWORK_POLICY = {"metadata": {"name": "web"}, "spec": {"podSelector": {"matchLabels": {"app": "web"}}}}
WEBHOOKS = {"metadata": {"name": "web"}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/networking.k8s.io/v1/namespaces/default/ingresses", INGRESS),
        ("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", NETWORK_POLICY),
        ("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", AUTOSCALER),
        ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", WEBHOOKS),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", WEBHOOKS),
    ],
)
def test_an_object_is_kept_with_a_warning_that_it_has_no_effect(path: str, body: dict[str, object]) -> None:
    client = DirectClient()
    created = client.response("POST", path, body)
    assert created.status == 201, created.body
    (warning,) = created.warnings
    assert "is stored, but has no effect in this cluster" in warning
    _, found = client.request("GET", f"{path}/web")
    assert found.get("spec") == body.get("spec")
    assert client.request("DELETE", f"{path}/web")[0] == 200
