"""ProfileEvaluation: filters with nominated pods counted, and what-ifs that leave no trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.core.evaluation import ProfileEvaluation
from bayplan.framework import CycleState, Plugin, ScoreOutcome, Status
from bayplan.model import Pod
from bayplan.testing import Harness, make_node, make_pod

NO_ROOM = Status.unschedulable("Insufficient cpu")


def evaluation_of(harness: Harness) -> ProfileEvaluation:
    evaluation = harness.profile().evaluation
    assert isinstance(evaluation, ProfileEvaluation)
    return evaluation


def harness(*pods: Pod) -> Harness:
    """Three nodes with 4 cores each."""
    return Harness(nodes=[make_node(name, cpu="4") for name in "abc"], pods=pods)


def prepared(here: Harness, pod: Pod) -> CycleState:
    state = CycleState()
    profile = here.profile()
    profile.runner.pre_filter(state, pod, profile.handle.snapshot.nodes)
    return state


def test_nominated_pods_are_counted() -> None:
    """A node that has no room beside its nominated pod is rejected, the others are not."""
    here = harness()
    pod, nominated = make_pod("p", cpu="3"), make_pod("nominated", cpu="2", priority=5)
    evaluation, nodes = evaluation_of(here), here.profile().handle.snapshot.nodes
    here.core.nominator.add(nominated, "b")
    state = prepared(here, pod)
    outcome = here.profile().runner.filter(state, pod, nodes)
    assert outcome.feasible.all()
    assert evaluation.with_nominated_pods(state, pod, outcome) is outcome
    position = nodes.position("b")
    assert position is not None
    assert outcome.status(position) == NO_ROOM
    assert outcome.n_rejected == 1
    again = evaluation.filter(state, pod, nodes)
    assert again.feasible.tolist() == outcome.feasible.tolist()
    assert evaluation.filter_node(state, pod, "b") == NO_ROOM
    assert evaluation.filter_node(state, pod, "a").is_success


@pytest.mark.parametrize(
    ("uid", "priority"), [("p", 5), ("nominated", -1)], ids=["the pod itself", "a less important pod"]
)
def test_nominated_pods_that_do_not_count(uid: str, priority: int) -> None:
    """Room is left for other pods of the same or a higher priority."""
    here = harness()
    pod = make_pod("p", cpu="3", metadata={"uid": "p"})
    here.core.nominator.add(make_pod("nominated", cpu="2", priority=priority, metadata={"uid": uid}), "b")
    evaluation = evaluation_of(here)
    assert evaluation.nominated_pods(pod) == {}
    state = prepared(here, pod)
    assert evaluation.filter(state, pod, here.profile().handle.snapshot.nodes).feasible.all()


def test_nominations_for_unknown_nodes() -> None:
    """A nominated node may be deleted before its pod gets there."""
    here = harness()
    pod, nominated = make_pod("p"), make_pod("nominated", priority=5)
    here.core.nominator.add(nominated, "gone")
    evaluation = evaluation_of(here)
    assert evaluation.nominated_pods(pod) == {}
    assert evaluation.filter(prepared(here, pod), pod, here.profile().handle.snapshot.nodes).feasible.all()


def test_pods_move_only_within_a_what_if() -> None:
    """Moving a pod for real is not preemption's business."""
    here = harness(pod := make_pod("p", node_name="a"))
    with pytest.raises(RuntimeError, match="only within what_if"):
        evaluation_of(here).move_pod(CycleState(), make_pod("preemptor"), pod, "a", add=False)


def test_pods_cannot_move_to_a_missing_node() -> None:
    """A node that is not in the snapshot is an error of the caller."""
    evaluation = evaluation_of(harness())
    with evaluation.what_if():
        status = evaluation.move_pod(CycleState(), make_pod("preemptor"), make_pod("p"), "gone", add=True)
    assert status == Status.failed('node "gone" is not in the snapshot')


def test_what_if_leaves_no_trace() -> None:
    """A pod that was removed is back when the what-if ends, an inner one included."""
    here = harness(*(make_pod(f"big-{name}", cpu="4", node_name=name) for name in "abc"))
    evaluation, pod = evaluation_of(here), make_pod("p", cpu="3")
    state = prepared(here, pod)
    big = next(iter(here.profile().handle.snapshot.nodes)).pods[0]
    assert evaluation.filter_node(state, pod, big.node_name) == NO_ROOM
    with evaluation.what_if():
        with evaluation.what_if():
            assert evaluation.move_pod(state, pod, big, big.node_name, add=False).is_success
            assert evaluation.filter_node(state, pod, big.node_name).is_success
        assert evaluation.filter_node(state, pod, big.node_name) == NO_ROOM
    assert evaluation.filter_node(state, pod, big.node_name) == NO_ROOM


def test_scores_for_a_plugin_are_those_of_the_cycle() -> None:
    """The whole scoring of a list of nodes, on a copy of the state: the cycle's own is as before."""
    here = harness(make_pod("there", cpu="2", node_name="b"))
    pod = make_pod("p", cpu="1")
    decision = here.decide(pod)
    assert decision.scores is not None
    evaluation, nodes, state = evaluation_of(here), here.profile().handle.snapshot.nodes, prepared(here, pod)
    before = set(state.keys())
    ranked = evaluation.rank(state, pod, nodes)
    assert isinstance(ranked, ScoreOutcome)
    assert ranked.totals.tolist() == decision.scores.totals.tolist()
    assert set(state.keys()) == before

    assert evaluation.pre_score(state, pod, nodes).is_success
    scored = evaluation.score(state, pod, nodes)
    assert isinstance(scored, ScoreOutcome)
    assert {name: own.raw.tolist() for name, own in scored.by_plugin.items()} == {
        name: own.raw.tolist() for name, own in decision.scores.by_plugin.items()
    }


def test_a_part_of_the_nodes_is_scored() -> None:
    here = harness(make_pod("there", cpu="2", node_name="b"))
    pod, all_nodes = make_pod("p", cpu="1"), here.profile().handle.snapshot.nodes
    nodes = all_nodes.select(np.array([1, 2], dtype=np.int64))
    ranked = evaluation_of(here).rank(prepared(here, pod), pod, nodes)
    assert isinstance(ranked, ScoreOutcome)
    assert len(ranked.totals) == 2
    assert ranked.totals[1] > ranked.totals[0]


class Asking(Plugin):
    """A Score plugin that asks for all scores, its own among them."""

    name = "Asking"

    def score(self, state: Any, pod: Pod, node: Any) -> Any:
        return self.handle.evaluation.rank(state, pod, self.handle.snapshot.nodes)


def test_scoring_within_scoring_is_an_error_with_a_reason() -> None:
    """Of the attempt, not of the scheduler."""
    here = Harness(nodes=[make_node("a"), make_node("b")], plugins=[Asking])
    decision = here.decide(make_pod("p"))
    assert decision.node_name == ""
    assert "handle.evaluation is scoring already: a Score plugin cannot ask for the scores" in decision.message
