"""Drained nodes: where pods go, which cannot, which budgets are in the way."""

from __future__ import annotations

from typing import Any

from tests.unit.explain.applied import cluster_of, scheduler_of

from bayplan.explain.capacity.capacity_answers import DrainPlan
from bayplan.explain.capacity.draining import plan_drain
from bayplan.model import KubeObject, PodDisruptionBudget
from bayplan.testing import make_node, make_pod

NODES = [make_node("a", cpu="4"), make_node("b", cpu="4")]


def plan(*objects: KubeObject, nodes: tuple[str, ...] = ("a",)) -> DrainPlan:
    every = [*NODES, *objects]
    scheduler = scheduler_of(*every)
    found = plan_drain(scheduler, cluster_of(every), nodes)
    assert not any(info.node.spec.unschedulable for info in scheduler.core.cache.snapshot().nodes), "undone"
    return found


def budget(name: str, allowed: int, **labels: str) -> KubeObject:
    selector: dict[str, Any] = {"matchLabels": labels}
    return PodDisruptionBudget.from_dict(
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": selector},
            "status": {"disruptionsAllowed": allowed},
        }
    )


def test_what_one_takes_is_taken_for_the_next() -> None:
    """Two pods of three cores, room for one of them: the more important one."""
    low = make_pod("low", cpu="3", node_name="a", priority=1)
    high = make_pod("high", cpu="1", node_name="a", priority=2)
    found = plan(low, high, make_pod("there", cpu="2", node_name="b"))

    assert [(move.pod.name, move.to_node) for move in found.moves] == [("high", "b"), ("low", "")]
    assert "1 Insufficient cpu" in found.stuck[0].message
    assert found.summary == "a cannot be drained: 1 of 2 pods find another node."


def test_a_drain_of_all_nodes_strands_the_pods() -> None:
    found = plan(make_pod("p", cpu="1", node_name="a"), nodes=("a", "b"))

    assert [move.pod.name for move in found.stuck] == ["p"]


def test_budgets_that_allow_too_few_evictions() -> None:
    pods = [make_pod(f"p{n}", cpu="1", node_name="a", labels={"app": "p"}) for n in range(2)]

    assert plan(*pods, budget("enough", 2, app="p")).budgets == ()
    (one,) = plan(*pods, budget("few", 1, app="p")).budgets
    assert one.message == "1 of 2 pods may be evicted now; the rest when replacements are ready"
    both = plan(*pods, budget("x", 2, app="p"), budget("y", 2, app="p")).budgets
    assert [each.name for each in both] == ["x", "y"]
    assert "more than one budget" in both[0].message
