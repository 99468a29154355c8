"""Deletion of owners: dependents, namespaces, volumes."""

from __future__ import annotations

from tests.integration.cluster.cluster_driver import ClusterDriver, phases, run_on_cluster

from bayplan.client import NotFoundError

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: small}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: none
  hostPath: {path: /x}
  persistentVolumeReclaimPolicy: Retain
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: large}
spec:
  capacity: {storage: 9Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: none
  hostPath: {path: /y}
  persistentVolumeReclaimPolicy: Retain
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
"""


async def _runs(driver: ClusterDriver) -> bool:
    pods = await driver.pods(app="web")
    return len(pods) == 2 and phases(pods) == {"Running"}


async def _is_gone(
    driver: ClusterDriver, api_version: str, plural: str, name: str, namespace: str = "default"
) -> bool:
    try:
        await driver.get(api_version, plural, name, namespace)
    except NotFoundError:
        return True
    return False


def test_dependents_go_with_their_owner() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _runs(driver))
        await driver.delete("apps/v1", "deployments", "web")

        async def is_empty() -> bool:
            sets = (await driver.cluster.get("/apis/apps/v1/namespaces/default/replicasets"))["items"]
            return not sets and not await driver.pods(app="web")

        await driver.until(is_empty)

    run_on_cluster(scenario)


def test_foreground_deletion_ends_with_the_owner() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _runs(driver))
        await driver.delete("apps/v1", "deployments", "web", body={"propagationPolicy": "Foreground"})

        async def is_gone() -> bool:
            gone = await _is_gone(driver, "apps/v1", "deployments", "web")
            assert not gone or not await driver.pods(app="web"), "the owner went before its pods"
            return gone

        await driver.until(is_gone)

    run_on_cluster(scenario)


def test_orphans_stay() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _runs(driver))
        await driver.delete("apps/v1", "deployments", "web", body={"propagationPolicy": "Orphan"})
        await driver.until(lambda: _is_gone(driver, "apps/v1", "deployments", "web"))
        (left,) = (await driver.cluster.get("/apis/apps/v1/namespaces/default/replicasets"))["items"]
        assert "ownerReferences" not in left["metadata"]
        assert await _runs(driver)

    run_on_cluster(scenario)


def test_a_namespace_is_emptied_before_it_goes() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply("{apiVersion: v1, kind: Namespace, metadata: {name: x}}")
        await driver.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}}")
        await driver.apply(DEPLOYMENT.replace("name: web}\n", "name: web, namespace: x}\n", 1))
        await driver.delete("v1", "namespaces", "x", namespace="")
        await driver.until(lambda: _is_gone(driver, "v1", "namespaces", "x", namespace=""))
        left = (await driver.cluster.get("/api/v1/pods"))["items"]
        assert left == []

    run_on_cluster(scenario)


def test_a_claim_gets_the_smallest_volume_that_fits_and_leaves_it_released() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(CLAIM)

        async def volume_is(phase: str) -> bool:
            volume = await driver.get("v1", "persistentvolumes", "small", namespace="")
            return bool((volume.get("status") or {}).get("phase") == phase)

        await driver.until(lambda: volume_is("Bound"))
        claim = await driver.get("v1", "persistentvolumeclaims", "c")
        assert (claim["spec"]["volumeName"], claim["status"]["phase"]) == ("small", "Bound")
        await driver.delete("v1", "persistentvolumeclaims", "c")
        await driver.until(lambda: volume_is("Released"))

    run_on_cluster(scenario)


def test_a_namespace_that_cannot_go_yet_says_what_is_left() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply("{apiVersion: v1, kind: Namespace, metadata: {name: x}}")
        held = "{name: a, namespace: x, finalizers: [example.com/held]}"
        await driver.apply(f"{{apiVersion: v1, kind: ConfigMap, metadata: {held}}}")
        await driver.delete("v1", "namespaces", "x", namespace="")

        async def conditions() -> dict[str, str]:
            status = (await driver.get("v1", "namespaces", "x", namespace=""))["status"]
            true = [each for each in status.get("conditions", ()) if each["status"] == "True"]
            return {each["type"]: each["message"] for each in true}

        async def is_explained() -> bool:
            held = (
                "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
            )
            return await conditions() == {
                "NamespaceContentRemaining": "Some resources are remaining: configmaps. has 1 resource instances",
                "NamespaceFinalizersRemaining": held,
            }

        await driver.until(is_explained)
        await driver.patch("v1", "configmaps", "a", {"metadata": {"finalizers": None}}, namespace="x")
        await driver.until(lambda: _is_gone(driver, "v1", "namespaces", "x", namespace=""))

    run_on_cluster(scenario)
