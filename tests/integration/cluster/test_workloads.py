"""Deployments, StatefulSets, DaemonSets and Jobs on the embedded cluster."""

from __future__ import annotations

from tests.integration.cluster.cluster_driver import ClusterDriver, names, phases, run_on_cluster

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx:1}]}
"""
STATEFUL_SET = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: simulated.bayplan.dev
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: pg}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
"""
DAEMON_SET = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: agent}]}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: sum}}
spec:
  completions: 3
  parallelism: 2
  backoffLimit: 1
  template:
    metadata: {{annotations: {{bayplan.dev/run-seconds: "600", bayplan.dev/exit-code: "{code}"}}}}
    spec: {{restartPolicy: Never, containers: [{{name: c, image: sum}}]}}
"""


async def _is_available(driver: ClusterDriver, count: int) -> bool:
    status = (await driver.get("apps/v1", "deployments", "web")).get("status") or {}
    return all(status.get(field, 0) == count for field in ("replicas", "updatedReplicas", "availableReplicas"))


def test_a_deployment_gets_its_pods_and_keeps_their_number() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _is_available(driver, 4))
        assert phases(await driver.pods(app="web")) == {"Running"}
        await driver.patch("apps/v1", "deployments", "web", {"spec": {"replicas": 1}})
        await driver.until(lambda: _is_available(driver, 1))
        (left,) = await driver.pods(app="web")
        await driver.delete("v1", "pods", left["metadata"]["name"])

        async def is_replaced() -> bool:
            pods = await driver.pods(app="web")
            return names(pods).isdisjoint(names([left])) and phases(pods) == {"Running"}

        await driver.until(is_replaced)

    run_on_cluster(scenario)


def test_a_rollout_replaces_every_pod_and_an_undo_brings_the_first_template_back() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _is_available(driver, 4))
        before = names(await driver.pods(app="web"))
        for image in ("nginx:2", "nginx:1"):
            container = {"name": "c", "image": image}
            spec = {"template": {"spec": {"containers": [container]}}}
            await driver.patch("apps/v1", "deployments", "web", {"spec": spec})

            async def is_rolled_out(image: str = image) -> bool:
                images = {pod["spec"]["containers"][0]["image"] for pod in await driver.pods(app="web")}
                return images == {image} and await _is_available(driver, 4)

            await driver.until(is_rolled_out)
            assert names(await driver.pods(app="web")).isdisjoint(before)
        deployment = await driver.get("apps/v1", "deployments", "web")
        assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"

    run_on_cluster(scenario)


def test_a_stateful_set_begins_in_order_with_claims_of_its_own() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(STATEFUL_SET)

        async def are_running() -> bool:
            pods = await driver.pods(app="db")
            # The second one starts when the first one is ready.
            assert "db-1" not in names(pods) or "Running" in phases(
                [p for p in pods if p["metadata"]["name"] == "db-0"]
            )
            return names(pods) == {"db-0", "db-1"} and phases(pods) == {"Running"}

        await driver.until(are_running)
        for pod in await driver.pods(app="db"):
            claim = await driver.get("v1", "persistentvolumeclaims", f"data-{pod['metadata']['name']}")
            assert claim["status"]["phase"] == "Bound"
            volume = await driver.get("v1", "persistentvolumes", claim["spec"]["volumeName"], namespace="")
            (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            assert term["matchExpressions"][0]["values"] == [pod["spec"]["nodeName"]]
        await driver.patch("apps/v1", "statefulsets", "db", {"spec": {"replicas": 1}})

        async def is_smaller() -> bool:
            return names(await driver.pods(app="db")) == {"db-0"}

        await driver.until(is_smaller)
        claim = await driver.get("v1", "persistentvolumeclaims", "data-db-1")
        assert claim["status"]["phase"] == "Bound", "claims outlive their pods"

    run_on_cluster(scenario)


def test_a_daemon_set_is_on_every_node_that_it_tolerates() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
        await driver.patch("v1", "nodes", "node-3", {"spec": {"taints": [taint]}}, namespace="")
        await driver.apply(DAEMON_SET)

        async def nodes() -> set[str]:
            pods = await driver.pods(app="agent")
            return {p["spec"].get("nodeName", "") for p in pods if p["status"].get("phase") == "Running"}

        async def are_on(*expected: str) -> bool:
            return await nodes() == set(expected)

        await driver.until(lambda: are_on("node-1", "node-2"))
        await driver.patch("v1", "nodes", "node-3", {"spec": {"taints": None}}, namespace="")
        await driver.until(lambda: are_on("node-1", "node-2", "node-3"))
        status = (await driver.get("apps/v1", "daemonsets", "agent"))["status"]
        assert (status["desiredNumberScheduled"], status["currentNumberScheduled"]) == (3, 3)

    run_on_cluster(scenario)


def test_a_job_ends_after_the_time_that_its_annotation_says() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(JOB.format(code=0))

        async def is_complete() -> bool:
            status = (await driver.get("batch/v1", "jobs", "sum")).get("status") or {}
            return any(each["type"] == "Complete" for each in status.get("conditions", ()))

        took = await driver.until(is_complete)
        assert 1200 <= round(took) < 1260, "three pods, two at a time, ten minutes each"
        assert (await driver.get("batch/v1", "jobs", "sum"))["status"]["succeeded"] == 3

    run_on_cluster(scenario)


def test_a_job_whose_pods_fail_gives_up() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(JOB.format(code=1))

        async def has_failed() -> bool:
            status = (await driver.get("batch/v1", "jobs", "sum")).get("status") or {}
            return any(each.get("reason") == "BackoffLimitExceeded" for each in status.get("conditions", ()))

        await driver.until(has_failed)

    run_on_cluster(scenario)
