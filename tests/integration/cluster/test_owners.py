"""What happens to what belongs to something that is deleted: dependents, namespaces, volumes."""

from __future__ import annotations

from tests.integration.cluster.story import World, phases, tell

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


async def _runs(world: World) -> bool:
    pods = await world.pods(app="web")
    return len(pods) == 2 and phases(pods) == {"Running"}


async def _is_gone(world: World, api_version: str, plural: str, name: str, namespace: str = "default") -> bool:
    try:
        await world.get(api_version, plural, name, namespace)
    except NotFoundError:
        return True
    return False


def test_dependents_go_with_their_owner() -> None:
    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _runs(world))
        await world.delete("apps/v1", "deployments", "web")

        async def is_empty() -> bool:
            sets = (await world.cluster.get("/apis/apps/v1/namespaces/default/replicasets"))["items"]
            return not sets and not await world.pods(app="web")

        await world.until(is_empty)

    tell(story)


def test_foreground_deletion_ends_with_the_owner() -> None:
    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _runs(world))
        await world.delete("apps/v1", "deployments", "web", body={"propagationPolicy": "Foreground"})

        async def is_gone() -> bool:
            gone = await _is_gone(world, "apps/v1", "deployments", "web")
            assert not gone or not await world.pods(app="web"), "the owner went before its pods"
            return gone

        await world.until(is_gone)

    tell(story)


def test_orphans_stay() -> None:
    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _runs(world))
        await world.delete("apps/v1", "deployments", "web", body={"propagationPolicy": "Orphan"})
        await world.until(lambda: _is_gone(world, "apps/v1", "deployments", "web"))
        (left,) = (await world.cluster.get("/apis/apps/v1/namespaces/default/replicasets"))["items"]
        assert "ownerReferences" not in left["metadata"]
        assert await _runs(world)

    tell(story)


def test_a_namespace_is_emptied_before_it_goes() -> None:
    async def story(world: World) -> None:
        await world.apply("{apiVersion: v1, kind: Namespace, metadata: {name: x}}")
        await world.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}}")
        await world.apply(DEPLOYMENT.replace("name: web}\n", "name: web, namespace: x}\n", 1))
        await world.delete("v1", "namespaces", "x", namespace="")
        await world.until(lambda: _is_gone(world, "v1", "namespaces", "x", namespace=""))
        left = (await world.cluster.get("/api/v1/pods"))["items"]
        assert left == []

    tell(story)


def test_a_claim_gets_the_smallest_volume_that_fits_and_leaves_it_released() -> None:
    async def story(world: World) -> None:
        await world.apply(CLAIM)

        async def volume_is(phase: str) -> bool:
            volume = await world.get("v1", "persistentvolumes", "small", namespace="")
            return bool((volume.get("status") or {}).get("phase") == phase)

        await world.until(lambda: volume_is("Bound"))
        claim = await world.get("v1", "persistentvolumeclaims", "c")
        assert (claim["spec"]["volumeName"], claim["status"]["phase"]) == ("small", "Bound")
        await world.delete("v1", "persistentvolumeclaims", "c")
        await world.until(lambda: volume_is("Released"))

    tell(story)
