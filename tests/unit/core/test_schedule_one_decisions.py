"""One attempt: feasibility, the choice among equals, nominated nodes, texts, errors that stay with their pod."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from bayplan.core import Decision
from bayplan.framework import (
    Code,
    CycleState,
    Diagnosis,
    IntArray,
    NodeInfo,
    NodeTable,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    Status,
    Verdict,
)
from bayplan.model import Node, Pod
from bayplan.testing import Harness, make_node, make_pod


def nodes(*names: str) -> list[Node]:
    return [make_node(name) for name in names]


def plugin(name: str, **methods: Any) -> type[Plugin]:
    """A plugin class whose methods are the given functions."""
    return type(name, (Plugin,), {"name": name, **methods})


class Picky(Plugin):
    """Rejects every node, for its own reason."""

    name = "Picky"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        return Status.unschedulable("too plain")


class NamedScore(Plugin):
    """Scores a node by the number in its name."""

    name = "NamedScore"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return int(node.name.lstrip("n"))


class Listening(Plugin):
    """Notes which nodes it is asked about."""

    name = "Listening"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.asked: list[str] = []

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        self.asked.append(node.name)


def asked_of(harness: Harness) -> list[str]:
    listening = harness.profile().plugins.plugins["Listening"]
    assert isinstance(listening, Listening)
    return listening.asked


# --- how many nodes ----------------------------------------------------------------------------------


def test_no_nodes_at_all() -> None:
    """An empty cluster has its own text, and no plugin is asked."""
    decision = Harness().decide(make_pod("p"))
    assert (decision.reason, decision.message) == ("Unschedulable", "no nodes available to schedule pods")
    assert (decision.status.code, decision.nominate) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "")


def test_one_feasible_node_is_not_scored() -> None:
    """Where one node is left, it is taken without asking for scores."""
    decision = Harness(nodes=[make_node("a", cpu="1"), make_node("b", cpu="8")]).decide(make_pod("p", cpu="4"))
    assert (decision.node_name, decision.scores, decision.record.scores) == ("b", None, None)
    assert (decision.n_feasible, decision.n_evaluated) == (1, 2)


def test_best_total_wins() -> None:
    """Among several nodes the highest total is taken."""
    decision = Harness(nodes=nodes("n1", "n3", "n2"), plugins=[NamedScore], only=True).decide(make_pod("p"))
    assert decision.node_name == "n3"
    assert decision.scores is not None
    assert decision.scores.totals.tolist() == [1, 3, 2]


def test_profile_without_scorers_takes_the_first_found() -> None:
    """With nobody to score, the search ends at the first node that fits; the next begins behind it."""
    harness = Harness(nodes=nodes("a", "b", "c"), plugins=[Listening], only=True)
    decisions = [harness.decide(make_pod(f"p{i}")) for i in range(4)]
    assert [each.node_name for each in decisions] == ["a", "b", "c", "a"]
    assert {(each.scores, each.n_feasible) for each in decisions} == {(None, 1)}


# --- ties --------------------------------------------------------------------------------------------


def _ties(seed: int) -> list[str]:
    harness = Harness(nodes=nodes("a", "b", "c", "d"), seed=seed)
    return [harness.decide(make_pod(f"p{i}")).node_name for i in range(60)]


def test_ties_are_repeatable() -> None:
    """The same seed gives the same choices, another seed gives others."""
    assert _ties(1) == _ties(1) != _ties(2)


def test_ties_reach_every_equal_node() -> None:
    """No node among equals is preferred for good."""
    assert set(_ties(1)) == {"a", "b", "c", "d"}


def test_ties_are_among_the_best_only() -> None:
    """A node with a lower total is never taken."""
    harness = Harness(nodes=[*nodes("a", "b"), make_node("c", taints=["x=y:PreferNoSchedule"])])
    assert {harness.decide(make_pod(f"p{i}")).node_name for i in range(30)} == {"a", "b"}


# --- nominated nodes ---------------------------------------------------------------------------------


def nominated(node_name: str, **fields: Any) -> Pod:
    return make_pod("nominated", status={"nominatedNodeName": node_name}, **fields)


def test_nominated_node_is_tried_alone() -> None:
    """A node promised to the pod is taken if it fits, though another would score higher."""
    harness = Harness(nodes=nodes("n1", "n2", "n9"), plugins=[Listening, NamedScore])
    decision = harness.decide(nominated("n2"))
    assert (decision.node_name, decision.scores, asked_of(harness)) == ("n2", None, ["n2"])
    assert decision.n_feasible == 1


def test_nominated_node_that_does_not_fit() -> None:
    """When the promise does not hold, all nodes are looked at."""
    harness = Harness(nodes=[make_node("n1"), make_node("n2", cpu="1")], plugins=[Listening])
    assert harness.decide(nominated("n2", cpu="2")).node_name == "n1"
    assert asked_of(harness) == ["n1"]


def test_nominated_node_that_is_gone() -> None:
    """A promise of a node that no longer exists means nothing."""
    assert Harness(nodes=nodes("n1")).decide(nominated("gone")).node_name == "n1"


def test_nominated_node_with_a_failing_plugin(caplog: pytest.LogCaptureFixture) -> None:
    """An error on the promised node is logged, and the others are looked at."""
    calls: list[str] = []

    def fails_once(self: Any, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        calls.append(node.name)
        if len(calls) == 1:
            raise ValueError("out of lights")

    harness = Harness(nodes=nodes("n1", "n2"), plugins=[plugin("FailsOnce", filter=fails_once)])
    assert harness.decide(nominated("n2")).node_name in ("n1", "n2")
    assert calls == ["n2", "n1", "n2"]
    assert "Evaluation failed on nominated node" in caplog.messages


@pytest.mark.parametrize(
    ("priority", "fits"), [(10, False), (5, False), (4, True)], ids=["more", "equally", "less important"]
)
def test_room_promised_to_others(priority: int, fits: bool) -> None:
    """A node keeps the room promised to pods of the same or a higher priority, and to no others."""
    harness = Harness(nodes=[make_node("a", cpu="4")])
    harness.core.nominator.add(make_pod("rival", cpu="3", priority=priority), "a")
    decision = harness.decide(make_pod("p", cpu="2", priority=5))
    assert bool(decision.node_name) is fits
    if not fits:
        assert decision.message.startswith("0/1 nodes are available: 1 Insufficient cpu. ")
        assert decision.diagnosis is not None
        assert decision.diagnosis.unschedulable_plugins == {"NodeResourcesFit"}


def test_own_nomination_is_not_counted_twice() -> None:
    """A pod does not have to leave room for itself."""
    harness = Harness(nodes=[make_node("a", cpu="4")])
    pod = nominated("a", cpu="3")
    harness.core.nominator.add(pod, "a")
    assert harness.decide(pod).node_name == "a"


def test_nominated_pods_cannot_be_relied_on() -> None:
    """A node must fit without the promised pods too: they may never come."""
    needs_db = {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
                ]
            }
        }
    }
    harness = Harness(nodes=nodes("a"))
    harness.core.nominator.add(make_pod("db", labels={"app": "db"}, priority=10), "a")
    decision = harness.decide(make_pod("p", spec=needs_db))
    assert decision.message.startswith("0/1 nodes are available: 1 node(s) didn't match pod affinity rules. ")


def test_nominated_pods_that_break_a_plugin() -> None:
    """A plugin that fails while promised pods are counted ends the attempt."""

    def fails(self: Any, *_: Any) -> None:
        raise ValueError("out of lights")

    broken = plugin("Broken", pre_filter=lambda *_: None, add_pod=fails, remove_pod=fails)
    harness = Harness(nodes=nodes("a"), plugins=[broken])
    harness.core.nominator.add(make_pod("rival", priority=10), "a")
    decision = harness.decide(make_pod("p"))
    assert decision.reason == "SchedulerError"
    assert decision.message == 'running AddPod on PreFilter plugin "Broken": out of lights'


def test_nomination_leaves_no_trace() -> None:
    """Counting promised pods changes nothing for the next pod."""
    harness = Harness(nodes=[make_node("a", cpu="4")])
    rival = make_pod("rival", cpu="3", priority=10)
    harness.core.nominator.add(rival, "a")
    assert not harness.decide(make_pod("p", cpu="2")).node_name
    harness.core.nominator.remove(rival)
    assert harness.decide(make_pod("q", cpu="2")).node_name == "a"
    assert [pod.name for pod in harness.core.cache.snapshot().pods()] == []


# --- PreFilter ---------------------------------------------------------------------------------------


def _narrow(*names: str) -> type[Plugin]:
    return plugin("Narrow", pre_filter=lambda *_: PreFilterResult(frozenset(names)))


def test_pre_filter_narrows_the_nodes() -> None:
    """Filters are asked about the named nodes only; names of nodes that do not exist are passed over."""
    harness = Harness(nodes=nodes("a", "b", "c"), plugins=[_narrow("b", "gone"), Listening], only=True)
    assert harness.decide(make_pod("p")).node_name == "b"
    assert asked_of(harness) == ["b"]


def test_nodes_outside_the_subset_have_a_text() -> None:
    """The nodes that PreFilter left out are counted with the names of the plugins that did so."""
    harness = Harness(nodes=nodes("a", "b", "c"), plugins=[_narrow("b"), Picky], only=True)
    decision = harness.decide(make_pod("p"))
    assert decision.message == "0/3 nodes are available: 1 too plain, 2 node(s) didn't satisfy plugin(s) [Narrow]."
    assert decision.diagnosis is not None
    assert decision.diagnosis.unschedulable_plugins == {"Narrow", "Picky"}
    assert decision.diagnosis.status("a").code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_subset_of_missing_nodes_only() -> None:
    """Where none of the named nodes exists, every node was left out."""
    decision = Harness(nodes=nodes("a", "b"), plugins=[_narrow("gone")], only=True).decide(make_pod("p"))
    assert decision.message == "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Narrow]."


@pytest.mark.parametrize(
    "status",
    [Status.unschedulable("not today"), Status.unresolvable("not today")],
    ids=["unschedulable", "unresolvable"],
)
def test_pre_filter_rejects_the_pod(status: Status) -> None:
    """The text stands once, without counting nodes; all nodes have the status."""
    harness = Harness(nodes=nodes("a", "b"), plugins=[plugin("No", pre_filter=lambda *_: status)], only=True)
    decision = harness.decide(make_pod("p"))
    assert (decision.reason, decision.message) == ("Unschedulable", "0/2 nodes are available: not today.")
    assert decision.diagnosis is not None
    assert decision.diagnosis.status("b") == status
    assert (decision.diagnosis.unschedulable_plugins, decision.nominate) == ({"No"}, "")


def test_pending_plugins_are_remembered() -> None:
    """A plugin that waits for an outside event is among those to blame, and among the pending ones."""
    waits = plugin("Waits", filter=lambda *_: Status.pending("soon"))
    decision = Harness(nodes=nodes("a"), plugins=[waits], only=True).decide(make_pod("p"))
    assert decision.diagnosis is not None
    assert decision.diagnosis.unschedulable_plugins == decision.diagnosis.pending_plugins == {"Waits"}


# --- PostFilter --------------------------------------------------------------------------------------


def _post(name: str, answer: PostFilterResult | Status) -> type[Plugin]:
    return plugin(name, post_filter=lambda *_: answer)


def test_post_filter_texts_are_joined() -> None:
    """Every PostFilter plugin that does not help adds its reasons behind the nodes' ones."""
    first, second = _post("First", Status.unschedulable("one")), _post("Second", Status.unschedulable("two"))
    decision = Harness(nodes=nodes("a"), plugins=[Picky, first, second], only=True).decide(make_pod("p"))
    assert decision.message == "0/1 nodes are available: 1 too plain. one, two"
    assert (decision.nominate, decision.victims) == (None, ())


@pytest.mark.parametrize(
    ("answer", "message", "nominate"),
    [
        (PostFilterResult("a", Status.success()), "0/1 nodes are available: 1 too plain.", "a"),
        (PostFilterResult("", Status.unresolvable("no")), "0/1 nodes are available: 1 too plain. no", ""),
        (Status.failed("broken"), "0/1 nodes are available: 1 too plain. broken", None),
    ],
    ids=["success nominates", "unresolvable ends the search", "an error ends the search"],
)
def test_post_filter_that_ends_the_search(answer: Any, message: str, nominate: str | None) -> None:
    """The plugins behind it are not asked, and the pod stays unschedulable in any case."""
    later = _post("Later", Status.unschedulable("never asked"))
    decision = Harness(nodes=nodes("a"), plugins=[Picky, _post("Ends", answer), later], only=True).decide(
        make_pod("p")
    )
    assert (decision.reason, decision.message, decision.nominate) == ("Unschedulable", message, nominate)


def test_post_filter_sees_every_node() -> None:
    """The diagnosis that PostFilter is given has a status for every node."""
    seen: dict[str, Status] = {}

    def look(self: Any, state: CycleState, pod: Pod, verdicts: Diagnosis) -> Status:
        seen.update({str(name): verdicts.status(str(name)) for name in verdicts.nodes.names})
        return Status.unschedulable()

    harness = Harness(
        nodes=nodes("a", "b"), plugins=[_narrow("a"), Picky, plugin("Look", post_filter=look)], only=True
    )
    harness.decide(make_pod("p"))
    assert seen == {
        "a": Status.unschedulable("too plain"),
        "b": Status.unresolvable("node(s) didn't satisfy plugin(s) [Narrow]"),
    }


# --- errors ------------------------------------------------------------------------------------------


def _raises(self: Any, *_: Any) -> Any:
    raise ValueError("out of lights")


def _bad_scores(self: Any, state: CycleState, pod: Pod, table: NodeTable) -> IntArray:
    return np.full(len(table), 101, dtype=np.int64)


SCORES = {"score_nodes": lambda self, state, pod, table: np.zeros(len(table), dtype=np.int64)}


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"pre_filter": _raises}, 'running PreFilter plugin "Bad": out of lights'),
        ({"filter": _raises}, 'running "Bad" filter plugin: out of lights'),
        ({"filter_nodes": _raises}, 'running "Bad" filter plugin: out of lights'),
        ({"pre_score": _raises, **SCORES}, 'running PreScore plugin "Bad": out of lights'),
        ({"score": _raises}, 'running Score plugins: plugin "Bad" failed with: out of lights'),
        ({"score_nodes": _raises}, 'running Score plugins: plugin "Bad" failed with: out of lights'),
        (
            {"normalize_score": _raises, **SCORES},
            'running Normalize on Score plugins: plugin "Bad" failed with: out of lights',
        ),
        (
            {"score_nodes": _bad_scores},
            'applying score defaultWeights on Score plugins: plugin "Bad" returns an invalid score 101, '
            "it should in the range of [0, 100] after normalizing",
        ),
    ],
    ids=[
        "pre_filter raises",
        "filter raises",
        "filter_nodes raises",
        "pre_score raises",
        "score raises",
        "score_nodes raises",
        "normalize_score raises",
        "score out of range",
    ],
)
def test_plugin_that_fails(methods: dict[str, Any], message: str) -> None:
    """The attempt ends as SchedulerError with kube-scheduler's text; the nomination is cleared."""
    harness = Harness(nodes=nodes("a", "b"), plugins=[plugin("Bad", **methods)])
    decision = harness.decide(make_pod("p"))
    assert (decision.reason, decision.message) == ("SchedulerError", message)
    assert (decision.status.code, decision.node_name, decision.nominate) == (Code.ERROR, "", "")


def test_post_filter_that_raises() -> None:
    """A pod that fits nowhere stays Unschedulable; what PostFilter raised is added to its message."""
    decision = Harness(nodes=nodes("a"), plugins=[Picky, plugin("Bad", post_filter=_raises)], only=True).decide(
        make_pod("p")
    )
    assert (decision.reason, decision.message, decision.nominate) == (
        "Unschedulable",
        '0/1 nodes are available: 1 too plain. running PostFilter plugin "Bad": out of lights',
        None,
    )


def test_failing_plugin_costs_one_attempt() -> None:
    """Other pods, and the same pod later, are decided as if nothing had happened."""

    def fails_for_one(self: Any, state: CycleState, pod: Pod, table: NodeTable) -> Verdict:
        if pod.name == "unlucky":
            raise ValueError("out of lights")
        return table.accept_all()

    harness = Harness(nodes=nodes("a"), plugins=[plugin("Fails", filter_nodes=fails_for_one)])
    outcomes = [harness.decide(make_pod(name)).node_name for name in ("fine", "unlucky", "fine")]
    assert outcomes == ["a", "", "a"]


# --- the record --------------------------------------------------------------------------------------


def _steps(decision: Decision) -> list[str]:
    return [name for name, _ in decision.record.steps]


def test_record_has_every_step() -> None:
    """Steps are named after the extension points, in order; those not reached are not there."""
    harness = Harness(nodes=[make_node("a", cpu="4"), make_node("b", cpu="4")])
    assert _steps(harness.decide(make_pod("p"))) == ["PreFilter", "Filter", "PreScore", "Score"]
    assert _steps(harness.decide(make_pod("q", cpu="64"))) == ["PreFilter", "Filter", "PostFilter"]


def test_record_tells_what_was_decided() -> None:
    """Pod, profile, verdicts, scores and node are those of the decision."""
    harness = Harness(nodes=[make_node("a"), make_node("b"), make_node("c", unschedulable=True)])
    pod = make_pod("p")
    decision = harness.decide(pod)
    record = decision.record
    assert (record.pod_key, record.pod_uid, record.profile_name) == ("default/p", pod.uid, "default-scheduler")
    assert record.node_name == decision.node_name
    assert record.scores is decision.scores
    assert record.filter is not None
    assert record.filter.feasible.tolist() == [True, True, False]


def test_slow_attempt_logs_its_steps(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that takes over 100 ms is logged with the time of every step."""
    times = iter(np.arange(0, 10, 0.04).tolist())
    monkeypatch.setattr("bayplan.observe.record.perf_counter", lambda: next(times))
    with caplog.at_level(logging.INFO, logger="bayplan.core"):
        Harness(nodes=nodes("a", "b")).decide(make_pod("p"))
    assert [record.getMessage() for record in caplog.records] == [
        "Slow attempt: pod=default/p total=200.0ms PreFilter=40.0ms Filter=40.0ms PreScore=40.0ms Score=40.0ms"
    ]


def test_quick_attempt_logs_nothing(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 100 ms nothing is said."""
    monkeypatch.setattr("bayplan.observe.record.perf_counter", lambda: 1.0)
    Harness(nodes=nodes("a", "b")).decide(make_pod("p"))
    assert caplog.records == []


def test_removed_node_is_not_chosen_by_its_row() -> None:
    """A node that goes leaves its row to another one; what was kept about the row must not bring it back."""
    harness = Harness(nodes=[make_node(f"n{i}", cpu="1" if i == 0 else "4") for i in range(4)])
    assert harness.decide(make_pod("first", cpu="2")).n_feasible == 3
    harness.core.cache.remove_node("n1")
    decision = harness.decide(make_pod("second", cpu="2"))
    assert decision.scores is not None
    assert sorted(decision.scores.nodes.names.tolist()) == ["n2", "n3"]
    harness.add(make_node("n4"))
    decision = harness.decide(make_pod("third", cpu="2"))
    assert decision.scores is not None
    assert sorted(decision.scores.nodes.names.tolist()) == ["n2", "n3", "n4"]
