"""Simulated kubelets start a pod when its claims have devices that are reserved for it."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.testing import VirtualCluster

CLAIM = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c"
MANIFEST = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeName: node-1
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: c}]
"""
RESULT = {"request": "r", "driver": "gpu.bayplan.dev", "pool": "node-1", "device": "gpu-0"}


def write(cluster: VirtualCluster, status: dict[str, Any]) -> None:
    cluster.run(cluster.cluster.client.request("PATCH", f"{CLAIM}/status", {"status": status}))
    cluster.wait(5)


@pytest.fixture
def cluster() -> Any:
    with VirtualCluster(1, devices=["gpu=1"], scheduler=False, controllers=()) as made:
        made.apply(MANIFEST)
        made.wait(5)
        yield made


def test_a_pod_waits_for_its_devices(cluster: VirtualCluster) -> None:
    """An allocation is not enough: it must be reserved for this very pod."""
    assert cluster.pod("p").status.phase == "Pending"
    allocation = {"devices": {"results": [RESULT]}}
    write(cluster, {"allocation": allocation, "reservedFor": [{"resource": "pods", "name": "q", "uid": "q"}]})
    assert cluster.pod("p").status.phase == "Pending"

    write(cluster, {"reservedFor": [{"resource": "pods", "name": "p", "uid": cluster.pod("p").uid}]})

    assert cluster.pod("p").status.phase == "Running"
