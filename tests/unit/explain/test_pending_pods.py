"""Everything that waits, by what would help most."""

from __future__ import annotations

from tests.unit.explain.applied import decision_after, scheduler_of

from bayplan.explain.explanation import AnswerSource, NotSeen, PendingReport
from bayplan.explain.pending_pods import PendingPods
from bayplan.model import KubeObject
from bayplan.testing import make_node, make_pod


def report(*objects: KubeObject, namespace: str | None = None) -> PendingReport:
    return PendingPods(scheduler_of(*objects), AnswerSource(kind="snapshot", description="x")).report(namespace)


def test_as_many_nodes_as_are_needed() -> None:
    """Five pods, two to a node: three nodes more, and they hold when they are made."""
    busy = [make_node("n", cpu="4"), make_pod("o", cpu="4", node_name="n")]
    pods = [make_pod(f"p{i}", cpu="2") for i in range(5)]

    (group,) = report(*busy, *pods).groups

    assert group.summary == "5 pods: 3 more nodes like n would place them all"
    assert group.suggestion is not None
    assert len(group.suggestion.changes) == 3
    assert decision_after(group.suggestion, pods[0], [*busy, *pods[1:]]).node_name


def test_one_change_that_helps_all_comes_before_new_nodes() -> None:
    """A cordoned node is there already."""
    pods = [make_pod(f"p{i}", cpu="1") for i in range(3)]

    (group,) = report(make_node("n", unschedulable=True), *pods).groups

    assert (group.summary, group.n_placed) == ("3 pods: uncordon n", 3)


def test_pods_that_fit_and_pods_with_gates_are_told_apart() -> None:
    groups = report(
        make_node("n"), make_pod("fits"), make_pod("gated", spec={"schedulingGates": [{"name": "g"}]})
    ).groups

    assert [(group.summary.partition(":")[0], [pod.name for pod in group.pods]) for group in groups] == [
        ("1 pod not tried yet", ["gated"]),
        ("1 pod can be placed now", ["fits"]),
    ]


def test_one_namespace_alone() -> None:
    found = report(make_pod("a", namespace="x"), make_pod("b", namespace="y"), namespace="x")

    assert found.n_pending == 1


def test_nothing_waits() -> None:
    found = report(make_node("n"), make_pod("p", node_name="n"))

    assert (found.n_pending, found.groups) == (0, ())


def test_without_nodes_pods_are_grouped_by_what_their_scheduler_says() -> None:
    said = {"type": "PodScheduled", "status": "False", "message": "0/9 nodes are available."}
    pods = [make_pod(name, status={"conditions": [said]}) for name in ("a", "b")]
    source = AnswerSource(
        kind="cluster", description="x", not_seen=(NotSeen(resource="nodes", reason="forbidden"),)
    )

    (group,) = PendingPods(scheduler_of(*pods), source).report().groups

    assert (len(group.pods), group.message, group.suggestion) == (2, "0/9 nodes are available.", None)
    assert "nodes could not be read" in group.summary
