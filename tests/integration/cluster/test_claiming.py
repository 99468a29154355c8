"""Owners adopt and release; a rolling update keeps its limits; failures are conditions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.cluster.cluster_driver import ClusterDriver, Object, names, run_on_cluster

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx:1}]}
"""
REPLICA_SET = """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: set, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx:1}]}
"""
REPLICATION_CONTROLLER = """
apiVersion: v1
kind: ReplicationController
metadata: {name: set}
spec:
  replicas: 2
  selector: {app: web}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx:1}]}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: stray, labels: {app: web}}
spec: {containers: [{name: c, image: nginx:1}]}
"""
QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: none}
spec: {hard: {pods: "0"}}
"""


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", ())
    return "deletionTimestamp" not in pod["metadata"] and any(
        each["type"] == "Ready" and each["status"] == "True" for each in conditions
    )


async def _has_pods(driver: ClusterDriver, count: int) -> bool:
    pods = await driver.pods(app="web")
    return len(pods) == count and all(map(_is_ready, pods))


def _controller(obj: Object) -> str | None:
    owners: list[dict[str, Any]] = obj["metadata"].get("ownerReferences") or []
    return next((owner["name"] for owner in owners if owner.get("controller")), None)


def test_a_rolling_update_without_unavailability_has_all_its_pods_at_every_moment() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _has_pods(driver, 4))
        container = {"name": "c", "image": "nginx:2"}
        await driver.patch(
            "apps/v1", "deployments", "web", {"spec": {"template": {"spec": {"containers": [container]}}}}
        )

        async def is_rolled_out() -> bool:
            pods = await driver.pods(app="web")
            assert sum(map(_is_ready, pods)) >= 4, "maxUnavailable is 0"
            assert sum("deletionTimestamp" not in pod["metadata"] for pod in pods) <= 5, "maxSurge is 1"
            return {pod["spec"]["containers"][0]["image"] for pod in pods} == {"nginx:2"} and len(pods) == 4

        await driver.until(is_rolled_out)

    run_on_cluster(scenario)


@pytest.mark.parametrize("manifest", [REPLICA_SET, REPLICATION_CONTROLLER], ids=["ReplicaSet", "RC"])
def test_a_set_adopts_a_pod_that_matches_and_releases_one_that_no_longer_does(manifest: str) -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(POD)
        await driver.apply(manifest)
        await driver.until(lambda: _has_pods(driver, 2))
        stray = await driver.get("v1", "pods", "stray")
        assert _controller(stray) == "set", "one pod was there already, so only one was made"
        await driver.patch("v1", "pods", "stray", {"metadata": {"labels": {"app": "other"}}})

        async def is_replaced() -> bool:
            released = _controller(await driver.get("v1", "pods", "stray")) is None
            return released and await _has_pods(driver, 2)

        await driver.until(is_replaced)
        assert "stray" not in names(await driver.pods(app="web"))

    run_on_cluster(scenario)


def test_a_set_adopts_a_pod_that_comes_later_and_deletes_the_surplus() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(REPLICA_SET)
        await driver.until(lambda: _has_pods(driver, 2))
        await driver.apply(POD)

        async def are_two() -> bool:
            pods = await driver.pods(app="web")
            return len(pods) == 2 and all(_controller(pod) == "set" for pod in pods)

        await driver.until(are_two)

    run_on_cluster(scenario)


def test_a_deployment_adopts_a_replica_set_and_releases_it() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(REPLICA_SET.replace("{app: web}", "{app: web, hash: x}"))
        await driver.apply(DEPLOYMENT)

        async def owner() -> str | None:
            return _controller(await driver.get("apps/v1", "replicasets", "set"))

        async def is_owned() -> bool:
            return await owner() == "web"

        async def is_free() -> bool:
            return await owner() is None

        await driver.until(is_owned)
        await driver.patch("apps/v1", "replicasets", "set", {"metadata": {"labels": {"app": "other"}}})
        await driver.until(is_free)

    run_on_cluster(scenario)


def test_pods_that_cannot_be_created_are_a_condition_of_the_set_and_of_its_deployment() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(QUOTA)
        await driver.apply(DEPLOYMENT)

        async def failure() -> Object | None:
            status = (await driver.get("apps/v1", "deployments", "web")).get("status") or {}
            found = (each for each in status.get("conditions", ()) if each["type"] == "ReplicaFailure")
            return next(found, None)

        await driver.until(failure)
        condition = await failure()
        assert condition is not None
        assert (condition["status"], condition["reason"]) == ("True", "FailedCreate")
        assert "exceeded quota: none" in condition["message"]
        await driver.delete("v1", "resourcequotas", "none")

        async def is_over() -> bool:
            return await failure() is None and await _has_pods(driver, 4)

        await driver.until(is_over)

    run_on_cluster(scenario)
