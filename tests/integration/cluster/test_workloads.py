"""Deployments, StatefulSets, DaemonSets and Jobs on the embedded cluster."""

from __future__ import annotations

from tests.integration.cluster.story import World, names, phases, tell

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


async def _is_available(world: World, count: int) -> bool:
    status = (await world.get("apps/v1", "deployments", "web")).get("status") or {}
    return all(status.get(field, 0) == count for field in ("replicas", "updatedReplicas", "availableReplicas"))


def test_a_deployment_gets_its_pods_and_keeps_their_number() -> None:
    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _is_available(world, 4))
        assert phases(await world.pods(app="web")) == {"Running"}
        await world.patch("apps/v1", "deployments", "web", {"spec": {"replicas": 1}})
        await world.until(lambda: _is_available(world, 1))
        (left,) = await world.pods(app="web")
        await world.delete("v1", "pods", left["metadata"]["name"])

        async def is_replaced() -> bool:
            pods = await world.pods(app="web")
            return names(pods).isdisjoint(names([left])) and phases(pods) == {"Running"}

        await world.until(is_replaced)

    tell(story)


def test_a_rollout_replaces_every_pod_and_an_undo_brings_the_first_template_back() -> None:
    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _is_available(world, 4))
        before = names(await world.pods(app="web"))
        for image in ("nginx:2", "nginx:1"):
            container = {"name": "c", "image": image}
            spec = {"template": {"spec": {"containers": [container]}}}
            await world.patch("apps/v1", "deployments", "web", {"spec": spec})

            async def is_rolled_out(image: str = image) -> bool:
                images = {pod["spec"]["containers"][0]["image"] for pod in await world.pods(app="web")}
                return images == {image} and await _is_available(world, 4)

            await world.until(is_rolled_out)
            assert names(await world.pods(app="web")).isdisjoint(before)
        deployment = await world.get("apps/v1", "deployments", "web")
        assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"

    tell(story)


def test_a_stateful_set_begins_in_order_with_claims_of_its_own() -> None:
    async def story(world: World) -> None:
        await world.apply(STATEFUL_SET)

        async def are_running() -> bool:
            pods = await world.pods(app="db")
            # The second one begins when the first one is ready.
            assert "db-1" not in names(pods) or "Running" in phases(
                [p for p in pods if p["metadata"]["name"] == "db-0"]
            )
            return names(pods) == {"db-0", "db-1"} and phases(pods) == {"Running"}

        await world.until(are_running)
        for pod in await world.pods(app="db"):
            claim = await world.get("v1", "persistentvolumeclaims", f"data-{pod['metadata']['name']}")
            assert claim["status"]["phase"] == "Bound"
            volume = await world.get("v1", "persistentvolumes", claim["spec"]["volumeName"], namespace="")
            (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            assert term["matchExpressions"][0]["values"] == [pod["spec"]["nodeName"]]
        await world.patch("apps/v1", "statefulsets", "db", {"spec": {"replicas": 1}})

        async def is_smaller() -> bool:
            return names(await world.pods(app="db")) == {"db-0"}

        await world.until(is_smaller)
        claim = await world.get("v1", "persistentvolumeclaims", "data-db-1")
        assert claim["status"]["phase"] == "Bound", "claims outlive their pods"

    tell(story)


def test_a_daemon_set_is_on_every_node_that_it_tolerates() -> None:
    async def story(world: World) -> None:
        taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
        await world.patch("v1", "nodes", "node-3", {"spec": {"taints": [taint]}}, namespace="")
        await world.apply(DAEMON_SET)

        async def nodes() -> set[str]:
            pods = await world.pods(app="agent")
            return {p["spec"].get("nodeName", "") for p in pods if p["status"].get("phase") == "Running"}

        async def are_on(*expected: str) -> bool:
            return await nodes() == set(expected)

        await world.until(lambda: are_on("node-1", "node-2"))
        await world.patch("v1", "nodes", "node-3", {"spec": {"taints": None}}, namespace="")
        await world.until(lambda: are_on("node-1", "node-2", "node-3"))
        status = (await world.get("apps/v1", "daemonsets", "agent"))["status"]
        assert (status["desiredNumberScheduled"], status["currentNumberScheduled"]) == (3, 3)

    tell(story)


def test_a_job_ends_after_the_time_that_its_annotation_says() -> None:
    async def story(world: World) -> None:
        await world.apply(JOB.format(code=0))

        async def is_complete() -> bool:
            status = (await world.get("batch/v1", "jobs", "sum")).get("status") or {}
            return any(each["type"] == "Complete" for each in status.get("conditions", ()))

        took = await world.until(is_complete)
        assert 1200 <= round(took) < 1260, "three pods, two at a time, ten minutes each"
        assert (await world.get("batch/v1", "jobs", "sum"))["status"]["succeeded"] == 3

    tell(story)


def test_a_job_whose_pods_fail_gives_up() -> None:
    async def story(world: World) -> None:
        await world.apply(JOB.format(code=1))

        async def has_failed() -> bool:
            status = (await world.get("batch/v1", "jobs", "sum")).get("status") or {}
            return any(each.get("reason") == "BackoffLimitExceeded" for each in status.get("conditions", ()))

        await world.until(has_failed)

    tell(story)
