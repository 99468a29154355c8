"""PodGroups and ElasticQuotas on the embedded cluster: their definitions are there and their status is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bayplan.apiserver.cluster import Cluster

GROUP_API = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default"
OBJECTS = """\
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: pair, namespace: default}
spec: {minMember: 2}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: quota, namespace: default}
spec: {min: {cpu: 2}, max: {cpu: 4, nvidia.com/gpu: 1}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: pair-{i}, namespace: default, labels: {{scheduling.x-k8s.io/pod-group: pair}}}}
spec: {{containers: [{{name: c, image: c, resources: {{requests: {{cpu: 500m, memory: 64Mi}}}}}}]}}
"""


async def until_status(cluster: Cluster, path: str, **expected: Any) -> None:
    """Until the object's status has these fields."""
    status: dict[str, Any] = {}
    try:
        async with asyncio.timeout(30):
            while {key: status.get(key) for key in expected} != expected:
                await asyncio.sleep(0.05)
                status = (await cluster.get(f"{GROUP_API}/{path}")).get("status", {})
    except TimeoutError:
        pytest.fail(f"{path} has the status {status}, not {expected}")


@pytest.mark.asyncio
async def test_status_follows_the_pods() -> None:
    """From a group without pods to one that runs, with a quota that tells what they use; and back."""
    async with Cluster(1) as cluster:
        await cluster.apply(OBJECTS)
        await until_status(cluster, "podgroups/pair", phase="Pending")
        await until_status(cluster, "elasticquotas/quota", used={"cpu": "0", "nvidia.com/gpu": "0"})

        for i in range(2):
            await cluster.apply(POD.format(i=i))
        await until_status(cluster, "podgroups/pair", phase="Running", running=2)
        used = {"cpu": "1", "nvidia.com/gpu": "0", "memory": "128Mi"}
        await until_status(cluster, "elasticquotas/quota", used=used)

        await cluster.client.request("DELETE", "/api/v1/namespaces/default/pods/pair-0")
        await cluster.client.request("DELETE", "/api/v1/namespaces/default/pods/pair-1")
        await until_status(cluster, "podgroups/pair", phase="Pending", running=0)
        await until_status(cluster, "elasticquotas/quota", used={"cpu": "0", "nvidia.com/gpu": "0"})
