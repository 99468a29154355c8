"""Extenders in the scheduling cycle: who is asked about what, and what follows from each answer.

The rules are those of schedule_one.go, extender.go and preemption.go of Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.core.extenders import FakeExtender, decide, with_extenders

from bayplan.core import Decision
from bayplan.framework import Code, CycleState
from bayplan.framework.extenders import ExtenderError, FilterResponse, VictimUids
from bayplan.model import Node
from bayplan.testing import Harness, make_node, make_pod

pytestmark = pytest.mark.asyncio

OOPS = ExtenderError("oops")


@pytest.fixture
def abc() -> Harness:
    """Three nodes alike."""
    return Harness(nodes=[make_node(name) for name in "abc"])


def keeps(*names: str, **failed: str) -> FakeExtender:
    return FakeExtender(on_filter=lambda asked: FilterResponse(names, failed=failed))


def scores_of(decision: Decision) -> dict[str, int]:
    assert decision.scores is not None
    return dict(zip(decision.scores.nodes.names, decision.scores.totals.tolist(), strict=True))


# --- filter ---------------------------------------------------------------------------------------------


async def test_each_extender_is_asked_about_what_is_left(abc: Harness) -> None:
    """One after the other, with a shrinking set; the last one left is taken without scores."""
    first, second = keeps("a", "b"), keeps("b")

    decision = await decide(abc, make_pod("p"), first, second)

    assert (decision.node_name, decision.scores) == ("b", None)
    assert first.asked == [("filter", ["a", "b", "c"])]
    assert second.asked == [("filter", ["a", "b"])]
    assert [(each.verb, each.n_left) for each in decision.record.extenders] == [("filter", 2), ("filter", 1)]


async def test_a_name_that_is_returned_twice_is_two_nodes(abc: Harness) -> None:
    """As in kube-scheduler: scores are computed, and both count. The next extender is asked about both."""
    first, second = keeps("b", "b"), FakeExtender(on_prioritize=lambda asked: [("b", 3)])

    decision = await decide(abc, make_pod("p"), first, second)

    assert (decision.node_name, decision.n_feasible) == ("b", 2)
    assert second.asked == [("prioritize", ["b", "b"])]
    assert decision.scores is not None
    assert decision.scores.nodes.names.tolist() == ["b", "b"]
    alone = await decide(abc, make_pod("p"), keeps("a", "b"))
    assert decision.scores.totals.tolist() == [scores_of(alone)["b"] + 30] * 2


async def test_a_whole_node_that_is_returned_twice_is_two_nodes(abc: Harness) -> None:
    twice = FakeExtender(on_filter=lambda asked: FilterResponse(None, (make_node("b"), make_node("b"))))

    decision = await decide(abc, make_pod("p"), twice)

    assert (decision.node_name, decision.n_feasible) == ("b", 2)
    assert decision.scores is not None
    assert len(decision.scores.totals) == 2


async def test_nobody_is_asked_when_no_node_is_left(abc: Harness) -> None:
    """The first extender keeps none, so there is nothing to ask the second about."""
    second = keeps("a")

    decision = await decide(abc, make_pod("p"), keeps(), second)

    assert (decision.node_name, second.asked) == ("", [])


async def test_an_extender_that_is_not_interested_is_left_alone(abc: Harness) -> None:
    uninterested = FakeExtender(on_filter=lambda asked: OOPS, on_prioritize=lambda asked: OOPS, interested=False)

    decision = await decide(abc, make_pod("p"), uninterested)

    assert decision.node_name
    assert not uninterested.asked


async def test_reasons_of_extenders_stand_in_the_message(abc: Harness) -> None:
    """Unresolvable goes before failed; a node left out without a word has no reason at all."""
    extender = FakeExtender(
        on_filter=lambda asked: FilterResponse((), failed={"a": "busy", "b": "busy"}, unresolvable={"b": "never"})
    )

    decision = await decide(abc, make_pod("p"), extender)

    assert decision.message.startswith("0/3 nodes are available: 1 busy, 1 never. ")
    assert decision.diagnosis is not None
    codes = {name: decision.diagnosis.status(name).code for name in "abc"}
    assert codes == {
        "a": Code.UNSCHEDULABLE,
        "b": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "c": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    }


async def test_a_reason_for_a_node_that_is_not_there_is_counted(abc: Harness) -> None:
    """kube-scheduler keeps whatever names it is given."""
    extender = FakeExtender(on_filter=lambda asked: FilterResponse((), failed={"zzz": "gone"}))

    decision = await decide(abc, make_pod("p"), extender)

    assert decision.message.startswith("0/3 nodes are available: 1 gone. ")


async def test_an_extender_overrules_what_a_plugin_said() -> None:
    """The status of a node is the last one that was set."""
    harness = Harness(nodes=[make_node("small", cpu="1"), make_node("big", cpu="8")])
    extender = keeps(small="mine", big="mine")

    decision = await decide(harness, make_pod("p", cpu="4"), extender)

    assert extender.asked == [("filter", ["big"])]
    assert decision.message.startswith("0/2 nodes are available: 2 mine. ")


@pytest.mark.parametrize(
    ("extender", "rejectors"),
    [
        pytest.param(keeps(), {"Extender"}, id="nodes were taken away"),
        pytest.param(FakeExtender(on_prioritize=lambda asked: []), set(), id="it has no say in it"),
    ],
)
async def test_the_queue_hears_of_extenders(extender: FakeExtender, rejectors: set[str]) -> None:
    """Any event tries a pod again that extenders have rejected, so they stand among its rejectors."""
    harness = Harness(nodes=[make_node("a", cpu="1"), make_node("b", cpu="8")])

    decision = await decide(harness, make_pod("p", cpu="4" if rejectors else "9"), extender)

    assert decision.diagnosis is not None
    assert decision.diagnosis.unschedulable_plugins == {"NodeResourcesFit", *rejectors}


async def test_a_failure_ends_the_attempt(abc: Harness) -> None:
    """An ERROR with the extender's words, and no preemption."""
    decision = await decide(abc, make_pod("p"), FakeExtender(on_filter=lambda asked: OOPS))

    assert (decision.status.code, decision.message, decision.reason) == (Code.ERROR, "oops", "SchedulerError")
    assert [(each.error, each.ignored) for each in decision.record.extenders] == [("oops", False)]


async def test_an_ignorable_failure_is_passed_over(abc: Harness) -> None:
    """As if the extender were not there; the record tells."""
    broken = FakeExtender(on_filter=lambda asked: OOPS, is_ignorable=True)

    decision = await decide(abc, make_pod("p"), broken, keeps("c"))

    assert decision.node_name == "c"
    assert [(each.error, each.ignored) for each in decision.record.extenders] == [("oops", True), ("", False)]


async def test_a_name_that_was_not_asked_about_is_an_error(abc: Harness) -> None:
    decision = await decide(abc, make_pod("p"), keeps("zzz"))

    assert decision.message == (
        'extender "http://fake" claims a filtered node "zzz" which is not found in the input node list'
    )


# --- nodes that come back whole ---------------------------------------------------------------------------


def returns(*nodes: Node) -> FakeExtender:
    return FakeExtender(on_filter=lambda asked: FilterResponse(nodes=nodes))


async def test_returned_nodes_are_scored_as_if_they_were_empty() -> None:
    """kube-scheduler makes new NodeInfos of them, without pods: least allocated is then all of them."""
    nodes = [make_node("a"), make_node("b")]
    full = make_pod("full", cpu="3", node_name="a")
    harness = Harness(nodes=nodes, pods=[full])

    by_name = await decide(harness, make_pod("p", cpu="500m"), keeps("a", "b"))
    whole = await decide(harness, make_pod("p", cpu="500m"), returns(*nodes))

    assert scores_of(by_name)["a"] < scores_of(by_name)["b"]
    assert scores_of(whole)["a"] == scores_of(whole)["b"] > scores_of(by_name)["a"]


async def test_returned_nodes_are_what_the_extender_says() -> None:
    """Labels and taints that it changed count in scores."""
    harness = Harness(nodes=[make_node("a"), make_node("b")])
    shunned = make_node("b", taints=["k=v:PreferNoSchedule"])

    decision = await decide(harness, make_pod("p"), returns(make_node("a"), shunned))

    assert scores_of(decision)["a"] == scores_of(decision)["b"] + 300


async def test_spreading_over_hosts_does_not_see_the_pods_of_returned_nodes() -> None:
    """The count on the host itself is taken on the node; the one of its zone in the snapshot."""
    labels = {"topology.kubernetes.io/zone": "z"}
    nodes = [make_node("a", labels=labels), make_node("b", labels=labels)]
    there = [make_pod(f"x{i}", node_name="a", labels={"app": "x"}) for i in range(3)]
    harness = Harness(nodes=nodes, pods=there)
    pod = make_pod("p", labels={"app": "x"}, spec={"topologySpreadConstraints": [_spread()]})

    by_name = await decide(harness, pod, keeps("a", "b"))
    whole = await decide(harness, pod, returns(*nodes))

    assert _plugin(by_name, "PodTopologySpread") == {"a": 0, "b": 200}
    assert _plugin(whole, "PodTopologySpread") == {"a": 200, "b": 200}


def _spread() -> dict[str, Any]:
    return {
        "topologyKey": "kubernetes.io/hostname",
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }


def _plugin(decision: Decision, plugin: str) -> dict[str, int]:
    assert decision.scores is not None
    weighted = decision.scores.by_plugin[plugin].weighted.tolist()
    return dict(zip(decision.scores.nodes.names, weighted, strict=True))


async def test_affinity_counts_the_pods_of_returned_nodes() -> None:
    """InterPodAffinity looks at the snapshot, whatever the extender returned."""
    nodes = [make_node("a"), make_node("b")]
    term = {
        "weight": 10,
        "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "x"}},
        },
    }
    harness = Harness(nodes=nodes, pods=[make_pod("x", node_name="b", labels={"app": "x"})])
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}

    decision = await decide(harness, make_pod("p", spec={"affinity": affinity}), returns(*nodes))

    assert _plugin(decision, "InterPodAffinity") == {"a": 0, "b": 200}


async def test_a_returned_node_must_have_a_name(abc: Harness) -> None:
    decision = await decide(abc, make_pod("p"), returns(make_node("")))

    assert decision.message == 'extender "http://fake" claims a filtered node that has no name'


async def test_a_returned_node_that_is_not_in_the_cluster_is_taken(abc: Harness) -> None:
    """kube-scheduler does not look; the bind will show."""
    decision = await decide(abc, make_pod("p"), returns(make_node("zzz")))

    assert decision.node_name == "zzz"


# --- prioritize -------------------------------------------------------------------------------------------


async def test_scores_are_weighted_scaled_and_added(abc: Harness) -> None:
    """score × weight × 10, of all extenders together; strangers and failures add nothing."""
    plain = await decide(abc, make_pod("p"), FakeExtender(on_prioritize=lambda asked: []))
    extenders = (
        FakeExtender(on_prioritize=lambda asked: [("a", 2), ("zzz", 9), ("a", 1)], weight=3),
        FakeExtender(on_prioritize=lambda asked: [("a", 1), ("b", -5)]),
        FakeExtender(on_prioritize=lambda asked: OOPS),
    )

    decision = await decide(abc, make_pod("p"), *extenders)

    base = scores_of(plain)
    assert scores_of(decision) == {"a": base["a"] + 100, "b": base["b"] - 50, "c": base["c"]}
    assert decision.node_name == "a"
    assert [(each.error, dict(each.scores)) for each in decision.record.extenders] == [
        ("", {"a": 90, "zzz": 270}),
        ("", {"a": 10, "b": -50}),
        ("oops", {}),
    ]


async def test_scores_go_round_as_in_go(abc: Harness) -> None:
    """int64: the highest score times ten is a small negative number."""
    extender = FakeExtender(on_prioritize=lambda asked: [("a", 2**63 - 1)])
    plain = scores_of(await decide(abc, make_pod("p"), FakeExtender(on_prioritize=lambda asked: [])))

    assert scores_of(await decide(abc, make_pod("p"), extender))["a"] == plain["a"] - 10


# --- preempt ----------------------------------------------------------------------------------------------


@pytest.fixture
def full() -> Harness:
    """Two nodes, each with a pod of lower priority that takes all of it."""
    pods = [
        make_pod(f"v-{name}", cpu="4", priority=1, node_name=name, metadata={"uid": f"v-{name}"}) for name in "ab"
    ]
    return Harness(nodes=[make_node("a"), make_node("b")], pods=pods)


def claims(**uids: tuple[str, ...]) -> FakeExtender:
    return FakeExtender(on_preempt=lambda offered: {name: VictimUids(each) for name, each in uids.items()})


async def test_candidates_are_put_before_the_extenders(full: Harness) -> None:
    """What they leave is chosen from."""
    extender = claims(b=("v-b",))

    decision = await decide(full, make_pod("p", cpu="4", priority=10), extender)

    assert extender.asked == [("preempt", {"a": ["v-a"], "b": ["v-b"]})]
    assert (decision.nominate, [pod.uid for pod in decision.victims]) == ("b", ["v-b"])


@pytest.mark.parametrize(
    ("extender", "tail"),
    [
        pytest.param(claims(), "preemption: no candidate node for preemption", id="none left"),
        pytest.param(FakeExtender(on_preempt=lambda offered: OOPS), "preemption: oops", id="a failure"),
        pytest.param(
            claims(zzz=("v-a",)), 'preemption: nodeinfo not found for node name "zzz"', id="an unknown node"
        ),
        pytest.param(
            claims(a=("v-b",)),
            "preemption: extender: http://fake claims to preempt pod (UID: &{v-b}) on node: a, "
            "but the pod is not found on that node",
            id="a pod that is elsewhere",
        ),
        pytest.param(
            claims(a=()), 'preemption: expected at least one victim pod on node "a"', id="a node without victims"
        ),
    ],
)
async def test_preemption_comes_to_nothing(full: Harness, extender: FakeExtender, tail: str) -> None:
    """The message says what was wrong with the answer, or that no node is left."""
    decision = await decide(full, make_pod("p", cpu="4", priority=10), extender)

    assert decision.message == f"0/2 nodes are available: 2 Insufficient cpu. {tail}"
    assert not decision.nominate
    assert decision.reason == "Unschedulable"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda offered: OOPS, id="a failure"),
        pytest.param(lambda offered: {"zzz": VictimUids(("v-a",))}, id="nonsense"),
    ],
)
async def test_an_ignorable_extender_cannot_stop_preemption(full: Harness, answer: Any) -> None:
    decision = await decide(
        full, make_pod("p", cpu="4", priority=10), FakeExtender(on_preempt=answer, is_ignorable=True)
    )

    assert decision.nominate in ("a", "b")


async def test_an_ignorable_extender_may_leave_out_victims(full: Harness) -> None:
    """Then that node is no candidate, and the others are."""
    extender = FakeExtender(
        on_preempt=lambda offered: {"a": VictimUids(()), "b": VictimUids(("v-b",))}, is_ignorable=True
    )

    assert (await decide(full, make_pod("p", cpu="4", priority=10), extender)).nominate == "b"


# --- the promised node ------------------------------------------------------------------------------------


async def test_the_promised_node_alone_is_asked_about(abc: Harness) -> None:
    extender = keeps("b")
    pod = make_pod("p", status={"nominatedNodeName": "b"})

    assert (await decide(abc, pod, extender)).node_name == "b"
    assert extender.asked == [("filter", ["b"])]


async def test_all_nodes_are_asked_about_when_the_promise_is_void(abc: Harness) -> None:
    """What the extender said of the promised node stays, unless it says something else now."""
    extender = FakeExtender(
        on_filter=lambda asked: FilterResponse((), failed={"b": "no"} if asked == ["b"] else {})
    )
    pod = make_pod("p", status={"nominatedNodeName": "b"})

    decision = await decide(abc, pod, extender)

    assert [about for _, about in extender.asked] == [["b"], ["a", "b", "c"]]
    assert decision.message.startswith("0/3 nodes are available: 1 no. ")


async def test_a_failure_about_the_promised_node_is_not_the_end(abc: Harness) -> None:
    """It is logged, and all nodes are looked at."""
    extender = FakeExtender(on_filter=lambda asked: OOPS if asked == ["b"] else FilterResponse(("a",)))

    decision = await decide(abc, make_pod("p", status={"nominatedNodeName": "b"}), extender)

    assert decision.node_name == "a"


# --- bind -------------------------------------------------------------------------------------------------


# --- the cycle itself -------------------------------------------------------------------------------------


async def test_without_anything_to_say_nothing_changes() -> None:
    """An extender that has no verb leaves every decision as it would be without."""
    nodes = [make_node(f"n{i}", cpu=str(1 + i % 5)) for i in range(20)]
    pods = [make_pod(f"b{i}", cpu="300m", priority=i % 3, node_name=f"n{i % 20}") for i in range(60)]
    harness = Harness(nodes=nodes, pods=pods)
    for cpu in ("100m", "2", "4", "9"):
        pod = make_pod("p", cpu=cpu, priority=5)
        plain = harness.decide(pod)
        extended = await decide(harness, pod, FakeExtender())

        assert (extended.message, extended.nominate) == (plain.message, plain.nominate)
        assert (extended.scores is None) == (plain.scores is None)
        if plain.scores is not None:
            assert scores_of(extended) == scores_of(plain)


async def test_no_nodes_at_all() -> None:
    extender = keeps()

    decision = await decide(Harness(), make_pod("p"), extender)

    assert (decision.message, extender.asked) == ("no nodes available to schedule pods", [])


async def test_a_decision_with_extenders_asks_for_calls(abc: Harness) -> None:
    """The attempt is suspended with the calls to make, and does no I/O of its own."""
    extender = keeps()

    question = next(with_extenders(abc, [extender]).schedule_pod(make_pod("p"), CycleState()))

    assert [(call.extender, call.verb) for call in question.calls] == [(extender, "filter")]
    assert extender.asked == []
