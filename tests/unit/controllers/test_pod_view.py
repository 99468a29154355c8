"""What a pod says about its claims."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bayplan.controllers.pod_view import PODS, PodView

CLAIMS = [
    {"name": "own", "resourceClaimName": "c"},
    {"name": "made", "resourceClaimTemplateName": "t"},
    {"name": "unneeded", "resourceClaimTemplateName": "t"},
    {"name": "missing", "resourceClaimTemplateName": "t"},
]
STATUS = {
    "resourceClaimStatuses": [{"name": "made", "resourceClaimName": "p-made-x"}, {"name": "unneeded"}],
    "extendedResourceClaimStatus": {"resourceClaimName": "p-extended"},
}


def view(spec: dict[str, Any], status: dict[str, Any], **metadata: Any) -> PodView:
    body = {"metadata": {"name": "p", "namespace": "n", **metadata}, "spec": spec, "status": status}
    return PODS.decode(json.dumps(body).encode())


def test_names_of_claims() -> None:
    """None: not made yet; empty: none is needed."""
    pod = view({"resourceClaims": CLAIMS}, STATUS)

    assert [pod.claim_name(entry) for entry in pod.spec.resource_claims] == ["c", "p-made-x", "", None]
    assert pod.claim_names == ["c", "p-made-x", "p-extended"]


@pytest.mark.parametrize(
    ("spec", "status", "metadata", "is_done"),
    [
        pytest.param({}, {"phase": "Pending"}, {}, False, id="it may run"),
        pytest.param({"nodeName": "a"}, {"phase": "Succeeded"}, {}, True, id="it has ended"),
        pytest.param(
            {}, {}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, True, id="deleted before it was bound"
        ),
        pytest.param(
            {"nodeName": "a"}, {}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, False, id="deleted, and runs on"
        ),
    ],
)
def test_when_a_pod_is_done(
    spec: dict[str, Any], status: dict[str, Any], metadata: dict[str, Any], is_done: bool
) -> None:
    assert view(spec, status, **metadata).is_done is is_done
