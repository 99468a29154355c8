"""What every cluster has: the API server's Service, default accounts and classes, slices of endpoints."""

from __future__ import annotations

from tests.integration.cluster.cluster_driver import ClusterDriver, Object, run_on_cluster

from bayplan.client import NotFoundError

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: web}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, ports: [{name: web, containerPort: 8080}]}]}
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
USER = """
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  containers: [{name: c, image: nginx}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
"""
SLOW = """
apiVersion: v1
kind: Pod
metadata: {name: slow}
spec:
  terminationGracePeriodSeconds: 60
  containers: [{name: c, image: nginx, lifecycle: {preStop: {sleep: {seconds: 20}}}}]
"""


async def _is_there(driver: ClusterDriver, api_version: str, plural: str, name: str) -> bool:
    try:
        await driver.get(api_version, plural, name)
    except NotFoundError:
        return False
    return True


async def _runs(driver: ClusterDriver, name: str) -> bool:
    return bool((await driver.get("v1", "pods", name))["status"].get("phase") == "Running")


def test_the_api_server_has_a_service_and_every_namespace_an_account() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        service = await driver.get("v1", "services", "kubernetes")
        assert service["spec"]["ports"][0]["port"] == 443
        assert service["spec"]["clusterIP"]
        await driver.until(lambda: _is_there(driver, "v1", "serviceaccounts", "default"))
        await driver.delete("v1", "serviceaccounts", "default")
        await driver.until(lambda: _is_there(driver, "v1", "serviceaccounts", "default"))

    run_on_cluster(scenario)


def test_a_service_has_a_slice_with_the_pods_that_it_selects() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(SERVICE)

        async def slices() -> list[Object]:
            path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
            items: list[Object] = (
                await driver.cluster.get(f"{path}?labelSelector=kubernetes.io/service-name=web")
            )["items"]
            return items

        async def ready() -> set[str]:
            endpoints = [each for found in await slices() for each in found.get("endpoints") or []]
            return {each["addresses"][0] for each in endpoints if each["conditions"]["ready"]}

        async def all_ready() -> bool:
            return len(await ready()) == 2

        await driver.until(all_ready)
        assert await ready() == {pod["status"]["podIP"] for pod in await driver.pods(app="web")}
        (only,) = await slices()
        assert [(each["name"], each["port"]) for each in only["ports"]] == [("http", 8080)]
        await driver.delete("v1", "services", "web")

        async def are_gone() -> bool:
            return not await slices()

        await driver.until(are_gone)

    run_on_cluster(scenario)


def test_a_claim_without_a_class_gets_a_volume_of_the_default_class_and_stays_while_it_is_used() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(CLAIM)
        await driver.apply(USER)
        await driver.until(lambda: _runs(driver, "user"))
        claim = await driver.get("v1", "persistentvolumeclaims", "data")
        assert (claim["spec"]["storageClassName"], claim["status"]["phase"]) == ("standard", "Bound")
        await driver.delete("v1", "persistentvolumeclaims", "data")
        await driver.stay(lambda: _is_there(driver, "v1", "persistentvolumeclaims", "data"), 30.0)
        await driver.delete("v1", "pods", "user")

        async def is_gone() -> bool:
            return not await _is_there(driver, "v1", "persistentvolumeclaims", "data")

        await driver.until(is_gone)

    run_on_cluster(scenario)


def test_a_claim_that_waits_says_why_and_goes_on_when_its_class_comes() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        spec = "{accessModes: [ReadWriteOnce]"
        await driver.apply(CLAIM.replace(spec, spec + ", storageClassName: later"))

        async def messages() -> list[str]:
            path = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=data"
            return [event["message"] for event in (await driver.cluster.get(path))["items"]]

        await driver.until(messages)
        assert await messages() == ['storageclass.storage.k8s.io "later" not found']
        await driver.apply(
            "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: later}, provisioner: any.one}"
        )

        async def is_bound() -> bool:
            claim = await driver.get("v1", "persistentvolumeclaims", "data")
            return bool(claim["status"].get("phase") == "Bound")

        await driver.until(is_bound)

    run_on_cluster(scenario)


def test_a_pod_stays_for_its_pre_stop_hook() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(SLOW)
        await driver.until(lambda: _runs(driver, "slow"))
        await driver.delete("v1", "pods", "slow")

        async def is_gone() -> bool:
            return not await _is_there(driver, "v1", "pods", "slow")

        took = await driver.until(is_gone)
        assert 20 <= took < 25, "its hook sleeps for 20 seconds"

    run_on_cluster(scenario)


def test_extended_resources_of_the_capacity_are_allocatable() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        path = "/api/v1/nodes/node-1/status"
        for amount in ("4", "6", None):
            patch = {"status": {"capacity": {"example.com/dongle": amount}}}
            await driver.client.request("PATCH", path, patch)

            async def is_allocatable(amount: str | None = amount) -> bool:
                status = (await driver.cluster.get("/api/v1/nodes/node-1"))["status"]
                return bool(status["allocatable"].get("example.com/dongle") == amount)

            await driver.until(is_allocatable)

    run_on_cluster(scenario)
