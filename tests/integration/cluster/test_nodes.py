"""Nodes that fail, are drained or go away, and what becomes of their pods."""

from __future__ import annotations

import pytest
from tests.integration.cluster.story import World, phases, tell

from bayplan.client import ApiError

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: nginx}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: {matchLabels: {app: web}}
"""
BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
"""


async def _nodes(world: World) -> set[str]:
    """Where running pods are that nobody deletes."""
    pods = [pod for pod in await world.pods(app="web") if "deletionTimestamp" not in pod["metadata"]]
    return {pod["spec"].get("nodeName", "") for pod in pods if pod["status"].get("phase") == "Running"}


async def _all_run(world: World, *nodes: str) -> bool:
    pods = await world.pods(app="web")
    return len(pods) == 3 and phases(pods) == {"Running"} and await _nodes(world) <= set(nodes)


async def _taints(world: World, node: str) -> set[tuple[str, str]]:
    taints = (await world.get("v1", "nodes", node, namespace=""))["spec"].get("taints") or []
    return {(taint["key"].removeprefix("node.kubernetes.io/"), taint["effect"]) for taint in taints}


def test_pods_leave_a_node_that_is_not_ready_after_their_toleration() -> None:
    """Every pod tolerates it for five minutes, as admission has written into it."""

    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _all_run(world, "node-1", "node-2", "node-3"))
        fault = {"metadata": {"annotations": {"bayplan.dev/simulate": "NotReady"}}}
        await world.patch("v1", "nodes", "node-1", fault, namespace="")

        async def is_tainted() -> bool:
            return await _taints(world, "node-1") == {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}

        await world.until(is_tainted)
        took = await world.until(lambda: _all_run(world, "node-2", "node-3"))
        assert 295 < took < 310
        await world.patch(
            "v1", "nodes", "node-1", {"metadata": {"annotations": {"bayplan.dev/simulate": None}}}, namespace=""
        )

        async def has_recovered() -> bool:
            return not await _taints(world, "node-1")

        await world.until(has_recovered)

    tell(story)


def test_a_pod_on_an_unreachable_node_is_not_said_to_have_stopped() -> None:
    """Nobody can know: it stays, marked, until the node is back."""

    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _all_run(world, "node-1", "node-2", "node-3"))
        fault = {"metadata": {"annotations": {"bayplan.dev/simulate": "Unreachable"}}}
        await world.patch("v1", "nodes", "node-1", fault, namespace="")

        async def are_replaced() -> bool:
            pods = await world.pods(app="web")
            return len(pods) == 4 and await _nodes(world) <= {"node-2", "node-3"}

        await world.until(are_replaced)
        marked = [pod for pod in await world.pods(app="web") if "deletionTimestamp" in pod["metadata"]]
        assert [pod["spec"]["nodeName"] for pod in marked] == ["node-1"]

    tell(story)


def test_pods_of_a_node_that_is_removed_are_placed_elsewhere() -> None:
    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _all_run(world, "node-1", "node-2", "node-3"))
        await world.delete("v1", "nodes", "node-2", namespace="")
        await world.until(lambda: _all_run(world, "node-1", "node-3"), seconds=60)

    tell(story)


def test_a_budget_allows_an_eviction_only_while_enough_pods_are_left() -> None:
    async def story(world: World) -> None:
        await world.apply(DEPLOYMENT)
        await world.until(lambda: _all_run(world, "node-1", "node-2", "node-3"))
        await world.apply(BUDGET)

        async def allows(count: int) -> bool:
            status = (await world.get("policy/v1", "poddisruptionbudgets", "web")).get("status") or {}
            return bool(status.get("expectedPods", 0) > 0 and status["disruptionsAllowed"] == count)

        await world.until(lambda: allows(0))
        name = (await world.pods(app="web"))[0]["metadata"]["name"]
        path = f"/api/v1/namespaces/default/pods/{name}/eviction"
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": "default"},
        }
        with pytest.raises(ApiError, match="would violate the pod's disruption budget"):
            await world.client.request("POST", path, eviction)
        await world.patch("policy/v1", "poddisruptionbudgets", "web", {"spec": {"minAvailable": 2}})
        await world.until(lambda: allows(1))
        await world.client.request("POST", path, eviction)

    tell(story)
