"""Explanations: the outcome of a pod, from the decision of a core."""

from __future__ import annotations

from tests.unit.explain.applied import scheduler_of

from bayplan.explain.explainer import Explainer
from bayplan.explain.explanation import AnswerSource, Explanation, NotSeen
from bayplan.model import KubeObject, Pod, ResourceClaim
from bayplan.testing import make_node, make_pod

SOURCE = AnswerSource(kind="snapshot", description="test")


def explain(pod: Pod, *objects: KubeObject, node: str = "") -> Explanation:
    return Explainer(scheduler_of(*objects), SOURCE).explain(pod, node=node, n_suggestions=1)


def test_nodes_are_grouped_by_their_reasons() -> None:
    """With counts that add up, and names; the largest group first."""
    nodes = [make_node(f"small-{i}", cpu="1") for i in range(3)] + [make_node("cordoned", unschedulable=True)]

    answer = explain(make_pod("p", cpu="2"), *nodes)

    assert answer.nodes is not None
    groups = [(group.plugin, group.reasons, group.count, group.nodes) for group in answer.nodes.groups]
    assert groups == [
        ("NodeResourcesFit", ("Insufficient cpu",), 3, ("small-0", "small-1", "small-2")),
        ("NodeUnschedulable", ("node(s) were unschedulable",), 1, ("cordoned",)),
    ]
    assert answer.outcome.summary == "No node takes default/p: 3 Insufficient cpu, 1 node(s) were unschedulable."
    assert answer.outcome.message.startswith(
        "0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient"
    )


def test_a_waiting_pod_knows_what_wakes_it() -> None:
    """The events of the plugins that rejected it."""
    answer = explain(make_pod("p", spec={"nodeSelector": {"disk": "ssd"}}), make_node("n"))

    assert answer.queue is not None
    assert [(each.plugin, each.events) for each in answer.queue.wakes] == [
        ("NodeAffinity", ("Node: Add, UpdateNodeLabel",))
    ]


def test_a_bound_pod_knows_the_next_best_node() -> None:
    """By how much, and which plugins made the difference: they add up to the margin."""
    pod = make_pod("p", cpu="1", node_name="empty")
    busy = [make_node("busy"), make_pod("o", cpu="2", memory="16Gi", node_name="busy")]

    answer = explain(pod, make_node("empty"), *busy, pod)

    assert (answer.outcome.state, answer.outcome.node) == ("Bound", "empty")
    placement = answer.placement
    assert placement is not None
    assert placement.next_best is not None
    assert placement.next_best.node == "busy"
    assert placement.next_best.by == sum(each.difference for each in placement.next_best.differences) > 0
    assert placement.total == sum(each.weighted for each in placement.scores)


def test_a_pod_that_fits_says_where() -> None:
    answer = explain(make_pod("p"), make_node("n"))

    assert (answer.outcome.state, answer.outcome.node, answer.outcome.summary) == (
        "Schedulable",
        "n",
        "default/p fits 1 node of 1.",
    )


def test_one_node_has_every_plugins_verdict() -> None:
    """Also of plugins that come after the one that rejects it."""
    node = make_node("n", cpu="1", taints=["k=v:NoSchedule"])

    answer = explain(make_pod("p", cpu="2"), node, node="n")

    assert answer.node is not None
    assert not answer.node.feasible
    verdicts = {each.plugin: each.status for each in answer.node.verdicts}
    assert (verdicts["TaintToleration"], verdicts["NodeResourcesFit"]) == ("Rejected", "Rejected")
    assert (verdicts["NodeUnschedulable"], verdicts["PodTopologySpread"]) == ("Passed", "Skipped")


def test_preemption_names_its_victims() -> None:
    answer = explain(
        make_pod("p", cpu="4", priority=10), make_node("n"), make_pod("low", cpu="4", node_name="n", priority=1)
    )

    assert answer.outcome.state == "Preempting"
    assert answer.preemption is not None
    assert [(each.name, each.priority) for each in answer.preemption.victims] == [("low", 1)]


def test_a_pod_of_another_scheduler_is_not_ours() -> None:
    answer = explain(make_pod("p", scheduler_name="other"), make_node("n"))

    assert answer.outcome.state == "OtherScheduler"
    assert "'other'" in answer.outcome.summary


def test_a_pod_that_has_ended_needs_no_node() -> None:
    assert explain(make_pod("p", status={"phase": "Succeeded"})).outcome.state == "Ended"


def test_an_empty_cluster_is_told() -> None:
    answer = explain(make_pod("p"))

    assert answer.outcome.summary == "No node takes default/p: no nodes available to schedule pods."


def test_nodes_with_several_reasons_are_a_group_of_their_own() -> None:
    """By the combination of reasons; groups of one plugin do not mix."""
    nodes = [
        *(make_node(f"cpu-{i}", cpu="1") for i in range(3)),
        *(make_node(f"memory-{i}", memory="1Gi") for i in range(2)),
        *(make_node(f"both-{i}", cpu="1", memory="1Gi") for i in range(4)),
        make_node("fits"),
    ]

    answer = explain(make_pod("p", cpu="2", memory="2Gi"), *nodes)

    assert answer.nodes is not None
    assert [(group.reasons, group.nodes) for group in answer.nodes.groups] == [
        (("Insufficient cpu", "Insufficient memory"), tuple(f"both-{i}" for i in range(4))),
        (("Insufficient cpu",), tuple(f"cpu-{i}" for i in range(3))),
        (("Insufficient memory",), tuple(f"memory-{i}" for i in range(2))),
    ]
    assert (answer.nodes.feasible, answer.nodes.feasible_nodes) == (1, ("fits",))


def test_claims_of_devices_are_told() -> None:
    """What a claim asks for, and which claims are not there."""
    claim = ResourceClaim.from_dict(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "gpus", "namespace": "default", "uid": "c"},
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "r",
                            "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2},
                        }
                    ]
                }
            },
        }
    )
    claims = [
        {"name": "a", "resourceClaimName": "gpus"},
        {"name": "b", "resourceClaimName": "missing"},
        {"name": "c", "resourceClaimTemplateName": "each"},
    ]

    answer = explain(make_pod("p", spec={"resourceClaims": claims}), make_node("n"), claim)

    assert [(each.claim, each.summary) for each in answer.devices] == [
        ("gpus", "not allocated; asks for 2 of class gpu"),
        ("missing", "no such claim was seen"),
        ("c", "no claim was made of the template each yet"),
    ]
    assert answer.outcome.summary == 'default/p is not tried yet: could not find ResourceClaim "default/missing".'


BLIND = AnswerSource(
    kind="cluster", description="test", not_seen=(NotSeen(resource="nodes", reason="nodes is forbidden"),)
)


def test_without_nodes_the_pod_speaks_for_itself() -> None:
    """To say that no node takes it would be a guess."""
    said = {"type": "PodScheduled", "status": "False", "message": "0/9 nodes are available: 9 Insufficient cpu."}
    told = make_pod("told", status={"conditions": [said]})
    new, placed = make_pod("new"), make_pod("placed", node_name="n")
    explainer = Explainer(scheduler_of(told, new, placed), BLIND)

    answers = [explainer.explain(each) for each in (told, new, placed)]

    assert [each.outcome.summary for each in answers] == [
        "default/told waits. Nodes could not be read; its scheduler says: 0/9 nodes are available: "
        "9 Insufficient cpu.",
        "default/new waits. Nodes could not be read; no scheduler has said anything about it yet.",
        "default/placed is on n.",
    ]
    assert [each.suggestions for each in answers] == [(), (), ()]
