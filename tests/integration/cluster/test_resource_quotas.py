"""ResourceQuotas on a running cluster: counted by their controller, enforced by admission."""

from __future__ import annotations

import pytest
from tests.integration.cluster.story import World, tell

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
#: Over after a minute.
ENDS = """
apiVersion: v1
kind: Pod
metadata: {name: two, annotations: {bayplan.dev/run-seconds: "60"}}
spec:
  restartPolicy: Never
  containers: [{name: c, image: nginx, resources: {requests: {cpu: 300m}}}]
"""
#: Three pods are wanted where two may be.
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


async def _used(world: World) -> dict[str, str]:
    status = (await world.get("v1", "resourcequotas", "team")).get("status") or {}
    used: dict[str, str] = status.get("used") or {}
    return used


async def _becomes(world: World, **expected: str) -> None:
    async def is_so() -> bool:
        return expected.items() <= (await _used(world)).items()

    await world.until(is_so)


def test_what_is_there_is_counted() -> None:
    """A new quota counts what was there before it; only what it names is in its status."""

    async def story(world: World) -> None:
        await world.apply(POD.replace("NAME", "early"))
        await world.apply(QUOTA)
        await _becomes(world, pods="1")
        quota = await world.get("v1", "resourcequotas", "team")
        assert quota["status"]["hard"] == quota["spec"]["hard"]
        assert quota["status"]["used"] == {
            "pods": "1", "requests.cpu": "300m", "count/configmaps": "0", "count/deployments.apps": "0",
        }  # fmt: skip

    tell(story)


def test_what_goes_makes_room() -> None:
    """A third pod is refused until one of two is gone; a pod that has ended is gone as well."""

    async def story(world: World) -> None:
        await world.apply(QUOTA)
        await _becomes(world, pods="0")
        await world.apply(POD.replace("NAME", "one"))
        await world.apply(ENDS)
        with pytest.raises(
            ApiError, match="exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2"
        ):
            await world.client.request("POST", "/api/v1/namespaces/default/pods", _body("three"))

        await world.delete("v1", "pods", "one")
        await _becomes(world, pods="1")
        await world.apply(POD.replace("NAME", "three"))
        await _becomes(world, **{"pods": "2", "requests.cpu": "600m"})
        await _becomes(world, **{"pods": "1", "requests.cpu": "300m"})  # the one that ends

    tell(story)


def test_deployments_wait_for_room() -> None:
    """A ReplicaSet goes on trying: more room, more pods."""

    async def story(world: World) -> None:
        await world.apply(QUOTA)
        await _becomes(world, pods="0")
        await world.apply(DEPLOYMENT)
        await _becomes(world, **{"pods": "2", "count/deployments.apps": "1"})
        await world.patch("v1", "resourcequotas", "team", {"spec": {"hard": {"pods": "9"}}})
        await _becomes(world, pods="3")

    tell(story)


def _body(name: str) -> dict[str, object]:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "300m"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}
