"""ResourceQuotas on a running cluster: counted by their controller, enforced by admission."""

from __future__ import annotations

import pytest
from tests.integration.cluster.cluster_driver import ClusterDriver, run_on_cluster

from bayplan.client import ApiError

QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {pods: "2", requests.cpu: "1", count/configmaps: "3", count/deployments.apps: "5"}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  containers: [{name: c, image: nginx, resources: {requests: {cpu: 300m}}}]
"""
#: Completes after a minute.
ENDS = """
apiVersion: v1
kind: Pod
metadata: {name: two, annotations: {bayplan.dev/run-seconds: "60"}}
spec:
  restartPolicy: Never
  containers: [{name: c, image: nginx, resources: {requests: {cpu: 300m}}}]
"""
#: Three pods are wanted where two are allowed.
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]}
"""


async def _used(driver: ClusterDriver) -> dict[str, str]:
    status = (await driver.get("v1", "resourcequotas", "team")).get("status") or {}
    used: dict[str, str] = status.get("used") or {}
    return used


async def _becomes(driver: ClusterDriver, **expected: str) -> None:
    async def is_so() -> bool:
        return expected.items() <= (await _used(driver)).items()

    await driver.until(is_so)


def test_existing_objects_are_counted() -> None:
    """A new quota counts existing objects; only the resources it limits are in its status."""

    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(POD.replace("NAME", "early"))
        await driver.apply(QUOTA)
        await _becomes(driver, pods="1")
        quota = await driver.get("v1", "resourcequotas", "team")
        assert quota["status"]["hard"] == quota["spec"]["hard"]
        assert quota["status"]["used"] == {
            "pods": "1", "requests.cpu": "300m", "count/configmaps": "0", "count/deployments.apps": "0",
        }  # fmt: skip

    run_on_cluster(scenario)


def test_deleted_pods_make_room() -> None:
    """A third pod is refused until one of two is deleted; a finished pod does not count either."""

    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(QUOTA)
        await _becomes(driver, pods="0")
        await driver.apply(POD.replace("NAME", "one"))
        await driver.apply(ENDS)
        with pytest.raises(
            ApiError, match="exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2"
        ):
            await driver.client.request("POST", "/api/v1/namespaces/default/pods", _body("three"))

        await driver.delete("v1", "pods", "one")
        await _becomes(driver, pods="1")
        await driver.apply(POD.replace("NAME", "three"))
        await _becomes(driver, **{"pods": "2", "requests.cpu": "600m"})
        await _becomes(driver, **{"pods": "1", "requests.cpu": "300m"})  # the one that ends

    run_on_cluster(scenario)


def test_deployments_wait_for_room() -> None:
    """A ReplicaSet retries until there is room."""

    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(QUOTA)
        await _becomes(driver, pods="0")
        await driver.apply(DEPLOYMENT)
        await _becomes(driver, **{"pods": "2", "count/deployments.apps": "1"})
        await driver.patch("v1", "resourcequotas", "team", {"spec": {"hard": {"pods": "9"}}})
        await _becomes(driver, pods="3")

    run_on_cluster(scenario)


def _body(name: str) -> dict[str, object]:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "300m"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
