"""Nodes that fail, are drained or are deleted, and their pods."""

from __future__ import annotations

import asyncio

import pytest
from tests.integration.cluster.cluster_driver import ClusterDriver, phases, run_on_cluster

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


async def _nodes(driver: ClusterDriver) -> set[str]:
    """The nodes of running pods that are not being deleted."""
    pods = [pod for pod in await driver.pods(app="web") if "deletionTimestamp" not in pod["metadata"]]
    return {pod["spec"].get("nodeName", "") for pod in pods if pod["status"].get("phase") == "Running"}


async def _all_run(driver: ClusterDriver, *nodes: str) -> bool:
    pods = await driver.pods(app="web")
    return len(pods) == 3 and phases(pods) == {"Running"} and await _nodes(driver) <= set(nodes)


async def _taints(driver: ClusterDriver, node: str) -> set[tuple[str, str]]:
    taints = (await driver.get("v1", "nodes", node, namespace=""))["spec"].get("taints") or []
    return {(taint["key"].removeprefix("node.kubernetes.io/"), taint["effect"]) for taint in taints}


def test_pods_leave_a_node_that_is_not_ready_after_their_toleration() -> None:
    """Every pod tolerates it for five minutes, as set by admission."""

    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _all_run(driver, "node-1", "node-2", "node-3"))
        fault = {"metadata": {"annotations": {"bayplan.dev/simulate": "NotReady"}}}
        await driver.patch("v1", "nodes", "node-1", fault, namespace="")

        async def is_tainted() -> bool:
            return await _taints(driver, "node-1") == {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}

        await driver.until(is_tainted)
        took = await driver.until(lambda: _all_run(driver, "node-2", "node-3"))
        assert 295 < took < 310
        await driver.patch(
            "v1", "nodes", "node-1", {"metadata": {"annotations": {"bayplan.dev/simulate": None}}}, namespace=""
        )

        async def has_recovered() -> bool:
            return not await _taints(driver, "node-1")

        await driver.until(has_recovered)

    run_on_cluster(scenario)


def test_a_pod_on_an_unreachable_node_is_not_reported_as_stopped() -> None:
    """Its state is unknown: it stays, marked for deletion, until the node is back."""

    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _all_run(driver, "node-1", "node-2", "node-3"))
        fault = {"metadata": {"annotations": {"bayplan.dev/simulate": "Unreachable"}}}
        await driver.patch("v1", "nodes", "node-1", fault, namespace="")

        async def are_replaced() -> bool:
            pods = await driver.pods(app="web")
            return len(pods) == 4 and await _nodes(driver) <= {"node-2", "node-3"}

        await driver.until(are_replaced)
        marked = [pod for pod in await driver.pods(app="web") if "deletionTimestamp" in pod["metadata"]]
        assert [pod["spec"]["nodeName"] for pod in marked] == ["node-1"]

    run_on_cluster(scenario)


def test_pods_of_a_node_that_is_removed_are_placed_elsewhere() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _all_run(driver, "node-1", "node-2", "node-3"))
        await driver.delete("v1", "nodes", "node-2", namespace="")
        await driver.until(lambda: _all_run(driver, "node-1", "node-3"), seconds=60)

    run_on_cluster(scenario)


def test_a_budget_allows_an_eviction_only_while_enough_pods_are_left() -> None:
    async def scenario(driver: ClusterDriver) -> None:
        await driver.apply(DEPLOYMENT)
        await driver.until(lambda: _all_run(driver, "node-1", "node-2", "node-3"))
        await driver.apply(BUDGET)

        async def allows(count: int) -> bool:
            status = (await driver.get("policy/v1", "poddisruptionbudgets", "web")).get("status") or {}
            return bool(status.get("expectedPods", 0) > 0 and status["disruptionsAllowed"] == count)

        await driver.until(lambda: allows(0))
        name = (await driver.pods(app="web"))[0]["metadata"]["name"]
        path = f"/api/v1/namespaces/default/pods/{name}/eviction"
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": "default"},
        }
        with pytest.raises(ApiError, match="would violate the pod's disruption budget"):
            await driver.client.request("POST", path, eviction)
        await driver.patch("policy/v1", "poddisruptionbudgets", "web", {"spec": {"minAvailable": 2}})
        await driver.until(lambda: allows(1))
        await driver.client.request("POST", path, eviction)

    run_on_cluster(scenario)


def test_a_lease_is_renewed_in_time_whatever_changes() -> None:
    """Thousands of nodes change several times while they start: a renewal at each change would slow that down."""

    async def scenario(driver: ClusterDriver) -> None:
        async def version() -> str:
            lease = await driver.get("coordination.k8s.io/v1", "leases", "node-1", "kube-node-lease")
            return str(lease["metadata"]["resourceVersion"])

        await asyncio.sleep(2)
        first = await version()
        await driver.patch("v1", "nodes", "node-1", {"metadata": {"labels": {"a": "b"}}}, namespace="")
        await asyncio.sleep(2)
        assert await version() == first

        await driver.delete("coordination.k8s.io/v1", "leases", "node-1", "kube-node-lease")
        await asyncio.sleep(20)
        assert await version() != first

    run_on_cluster(scenario)
