"""How many nodes workloads need."""

from __future__ import annotations

from typing import Any

from tests.unit.explain.applied import cluster_of, scheduler_of

from bayplan.explain.capacity.capacity_answers import PoolSize
from bayplan.explain.capacity.node_pools import pool_of
from bayplan.explain.capacity.sizing import NodePool, size_pools
from bayplan.model import Pod
from bayplan.testing import make_node

NODE = make_node("a", cpu="4", labels={"pool": "blue"})
DAEMON = Pod.from_dict(
    {
        "metadata": {
            "name": "d",
            "namespace": "default",
            "uid": "d",
            "ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}],
        },
        "spec": {"nodeName": "a", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
    }
)


def size(replicas: int, cpu: str) -> PoolSize:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
    manifest: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "w"},
        "spec": {"replicas": replicas, "template": template},
    }
    scheduler = scheduler_of(NODE, DAEMON)
    report = size_pools(scheduler, cluster_of([NODE, DAEMON]), [manifest], "default", [NodePool("blue", NODE)])
    assert scheduler.core.cache.n_nodes == 1, "the cluster is as before"
    return report.pools[0]


def test_new_nodes_run_the_daemons_too() -> None:
    """Three of four cores are free on each, the first one included."""
    assert size(3, "1").new_nodes == 0
    assert size(4, "1").new_nodes == 1
    assert size(7, "1").new_nodes == 2


def test_a_pod_larger_than_any_node_of_the_pool() -> None:
    found = size(2, "4")

    assert (found.placed, found.new_nodes) == (0, 0)
    assert "Insufficient cpu" in found.message


def test_the_pool_of_a_node() -> None:
    """By the label that was asked for, by a provider's, or by its size."""
    assert pool_of(NODE, "pool") == "blue"
    assert pool_of(make_node("x", labels={"karpenter.sh/nodepool": "spot"})) == "spot"
    assert pool_of(make_node("x", cpu="2", memory="1Gi")) == "2 cpu, 1Gi"
