"""Placements of another scheduler, compared with the decision: the class of each."""

from __future__ import annotations

from tests.unit.shadow.shadowed import judge_of, on, order_of, place, sampling

from bayplan.explain.what_if_scheduler import ObjectChange
from bayplan.model import Node
from bayplan.testing import make_node, make_pod


def big_and_small() -> list[Node]:
    return [make_node("big", cpu="8", memory="64Gi"), make_node("small", cpu="2", memory="16Gi")]


def test_the_only_best_node_is_the_same() -> None:
    record = place(judge_of(*big_and_small()), make_pod("p", cpu="1", memory="8Gi"), "big")

    assert record is not None
    assert (record.class_, record.best, record.n_best, record.n_better) == ("same", ("big",), 1, 0)
    assert record.total == record.best_total


def test_one_of_several_best_nodes_is_a_tie() -> None:
    record = place(judge_of(make_node("a"), make_node("b")), make_pod("p", cpu="1"), "b")

    assert record is not None
    assert (record.class_, record.best, record.n_best) == ("tie", ("a", "b"), 2)


def test_a_worse_node_is_real_and_says_why() -> None:
    """The differences of the plugins add up to that of the totals."""
    record = place(judge_of(*big_and_small()), make_pod("p", cpu="1", memory="8Gi"), "small")

    assert record is not None
    assert (record.class_, record.n_better) == ("real", 1)
    assert record.total is not None
    assert record.best_total is not None
    assert sum(each.difference for each in record.differences) == record.best_total - record.total > 0
    assert record.reason.startswith(f"big scores {record.best_total}, small {record.total}: NodeResources")


def test_a_node_that_is_not_feasible_is_real() -> None:
    record = place(judge_of(*big_and_small()), make_pod("p", cpu="4"), "small")

    assert record is not None
    assert record.class_ == "real"
    assert record.reason == "small is rejected by NodeResourcesFit: Insufficient cpu"


def test_a_pod_that_fits_nowhere_is_real() -> None:
    record = place(judge_of(*big_and_small()), make_pod("p", cpu="16"), "big")

    assert record is not None
    assert (record.class_, record.best) == ("real", ())
    assert record.reason.startswith("Bayplan finds no node: 0/2 nodes are available: 2 Insufficient cpu")


def many(n_better: int) -> list[Node]:
    """200 nodes, of which some are better than the others."""
    large = [make_node(f"large-{i}", cpu="64", memory="256Gi") for i in range(n_better)]
    return large + [make_node(f"small-{i}", cpu="4", memory="16Gi") for i in range(200 - n_better)]


def test_better_nodes_may_be_outside_the_sample() -> None:
    """Half of 200 nodes: five better ones may all be outside."""
    record = place(judge_of(*many(5), loaded=sampling(50)), make_pod("p", cpu="1", memory="4Gi"), "small-90")

    assert record is not None
    assert (record.class_, record.n_better, record.n_feasible) == ("sample", 5, 200)
    assert record.chance == 91 / 200  # runs from small-0 to small-90; at random it would be 0.03
    assert record.reason.endswith("a sample of 100 of 200 nodes may leave 5 out")


def test_neighbours_may_be_outside_together() -> None:
    """60 better nodes, one after the other: there are runs of 100 nodes without them."""
    record = place(judge_of(*many(60), loaded=sampling(50)), make_pod("p", cpu="1", memory="4Gi"), "small-70")

    assert record is not None
    assert (record.class_, record.n_better) == ("sample", 60)
    assert record.chance == 41 / 200  # from small-0 to small-40


def test_a_sample_without_any_of_many_scattered_nodes_is_not_believed() -> None:
    """Every third node is better: no sample leaves out all of 60."""
    nodes = [
        make_node(f"n{i}", cpu="64" if i % 3 == 0 else "4", memory="256Gi" if i % 3 == 0 else "16Gi")
        for i in range(180)
    ]

    record = place(judge_of(*nodes, loaded=sampling(56)), make_pod("p", cpu="1", memory="4Gi"), "n7")

    assert record is not None
    assert (record.class_, record.n_better) == ("real", 60)


def test_no_sample_leaves_out_so_many_better_nodes() -> None:
    """A sample of 100 has one of 120 better nodes at least."""
    record = place(judge_of(*many(120), loaded=sampling(50)), make_pod("p", cpu="1", memory="4Gi"), "small-7")

    assert record is not None
    assert record.class_ == "real"


def test_without_sampling_nothing_is_outside() -> None:
    record = place(judge_of(*many(20), loaded=sampling(100)), make_pod("p", cpu="1", memory="4Gi"), "small-7")

    assert record is not None
    assert record.class_ == "real"


def test_a_change_that_was_not_seen_yet_explains_a_choice() -> None:
    """The scheduler did not know yet that the better node had got another pod."""
    judge, pod = judge_of(*big_and_small()), make_pod("p", cpu="1", memory="1Gi")
    judge.follow(ObjectChange(None, pod))
    place(judge, make_pod("other", cpu="7", memory="60Gi"), "big")

    record = place(judge, pod, "big")

    assert record is not None
    assert record.class_ == "order"
    assert record.reason == "as if the last 1 change(s) had not been seen"


def test_what_was_there_before_the_pod_was_seen() -> None:
    """A pod is decided after it was created."""
    judge = judge_of(*big_and_small())
    place(judge, make_pod("other", cpu="7", memory="60Gi"), "big")

    record = place(judge, make_pod("p", cpu="1", memory="1Gi"), "big")

    assert record is not None
    assert record.class_ == "real"


def test_what_was_certainly_decided_before_was_seen() -> None:
    """The other pod was first in the queue."""
    judge, order = judge_of(*big_and_small()), order_of()
    other, pod = make_pod("other", cpu="7", memory="60Gi"), make_pod("p", cpu="1", memory="1Gi")
    for each in (other, pod):
        order.add(ObjectChange(None, each), 0)
        judge.follow(ObjectChange(None, each))
    place(judge, other, "big", order)

    record = place(judge, pod, "big", order)

    assert record is not None
    assert record.class_ == "real"


def test_a_bind_that_comes_later_explains_a_choice() -> None:
    """The scheduler had decided about the other pod; its bind took longer."""
    judge, other = judge_of(*big_and_small()), make_pod("other", cpu="7", memory="60Gi")
    judge.follow(ObjectChange(None, other))
    order = order_of(ObjectChange(other, on(other, "big")))

    record = place(judge, make_pod("p", cpu="1", memory="1Gi"), "small", order)

    assert record is not None
    assert record.class_ == "order"
    assert record.reason == "as if the next 1 placement(s) had been decided"
    assert judge.core.cache.n_pods == 1  # the state was tried and undone


def test_a_ranking_that_was_kept_explains_a_choice() -> None:
    """big-2 was filled after the ranking was made, and the next pod of the same kind still goes there."""
    nodes = [make_node(f"big-{i}", cpu="8", memory="64Gi") for i in (1, 2)] + [make_node("small", cpu="6")]

    def replicas() -> list[str]:
        judge = judge_of(*nodes, batches=batches)
        first = place(judge, make_pod("r1", cpu="4", labels={"app": "r"}), "big-1")
        judge.follow(ObjectChange(None, make_pod("late", cpu="3", memory="60Gi", node_name="big-2")))
        second = place(judge, make_pod("r2", cpu="4", labels={"app": "r"}), "big-2")
        assert first is not None
        assert second is not None
        return [first.class_, second.class_]

    batches = True
    assert replicas() == ["tie", "batch"]
    batches = False
    assert replicas() == ["tie", "real"]


def test_pods_of_other_schedulers_are_left_out() -> None:
    pod = make_pod("p", scheduler_name="another")

    assert place(judge_of(*big_and_small()), pod, "small") is None


def test_a_nomination_without_an_attempt_is_not_believed() -> None:
    """kube-scheduler writes the node that it has chosen before a slow bind: that must not decide for us."""
    pod = make_pod("p", cpu="1", memory="8Gi", status={"nominatedNodeName": "small"})

    record = place(judge_of(*big_and_small()), pod, "small")

    assert record is not None
    assert record.class_ == "real"
