"""Preemption: who may preempt, who is evicted, and from which node."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.core import Decision
from bayplan.framework import (
    CycleState,
    Diagnosis,
    NodeInfo,
    Plugin,
    PostFilterResult,
    Preemption,
    PreemptionReport,
    Status,
)
from bayplan.model import Pod, PodDisruptionBudget
from bayplan.testing import Harness, make_node, make_pod

LOWEST = -(2**31)

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: DefaultPreemption
    args: {{minCandidateNodesPercentage: {percentage}, minCandidateNodesAbsolute: {absolute}}}
"""


def placed(
    name: str,
    node: str = "a",
    *,
    cpu: str = "1",
    priority: int = 0,
    start: int = 0,
    app: str = "",
    deleting: bool = False,
    conditions: list[dict[str, str]] | None = None,
) -> Pod:
    """A pod on a node, started *start* minutes after midnight."""
    return make_pod(
        name,
        cpu=cpu,
        priority=priority,
        node_name=node,
        labels={"app": app} if app else {},
        status={"startTime": f"2024-01-01T00:{start:02}:00Z", "conditions": conditions or []},
        metadata={"deletionTimestamp": "2024-01-01T01:00:00Z"} if deleting else {},
    )


def budget(app: str | None, allowed: int = 0, **fields: Any) -> PodDisruptionBudget:
    """A budget for the pods of *app*; None: its selector is empty."""
    spec = {"selector": {"matchLabels": {"app": app}} if app is not None else {}}
    metadata = {"name": f"budget-{app}", "namespace": fields.pop("namespace", "default")}
    return PodDisruptionBudget.from_dict(
        {
            "metadata": metadata,
            "spec": {**spec, **fields.pop("spec", {})},
            "status": {"disruptionsAllowed": allowed, **fields},
        }
    )


def preemptor(cpu: str = "4", priority: int = 100, **fields: Any) -> Pod:
    return make_pod("preemptor", cpu=cpu, priority=priority, **fields)


def considered(decision: Decision) -> PreemptionReport:
    assert isinstance(decision.record.preemption, PreemptionReport)
    return decision.record.preemption


def victims(decision: Decision) -> list[str]:
    return [pod.name for pod in decision.victims]


def preemption_text(decision: Decision) -> str:
    """What DefaultPreemption adds to the message."""
    return decision.message.partition(" preemption: ")[2]


# --- eligibility -------------------------------------------------------------------------------------

BY_SCHEDULER = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def test_policy_never_does_not_preempt() -> None:
    """preemptionPolicy: Never keeps everybody where they are, and leaves the nomination as it is."""
    harness = Harness(nodes=[make_node("a")], pods=[placed("low")])
    decision = harness.decide(preemptor(spec={"preemptionPolicy": "Never"}))
    assert preemption_text(decision) == "not eligible due to preemptionPolicy=Never."
    assert (decision.nominate, victims(decision)) == (None, [])


def test_terminating_victim_is_waited_for() -> None:
    """While a victim on the nominated node is going, nobody else is evicted."""
    going = placed("going", deleting=True, conditions=[BY_SCHEDULER])
    harness = Harness(nodes=[make_node("a"), make_node("b")], pods=[going, placed("low", "b")])
    decision = harness.decide(preemptor(status={"nominatedNodeName": "a"}))
    assert preemption_text(decision) == "not eligible due to a terminating pod on the nominated node."
    assert decision.nominate is None


@pytest.mark.parametrize(
    "pod",
    [
        placed("p", deleting=False, conditions=[BY_SCHEDULER]),
        placed("p", deleting=True),
        placed("p", deleting=True, conditions=[{**BY_SCHEDULER, "status": "False"}]),
        placed("p", deleting=True, conditions=[{**BY_SCHEDULER, "reason": "EvictionByEvictionAPI"}]),
        placed("p", deleting=True, conditions=[{**BY_SCHEDULER, "type": "Ready"}]),
        placed("p", deleting=True, conditions=[BY_SCHEDULER], priority=100),
    ],
    ids=["stays", "no condition", "condition false", "evicted otherwise", "other condition", "not less important"],
)
def test_pods_that_are_not_waited_for(pod: Pod) -> None:
    """Only a less important pod that goes because of a preemption is waited for."""
    harness = Harness(nodes=[make_node("a"), make_node("b")], pods=[pod, placed("low", "b")])
    decision = harness.decide(preemptor(status={"nominatedNodeName": "a"}))
    assert decision.nominate in ("a", "b")
    assert victims(decision)


def test_unresolvable_nominated_node_is_given_up() -> None:
    """Where evicting pods cannot help any more, the pod may preempt elsewhere."""
    going = placed("going", deleting=True, conditions=[BY_SCHEDULER])
    harness = Harness(nodes=[make_node("a", unschedulable=True), make_node("b")], pods=[going, placed("low", "b")])
    decision = harness.decide(preemptor(status={"nominatedNodeName": "a"}))
    assert (decision.nominate, victims(decision)) == ("b", ["low"])


def test_nominated_node_that_is_gone() -> None:
    """A nomination for a node that no longer exists holds nobody up."""
    harness = Harness(nodes=[make_node("b")], pods=[placed("low", "b")])
    assert harness.decide(preemptor(status={"nominatedNodeName": "gone"})).nominate == "b"


def test_nominated_node_that_is_gone_while_nothing_is_decided() -> None:
    """Nor where PreFilter turned the pod down for now, and eviction may help on every node."""
    later = _plugin("Later", pre_filter=lambda *_: Status.unschedulable("later"))
    harness = Harness(nodes=[make_node("b")], pods=[placed("low", "b", priority=100)], plugins=[later])
    decision = harness.decide(preemptor(status={"nominatedNodeName": "gone"}))
    assert decision.message == (
        "0/1 nodes are available: later. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )


# --- victims -----------------------------------------------------------------------------------------


def test_only_less_important_pods_go() -> None:
    """Pods of the same or a higher priority stay."""
    pods = [placed("same", priority=100), placed("higher", priority=101), placed("lower", priority=99)]
    decision = Harness(nodes=[make_node("a")], pods=pods).decide(preemptor("2"))
    assert victims(decision) == ["lower"]


def test_as_few_as_possible_go() -> None:
    """Pods are spared from the most important down, as long as the preemptor fits beside them."""
    pods = [placed(f"p{priority}", priority=priority) for priority in (3, 1, 4, 2)]
    decision = Harness(nodes=[make_node("a")], pods=pods).decide(preemptor("2"))
    assert victims(decision) == ["p2", "p1"]


def test_smaller_pods_may_be_spared() -> None:
    """A pod is spared though a more important one, which was too large, is not."""
    pods = [placed("large", cpu="3", priority=5), placed("small", cpu="1", priority=1)]
    decision = Harness(nodes=[make_node("a")], pods=pods).decide(preemptor("2"))
    assert victims(decision) == ["large"]


def test_older_pods_are_more_important() -> None:
    """Among pods of one priority, those that have run longer are spared first."""
    pods = [placed("young", start=30), placed("old", start=1), placed("middle", start=10), placed("none", cpu="1")]
    decision = Harness(nodes=[make_node("a")], pods=pods).decide(preemptor("2"))
    assert victims(decision) == ["middle", "young"]


def test_protected_pods_are_spared_first() -> None:
    """A pod whose budget would be violated is spared before a more important one without."""
    pods = [placed("important", cpu="2", priority=50), placed("protected", cpu="2", priority=1, app="web")]
    harness = Harness(nodes=[make_node("a")], pods=pods, objects=[budget("web")])
    decision = harness.decide(preemptor("2"))
    assert victims(decision) == ["important"]
    assert considered(decision).candidates[0].victims.n_violations == 0


def test_violations_are_counted() -> None:
    """Budgets are violated where nothing else helps; victims are listed the most important first."""
    pods = [placed("first", cpu="2", priority=50), placed("second", cpu="2", priority=1, app="web")]
    harness = Harness(nodes=[make_node("a")], pods=pods, objects=[budget("web")])
    decision = harness.decide(preemptor("4"))
    assert victims(decision) == ["first", "second"]
    assert considered(decision).candidates[0].victims.n_violations == 1


def test_affinity_of_victims_is_undone() -> None:
    """A pod that forbids the preemptor its node by anti-affinity can be a victim too."""
    forbids = {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
                ]
            }
        }
    }
    guard = make_pod("guard", node_name="a", spec=forbids)
    harness = Harness(nodes=[make_node("a")], pods=[guard, placed("bystander")])
    decision = harness.decide(preemptor("1", labels={"app": "db"}))
    assert (decision.nominate, victims(decision)) == ("a", ["guard"])


def test_nominated_pods_count_in_the_dry_run() -> None:
    """Room on the nominated node of a pod of the same priority is not available to the preemptor."""
    harness = Harness(nodes=[make_node("a")], pods=[placed("low", cpu="2")])
    harness.core.nominator.add(make_pod("rival", cpu="3", priority=100), "a")
    decision = harness.decide(preemptor("2"))
    assert (decision.nominate, preemption_text(decision)) == ("", "0/1 nodes are available: 1 Insufficient cpu.")


# --- the best candidate ------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")], ids=["first", "last"])
@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ([{"priority": 1, "app": "web"}], [{"priority": 9}, {"priority": 9}]),
        ([{"priority": 9}], [{"priority": 5, "cpu": "2"}, {"priority": 5, "cpu": "2"}]),
        ([{"priority": 5}, {"priority": 5}], [{"priority": 5}, {"priority": 1}]),
        ([{"priority": 5}, {"priority": LOWEST, "start": 9}], [{"priority": 5}]),
        (
            [{"priority": 5, "start": 1}, {"priority": 1, "start": 30}],
            [{"priority": 5, "start": 9}, {"priority": 1}],
        ),
    ],
    ids=[
        "1: fewest violated budgets",
        "2: lowest highest priority",
        "3: lowest sum of priorities",
        "4: fewest victims",
        "5: latest start of the most important victims",
    ],
)
def test_best_candidate(worse: list[dict[str, Any]], better: list[dict[str, Any]], names: tuple[str, str]) -> None:
    """Five rules, one after the other; where one of them decides, the later ones are not called."""
    best, other = names
    pods = [
        placed(f"{node}{i}", node, **{"cpu": "1", **fields})
        for node, each in ((other, worse), (best, better))
        for i, fields in enumerate(each)
    ]
    harness = Harness(nodes=[make_node("a"), make_node("b")], pods=pods, objects=[budget("web")])
    decision = harness.decide(preemptor("4"))
    assert decision.nominate == best
    assert {victim.node_name for victim in decision.victims} == {best}


def test_every_candidate_is_on_record() -> None:
    """The record has all candidates with their victims, and why the other nodes are none."""
    harness = Harness(
        nodes=[make_node("a"), make_node("b"), make_node("c"), make_node("d", unschedulable=True)],
        pods=[placed("pa", "a"), placed("pb", "b", priority=5), placed("pc", "c", priority=100)],
    )
    record = considered(harness.decide(preemptor("4")))
    assert {each.node_name: [pod.name for pod in each.victims.pods] for each in record.candidates} == {
        "a": ["pa"],
        "b": ["pb"],
    }
    assert record.refused == {"c": Status.unresolvable("No preemption victims found for incoming pod")}


@pytest.mark.parametrize(
    ("percentage", "absolute", "n_candidates"),
    [(10, 1, 1), (50, 1, 5), (10, 4, 4), (0, 3, 3), (10, 100, 10), (100, 1, 10)],
    ids=["share", "half", "at least", "share of nothing", "not more than there are", "all"],
)
def test_number_of_candidates(percentage: int, absolute: int, n_candidates: int) -> None:
    """A share of the nodes where eviction may help, at least so many; then the search ends."""
    harness = Harness(
        nodes=[make_node(f"n{i}") for i in range(10)],
        pods=[placed(f"p{i}", f"n{i}") for i in range(10)],
        configuration=CONFIGURATION.format(percentage=percentage, absolute=absolute),
    )
    assert len(considered(harness.decide(preemptor("4"))).candidates) == n_candidates


def test_search_goes_on_for_a_candidate_without_violations() -> None:
    """As long as every candidate violates a budget, one more is looked for; those without stand first."""
    harness = Harness(
        nodes=[make_node(f"n{i}") for i in range(10)],
        pods=[placed(f"p{i}", f"n{i}", app="" if i == 7 else "web") for i in range(10)],
        objects=[budget("web")],
        configuration=CONFIGURATION.format(percentage=10, absolute=1),
    )
    decision = harness.decide(preemptor("4"))
    assert decision.nominate == "n7"
    assert considered(decision).candidates[0].node_name == "n7"


# --- no candidate ------------------------------------------------------------------------------------


def test_no_victims_found() -> None:
    """A node with nobody less important on it is counted with its own text, and the nomination cleared."""
    harness = Harness(nodes=[make_node("a")], pods=[placed("same", priority=100)])
    decision = harness.decide(preemptor("4"))
    assert preemption_text(decision) == "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert decision.nominate == ""


def test_preemption_is_not_helpful() -> None:
    """Nodes where eviction cannot help are counted together."""
    harness = Harness(nodes=[make_node("a", unschedulable=True), make_node("b", cpu="1")], pods=[placed("low")])
    decision = harness.decide(preemptor("4"))
    assert preemption_text(decision) == "0/2 nodes are available: 2 Preemption is not helpful for scheduling."


def test_reasons_of_dry_runs_are_counted() -> None:
    """A node on which the pod does not fit even without the victims gives the reason of the dry run."""
    harness = Harness(
        nodes=[make_node("a"), make_node("b"), make_node("c", unschedulable=True)],
        pods=[placed("low", "a"), placed("high", "a", cpu="2", priority=200), placed("same", "b", priority=100)],
    )
    assert preemption_text(harness.decide(preemptor("4"))) == (
        "0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def _plugin(name: str, **methods: Any) -> type[Plugin]:
    return type(name, (Plugin,), {"name": name, **methods})


@pytest.mark.parametrize("method", ["add_pod", "remove_pod"])
def test_plugin_that_fails_in_the_dry_run(method: str) -> None:
    """What a plugin raises about a moved pod is told once, however many nodes it happened on."""

    def fails(self: Any, *_: Any) -> None:
        raise ValueError("out of lights")

    moves = {"add_pod": lambda *_: None, "remove_pod": lambda *_: None, method: fails}
    broken = _plugin("Broken", pre_filter=lambda *_: None, **moves)
    harness = Harness(
        nodes=[make_node("a"), make_node("b")], pods=[placed("p", "a"), placed("q", "b")], plugins=[broken]
    )
    decision = harness.decide(preemptor("4"))
    title = {"add_pod": "AddPod", "remove_pod": "RemovePod"}[method]
    assert preemption_text(decision) == f'running {title} on PreFilter plugin "Broken": out of lights'
    assert (decision.reason, decision.nominate) == ("Unschedulable", None)


def test_several_failures_are_listed() -> None:
    """Different errors are listed as Go lists them."""

    def fails(self: Any, state: CycleState, pod: Pod, moved: Pod, node: NodeInfo) -> None:
        raise ValueError(f"no light on {node.name}")

    broken = _plugin("Broken", pre_filter=lambda *_: None, add_pod=fails, remove_pod=fails)
    harness = Harness(
        nodes=[make_node("a"), make_node("b")], pods=[placed("p", "a"), placed("q", "b")], plugins=[broken]
    )
    errors = [f'running RemovePod on PreFilter plugin "Broken": no light on {name}' for name in "ab"]
    assert preemption_text(harness.decide(preemptor("4"))) in (
        f"[{errors[0]}, {errors[1]}]",
        f"[{errors[1]}, {errors[0]}]",
    )


def test_sparing_that_fails_to_be_undone() -> None:
    """A plugin that fails when a pod which could not be spared is taken away again ends the dry run."""
    calls: list[str] = []

    def remove(self: Any, state: CycleState, pod: Pod, moved: Pod, node: NodeInfo) -> None:
        calls.append(moved.name)
        if len(calls) == 2:
            raise ValueError("out of lights")

    broken = _plugin("Broken", pre_filter=lambda *_: None, add_pod=lambda *_: None, remove_pod=remove)
    harness = Harness(nodes=[make_node("a")], pods=[placed("p")], plugins=[broken])
    decision = harness.decide(preemptor("4"))
    assert preemption_text(decision) == 'running RemovePod on PreFilter plugin "Broken": out of lights'
    assert calls == ["p", "p"]


def test_dry_run_without_victims_is_an_error() -> None:
    """A pod that fits in the dry run with everybody there was rejected for no good reason."""
    answers = iter([Status.unschedulable("moody")])
    moody = _plugin("Moody", filter=lambda *_: next(answers, None))
    decision = Harness(nodes=[make_node("a")], pods=[placed("p")], plugins=[moody]).decide(preemptor("1"))
    assert preemption_text(decision) == 'expected at least one victim pod on node "a"'


# --- what-ifs ----------------------------------------------------------------------------------------


def test_dry_runs_leave_no_trace() -> None:
    """After a preemption the cluster is what it was: pods in their order, amounts, ports, terms."""
    port = {"containers": [{"name": "main", "ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "1"}}}]}
    pods = [
        placed("first", cpu="1", priority=3),
        make_pod("port", node_name="a", spec=port),
        placed("last", cpu="1", priority=7),
    ]
    harness = Harness(nodes=[make_node("a"), make_node("b")], pods=[*pods, placed("other", "b")])
    table = harness.core.cache.snapshot().nodes

    def facts() -> Any:
        node = table[0]
        return (
            [pod.name for pod in node.pods],
            dict(node.requested),
            table.requested("cpu").tolist(),
            table.pod_counts().tolist(),
            table.ports_taken(pods[1].host_ports).tolist(),
        )

    before = facts()
    decision = harness.decide(preemptor("4"))
    assert decision.nominate in ("a", "b")
    assert facts() == before
    assert harness.decide(make_pod("p", cpu="3")).node_name == "b"


# --- other policies ----------------------------------------------------------------------------------


class SparesDatabases(Preemption):
    """Evicts anybody but databases."""

    def is_victim(self, node: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        return victim.labels.get("app") != "db"


class OtherPreemption(Plugin):
    """A plugin with its own rules about who may be evicted."""

    name = "OtherPreemption"

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> PostFilterResult:
        policy = SparesDatabases(self.handle, min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=100)
        return policy.preempt(state, pod, verdicts)


def test_same_seed_begins_at_the_same_nodes() -> None:
    """Where the search begins is chance, and chance has the seed of the scheduler: a run can be repeated."""

    def victim_of(seed: int) -> list[str]:
        names = [f"n{i}" for i in range(8)]
        pods = [placed(f"on-{name}", name, cpu="4") for name in names]
        harness = Harness(nodes=[make_node(name) for name in names], pods=pods, seed=seed)
        return victims(harness.decide(preemptor()))

    found = [victim_of(seed) for seed in range(4)]
    assert found == [victim_of(seed) for seed in range(4)]
    assert any(each != found[0] for each in found)


def test_policy_of_your_own() -> None:
    """A policy overrides who may be evicted, and keeps the rest."""
    configuration = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    postFilter: {disabled: [{name: "*"}], enabled: [{name: OtherPreemption}]}
"""
    harness = Harness(
        nodes=[make_node("a")],
        pods=[placed("db", cpu="2", app="db"), placed("important", cpu="2", priority=500)],
        plugins=[OtherPreemption],
        configuration=configuration,
    )
    assert victims(harness.decide(preemptor("2"))) == ["important"]


def test_pod_waits_for_its_preemption() -> None:
    """While the victims of a pod are being evicted, the pod stays out of the queue."""
    profile = Harness(nodes=[make_node("a")]).profile()
    plugin: Any = profile.plugins.plugins["DefaultPreemption"]
    pod = preemptor()
    assert profile.plugins.pre_enqueue(pod) is None
    plugin.handle.is_preempting = lambda other: other is pod
    rejection = profile.plugins.pre_enqueue(pod)
    assert profile.plugins.pre_enqueue(make_pod("other")) is None
    status = Status.unresolvable("waiting for the preemption for this pod to be finished")
    assert rejection == ("DefaultPreemption", status)
