"""The resource claim controller: claims from templates, reservations, release, deletion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.controllers.resource_claims import FINALIZER, generated_name
from bayplan.testing import VirtualCluster

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec:
  metadata: {labels: {team: a}, annotations: {x: y}}
  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
"""
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
"""
RESULT = {"request": "gpu", "driver": "gpu.bayplan.dev", "pool": "node-1", "device": "gpu-0"}
ALLOCATION = {"devices": {"results": [RESULT]}}


def pod(name: str, entry: dict[str, str], **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}
    spec = {"containers": [container], "resourceClaims": [{"name": "g", **entry}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


FROM_TEMPLATE = {"resourceClaimTemplateName": "one"}
SHARED = {"resourceClaimName": "shared"}


@pytest.fixture
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(1, devices=["gpu=2"], scheduler=False) as made:
        yield made


def settled(cluster: VirtualCluster, *objects: str | dict[str, Any]) -> None:
    cluster.apply(*objects)
    cluster.wait(3)


def claims(cluster: VirtualCluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.get(CLAIMS)["items"]
    return found


def request(cluster: VirtualCluster, method: str, path: str, body: dict[str, Any] | None = None) -> None:
    cluster.run(cluster.cluster.client.request(method, path, body))
    cluster.wait(3)


def allocate(cluster: VirtualCluster, name: str, *pod_names: str) -> None:
    """What a scheduler does."""
    finalizers = {"metadata": {"finalizers": [FINALIZER]}}
    cluster.run(cluster.cluster.client.request("PATCH", f"{CLAIMS}/{name}", finalizers))
    consumers = [{"resource": "pods", "name": each, "uid": cluster.pod(each).uid} for each in pod_names]
    status = {"status": {"allocation": ALLOCATION, "reservedFor": consumers}}
    request(cluster, "PATCH", f"{CLAIMS}/{name}/status", status)


# --- claims from templates --------------------------------------------------------------------------------


def test_a_claim_is_made_from_its_template(cluster: VirtualCluster) -> None:
    """With the template's metadata, the pod as its owner, and its name in the pod's status."""
    settled(cluster, TEMPLATE, pod("p", FROM_TEMPLATE))

    (claim,) = claims(cluster)
    meta, uid = claim["metadata"], cluster.pod("p").uid
    assert meta["name"].startswith("p-g-")
    assert meta["labels"] == {"team": "a"}
    assert meta["annotations"] == {"x": "y", "resource.kubernetes.io/pod-claim-name": "g"}
    assert meta["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
    ]
    statuses = cluster.get(f"{PODS}/p")["status"]["resourceClaimStatuses"]
    assert statuses == [{"name": "g", "resourceClaimName": meta["name"]}]


def test_a_missing_template_is_told_once(cluster: VirtualCluster) -> None:
    """And the pod goes on when it is there."""
    settled(cluster, pod("p", FROM_TEMPLATE))
    cluster.wait(60)
    text = 'resource claim template "one": resourceclaimtemplate.resource.k8s.io "one" not found'
    assert cluster.events("p") == [f"FailedResourceClaimCreation: PodResourceClaim g: {text}"]

    settled(cluster, TEMPLATE)

    assert len(claims(cluster)) == 1


def test_a_claim_that_somebody_deleted_is_made_again(cluster: VirtualCluster) -> None:
    settled(cluster, TEMPLATE, pod("p", FROM_TEMPLATE))
    (first,) = claims(cluster)

    request(cluster, "DELETE", f"{CLAIMS}/{first['metadata']['name']}")

    (second,) = claims(cluster)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    statuses = cluster.get(f"{PODS}/p")["status"]["resourceClaimStatuses"]
    assert statuses == [{"name": "g", "resourceClaimName": second["metadata"]["name"]}]


@pytest.mark.parametrize(
    ("pod_name", "claim_name", "prefix"),
    [
        pytest.param("web-0", "gpu", "web-0-gpu-", id="short"),
        pytest.param("p" * 50, "c" * 50, "p" * 27 + "-" + "c" * 27, id="both are long"),
        pytest.param("p" * 80, "gpu", "p" * 53 + "-g" + "p", id="a long pod"),
    ],
)
def test_long_names_are_shortened_in_proportion(pod_name: str, claim_name: str, prefix: str) -> None:
    """At most 57 letters remain beside the suffix; the claim's share is not lost."""
    name = generated_name(pod_name, claim_name)

    assert name == prefix
    assert len(name) <= 57


# --- reservations -----------------------------------------------------------------------------------------


def test_a_pod_that_was_bound_without_a_scheduler_reserves_its_claim(cluster: VirtualCluster) -> None:
    settled(cluster, CLAIM, pod("p", SHARED, nodeName="node-1"))

    allocate(cluster, "shared")

    (claim,) = claims(cluster)
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": cluster.pod("p").uid}]


def test_a_claim_is_deallocated_when_its_last_pod_ends(cluster: VirtualCluster) -> None:
    """One pod after the other; the claim itself stays."""
    settled(cluster, CLAIM, pod("p", SHARED, nodeName="node-1"), pod("q", SHARED, nodeName="node-1"))
    allocate(cluster, "shared", "p", "q")

    request(cluster, "PATCH", f"{PODS}/p/status", {"status": {"phase": "Succeeded"}})
    (claim,) = claims(cluster)
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["q"]
    assert claim["status"]["allocation"] == ALLOCATION

    request(cluster, "DELETE", f"{PODS}/q")
    (claim,) = claims(cluster)
    assert claim["status"] == {}
    assert "finalizers" not in claim["metadata"]


def test_an_allocation_that_nobody_reserved_stays(cluster: VirtualCluster) -> None:
    """Somebody may have allocated it in advance."""
    settled(cluster, CLAIM)

    allocate(cluster, "shared")

    (claim,) = claims(cluster)
    assert claim["status"]["allocation"] == ALLOCATION


def test_a_deleted_claim_goes_when_it_is_not_used(cluster: VirtualCluster) -> None:
    """Its finalizer waits for its pods."""
    settled(cluster, CLAIM, pod("p", SHARED, nodeName="node-1"))
    allocate(cluster, "shared", "p")
    request(cluster, "DELETE", f"{CLAIMS}/shared")
    assert len(claims(cluster)) == 1

    request(cluster, "DELETE", f"{PODS}/p")

    assert claims(cluster) == []


def test_other_consumers_are_left_alone(cluster: VirtualCluster) -> None:
    """Only pods can be checked."""
    settled(cluster, CLAIM)
    consumer = {"apiGroup": "example.com", "resource": "jobs", "name": "j", "uid": "j"}
    gone = {"resource": "pods", "name": "gone", "uid": "gone"}
    status = {"status": {"allocation": ALLOCATION, "reservedFor": [consumer, gone]}}

    request(cluster, "PATCH", f"{CLAIMS}/shared/status", status)

    (claim,) = claims(cluster)
    assert claim["status"]["reservedFor"] == [consumer]


@pytest.mark.parametrize("ends", ["ended", "deleted"])
def test_a_claim_from_a_template_goes_with_its_pod(cluster: VirtualCluster, ends: str) -> None:
    """Also if the pod has ended and stays; no new one is made for it."""
    settled(cluster, TEMPLATE, pod("p", FROM_TEMPLATE, nodeName="node-1"))
    (claim,) = claims(cluster)
    allocate(cluster, claim["metadata"]["name"], "p")

    if ends == "ended":
        request(cluster, "PATCH", f"{PODS}/p/status", {"status": {"phase": "Succeeded"}})
    else:
        request(cluster, "DELETE", f"{PODS}/p")

    assert claims(cluster) == []


def test_a_claim_for_extended_resources_goes_with_its_pod(cluster: VirtualCluster) -> None:
    """The scheduler makes it, and its name is in the pod's status."""
    resources = {"limits": {"bayplan.dev/gpu": "1"}}
    body = pod("p", SHARED, containers=[{"name": "c", "image": "i", "resources": resources}], nodeName="node-1")
    del body["spec"]["resourceClaims"]
    settled(cluster, body)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": cluster.pod("p").uid, "controller": True}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "p-extended", "ownerReferences": [owner]},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
    }
    cluster.apply(claim)
    mapping = {"containerName": "c", "resourceName": "bayplan.dev/gpu", "requestName": "gpu"}
    extended = {"resourceClaimName": "p-extended", "requestMappings": [mapping]}
    request(cluster, "PATCH", f"{PODS}/p/status", {"status": {"extendedResourceClaimStatus": extended}})
    allocate(cluster, "p-extended", "p")

    request(cluster, "PATCH", f"{PODS}/p/status", {"status": {"phase": "Failed"}})

    assert claims(cluster) == []
