"""Dry runs on many nodes at once find exactly what dry runs one by one find, and are made where they may be."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayplan.core.evaluation import ProfileAmountsWhatIf, ProfileEvaluation
from bayplan.framework import (
    CycleState,
    Diagnosis,
    IntArray,
    NodeInfo,
    NodeTable,
    Plugin,
    PodQuery,
    PostFilterResult,
    Preemption,
    PreemptionReport,
    Reads,
    Status,
    Verdict,
    Victims,
    candidates,
)
from bayplan.model import Node, Pod, PodDisruptionBudget
from bayplan.testing import Harness, make_node, make_pod

GPU = "example.com/gpu"
STARTS = (
    None,
    "2023-11-01T00:00:00Z",
    "2023-11-01T00:00:00.25Z",
    "2023-11-02T05:00:00+02:00",
    "2030-01-01T00:00:00Z",
)


class OneByOne(Preemption):
    """The rules are ours, but that cannot be known: every node is tried alone."""

    def select_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo, budgets: Sequence[PodDisruptionBudget]
    ) -> Victims | Status:
        return super().select_victims(state, pod, node, budgets)


class CountingEvaluation(ProfileEvaluation):
    """Counts the filter runs on one node, and notes the rows that were tried together."""

    n_single = 0
    together: tuple[int, ...] = ()

    def filter_node(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self.n_single += 1
        return super().filter_node(state, pod, node_name)

    def amounts_what_if(
        self,
        state: CycleState,
        pod: Pod,
        rows: IntArray,
        kinds: Sequence[Pod],
        rivals: Mapping[int, Sequence[Pod]],
    ) -> ProfileAmountsWhatIf:
        if kinds:  # without, Filter counts nominated pods
            self.together += tuple(rows.tolist())
        return super().amounts_what_if(state, pod, rows, kinds, rivals)


class Attempt:
    """One pod that found no node, ready to be preempted for in several ways."""

    def __init__(self, harness: Harness, pod: Pod) -> None:
        scheduler, profile = harness.core, harness.profile()
        snapshot = scheduler.cache.snapshot()
        self.pod, self.state = pod, CycleState()
        self.evaluation = CountingEvaluation(profile.runner, snapshot, scheduler.nominator)
        self.handle = copy.copy(profile.handle)
        self.handle._profiles = {profile.name: replace(profile, evaluation=self.evaluation)}
        assert profile.runner.pre_filter(self.state, pod, snapshot.nodes).status.is_success
        self.diagnosis = Diagnosis(snapshot.nodes)
        self.diagnosis.add_outcome(self.evaluation.filter(self.state, pod, snapshot.nodes))

    def preempt(
        self, kind: type[Preemption], *, percentage: int = 10, absolute: int = 100, seed: int = 0
    ) -> dict[str, Any]:
        self.handle.seed = seed
        preemption = kind(
            self.handle, min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute
        )
        return described(preemption.preempt(self.state, self.pod, self.diagnosis))


def described(result: PostFilterResult) -> dict[str, Any]:
    assert isinstance(result.detail, PreemptionReport)
    found, refused, _ = result.detail
    return {
        "nominated": result.nominated_node_name,
        "status": result.status,
        "victims": [pod.name for pod in result.victims],
        "candidates": [
            (
                each.node_name,
                [pod.name for pod in each.victims.pods],
                each.victims.n_violations,
                each.rank,
                repr(each.start),
            )
            for each in found
        ],
        "refused": {name: (status.code, status.reasons, status.plugin) for name, status in refused.items()},
    }


# --- the same as one by one ------------------------------------------------------------------------


@st.composite
def nodes_with_pods(draw: st.DrawFn, i: int) -> tuple[Node, list[Pod]]:
    name = f"n{i}"
    gpus = draw(st.integers(0, 3))
    node = make_node(
        name,
        cpu=str(draw(st.integers(1, 4))),
        pods=draw(st.integers(2, 8)),
        resources={GPU: str(gpus)} if gpus else {},
        labels={"disk": draw(st.sampled_from(["ssd", "hdd"]))},
        taints=["dedicated=x:NoSchedule"] if draw(st.integers(0, 9)) == 0 else [],
    )
    pods = [draw(placed_pods(f"{name}-{k}", name)) for k in range(draw(st.integers(0, 6)))]
    return node, pods


@st.composite
def placed_pods(draw: st.DrawFn, name: str, node_name: str) -> Pod:
    start = draw(st.sampled_from(STARTS))
    return make_pod(
        name,
        namespace=draw(st.sampled_from(["default", "other"])),
        labels=draw(st.sampled_from([{}, {"app": "a"}, {"app": "b"}, {"app": "a", "tier": "x"}])),
        cpu=draw(st.sampled_from([None, "250m", "500m", "1", "2"])),
        memory=draw(st.sampled_from([None, "1Gi", "16Gi"])),
        requests=draw(st.sampled_from([{}, {}, {GPU: "1"}, {GPU: "2"}, {"example.com/other": "1"}])),
        priority=draw(st.sampled_from([None, -5, 0, 3, 3, 10, 20])),
        node_name=node_name,
        status={"startTime": start} if start else {},
    )


@st.composite
def budgets(draw: st.DrawFn, i: int) -> PodDisruptionBudget:
    selector = draw(
        st.sampled_from([None, {}, {"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}},
                         {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                         {"matchExpressions": [{"key": "app", "operator": "Wrong"}]}])
    )  # fmt: skip
    return PodDisruptionBudget.from_dict(
        {
            "metadata": {"name": f"b{i}", "namespace": draw(st.sampled_from(["default", "other"]))},
            "spec": {"selector": selector},
            "status": {
                "disruptionsAllowed": draw(st.integers(0, 2)),
                "disruptedPods": draw(st.sampled_from([{}, {"n0-0": "2023-11-01T00:00:00Z"}])),
            },
        }
    )


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    clusters = [draw(nodes_with_pods(i)) for i in range(draw(st.integers(1, 7)))]
    pod = make_pod(
        "preemptor",
        priority=draw(st.sampled_from([10, 10, 3, 100])),
        cpu=draw(st.sampled_from([None, "1", "2", "3"])),
        memory=draw(st.sampled_from([None, "20Gi"])),
        requests=draw(st.sampled_from([{}, {}, {GPU: "1"}, {GPU: "3"}])),
        spec=draw(st.sampled_from([{}, {}, {"nodeSelector": {"disk": "ssd"}}])),
    )
    harness = Harness(
        nodes=[node for node, _ in clusters],
        pods=[each for _, pods in clusters for each in pods],
        objects=[draw(budgets(i)) for i in range(draw(st.integers(0, 3)))],
    )
    for i in draw(st.lists(st.integers(0, len(clusters) - 1), max_size=2)):
        rival = make_pod(f"rival-{i}", cpu="1", priority=draw(st.sampled_from([0, 10, 200])))
        harness.core.nominator.add(rival, f"n{i}")
    return Attempt(harness, pod)


class SparesLabelled(Preemption):
    """Another rule about victims, asked pod by pod."""

    def is_victim(self, node: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        return victim.priority <= preemptor.priority and "tier" not in victim.labels


class SparesLabelledOneByOne(OneByOne, SparesLabelled):
    pass


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    attempt=attempts(),
    kinds=st.sampled_from([(Preemption, OneByOne), (SparesLabelled, SparesLabelledOneByOne)]),
    seed=st.integers(0, 5),
    percentage=st.sampled_from([0, 30, 100]),
    absolute=st.integers(1, 3),
    chunk=st.integers(1, 4),
)
def test_batch_finds_the_same(
    attempt: Attempt, kinds: tuple[type[Preemption], type[Preemption]], seed: int, percentage: int, absolute: int,
    chunk: int,
) -> None:  # fmt: skip
    """The same candidates, victims in the same order, the same ranks and refusals, from the same offset."""
    batch, sequential = kinds
    before = [
        (node.name, dict(node.requested), [pod.name for pod in node.pods]) for node in attempt.diagnosis.nodes
    ]
    options = {"percentage": percentage, "absolute": absolute, "seed": seed}

    with patch.object(candidates, "_MIN_CHUNK", chunk):
        found = attempt.preempt(batch, **options)

    assert found == attempt.preempt(sequential, **options)
    after = [
        (node.name, dict(node.requested), [pod.name for pod in node.pods]) for node in attempt.diagnosis.nodes
    ]
    assert after == before


# --- which way it goes ------------------------------------------------------------------------------


def full_cluster(n_nodes: int = 3, plugins: Sequence[type[Plugin]] = (), **fields: Any) -> Harness:
    """Nodes of 4 cpu with four pods of 900m each."""
    names = [f"n{i}" for i in range(n_nodes)]
    return Harness(
        nodes=[make_node(name) for name in names],
        pods=[
            make_pod(f"{name}-{k}", cpu="900m", priority=0, node_name=name, labels={"app": "low"}, **fields)
            for name in names
            for k in range(4)
        ],
        plugins=plugins,
    )


def preemptor(**fields: Any) -> Pod:
    return make_pod("preemptor", cpu="3", priority=10, labels={"app": "high"}, **fields)


def test_plain_pod_goes_in_batch() -> None:
    """With the default plugins and a pod that only requests resources no node is tried alone."""
    attempt = Attempt(full_cluster(), preemptor())

    found = attempt.preempt(Preemption)

    assert sorted(attempt.evaluation.together) == [0, 1, 2]
    assert attempt.evaluation.n_single == 0
    assert found == attempt.preempt(OneByOne)
    assert attempt.evaluation.n_single > 0


def test_overridden_is_victim_stays_in_batch() -> None:
    attempt = Attempt(full_cluster(), preemptor())

    attempt.preempt(SparesLabelled)

    assert attempt.evaluation.n_single == 0


ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "low"}}}
        ]
    }
}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "high"}},
}
PORT = {"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}], "resources": {"requests": {"cpu": "3"}}}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"containers": [PORT]}, id="host port"),
        pytest.param({"topologySpreadConstraints": [SPREAD]}, id="spread"),
        pytest.param({"affinity": ANTI_AFFINITY}, id="anti-affinity"),
    ],
)
def test_pods_that_look_at_pods_go_one_by_one(spec: dict[str, Any]) -> None:
    """Amounts do not tell about ports, labels and affinity terms."""
    attempt = Attempt(full_cluster(), preemptor(spec=spec))

    found = attempt.preempt(Preemption)

    assert attempt.evaluation.together == ()
    assert attempt.evaluation.n_single > 0
    assert found["candidates"]


def test_affinity_of_pods_there_goes_one_by_one() -> None:
    """Pods on nodes that keep the preemptor off may be the victims."""
    terms = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "high"}}}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [terms]}}}
    attempt = Attempt(full_cluster(spec=spec), preemptor())

    attempt.preempt(Preemption)

    assert attempt.evaluation.together == ()


def test_nominated_pods_count_in_batch() -> None:
    """Those of at least the same priority take room on their nominated node."""
    harness = full_cluster()
    harness.core.nominator.add(make_pod("rival", cpu="1", priority=10), "n1")
    harness.core.nominator.add(make_pod("lesser", cpu="1", priority=5), "n2")
    attempt = Attempt(harness, preemptor())

    found = attempt.preempt(Preemption)

    assert sorted(attempt.evaluation.together) == [0, 1, 2]
    assert attempt.evaluation.n_single == 0
    assert {each[0]: len(each[1]) for each in found["candidates"]} == {"n0": 3, "n1": 4, "n2": 3}
    assert found == attempt.preempt(OneByOne)


class PerNode(Plugin):
    name = "PerNode"
    reads = Reads.NODE

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        return None


class Silent(Plugin):
    """Does not say what it reads."""

    name = "Silent"

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        return nodes.accept_all()


class Following(Plugin):
    """Wants to be told of every pod that is moved."""

    name = "Following"
    reads = Reads.RESOURCES

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None:
        return None

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node: NodeInfo) -> None:
        return None

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: Pod, node: NodeInfo) -> None:
        return None


@pytest.mark.parametrize("plugin", [PerNode, Silent, Following])
def test_plugin_that_may_look_at_pods_rules_batch_out(plugin: type[Plugin]) -> None:
    attempt = Attempt(full_cluster(plugins=[plugin]), preemptor())

    attempt.preempt(Preemption)

    assert attempt.evaluation.together == ()
    assert attempt.evaluation.n_single > 0


class Untruthful(Plugin):
    """Says that it looks at amounts, and counts pods."""

    name = "Untruthful"
    reads = Reads.RESOURCES

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        return nodes.reject(nodes.count_pods(PodQuery(None, ())) > 1, "not alone")


class FailsOnOne(Plugin):
    """Breaks on one node, as soon as a pod is gone from it."""

    name = "FailsOnOne"
    reads = Reads.RESOURCES

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        if ((nodes.names == "n1") & (nodes.pod_counts() < 4)).any():
            raise RuntimeError("broken")
        return nodes.accept_all()


@pytest.mark.parametrize("plugin", [Untruthful, FailsOnOne])
def test_failing_plugin_is_asked_one_by_one(plugin: type[Plugin]) -> None:
    """Together a failure would be everybody's; alone it is that of the nodes where it happens."""
    attempt = Attempt(full_cluster(plugins=[plugin]), preemptor())

    found = attempt.preempt(Preemption)

    assert attempt.evaluation.n_single > 0
    assert found == attempt.preempt(OneByOne)
    assert len(found["candidates"]) == (2 if plugin is FailsOnOne else 3)


class ByAmounts(Plugin):
    """Looks at every amount there is, on the table and on single nodes of it."""

    name = "ByAmounts"
    reads = Reads.RESOURCES

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        single = [node.requested.get("cpu", 0) for node in nodes]
        assert single == nodes.requested("cpu").tolist()
        busy = (nodes.nonzero_requested("memory") > 2 * 200 * 2**20) | (nodes.nonzero_requested("cpu") > 1_800)
        return nodes.reject(busy, "busy").reject(nodes.requested(GPU) > 0, "has GPUs")


def test_all_amounts_follow_the_pods() -> None:
    attempt = Attempt(full_cluster(plugins=[ByAmounts]), make_pod("preemptor", cpu="100m", priority=10))

    found = attempt.preempt(Preemption)

    assert attempt.evaluation.n_single == 0
    assert found == attempt.preempt(OneByOne)
    assert [len(victims) for _, victims, *_ in found["candidates"]] == [2, 2, 2]


def test_node_that_fits_as_it_is_is_an_error() -> None:
    """Upstream's words when nothing has to go; here because an extender, say, turned the node down."""
    attempt = Attempt(full_cluster(1), make_pod("preemptor", cpu="100m", priority=10))
    assert attempt.diagnosis.outcome is not None
    attempt.diagnosis.outcome.override(0, Status.unschedulable("by an extender"))

    found = attempt.preempt(Preemption)

    assert found["status"].message == 'expected at least one victim pod on node "n0"'
    assert attempt.evaluation.n_single == 0
    assert found == attempt.preempt(OneByOne)


def test_protected_victims_come_first_among_equals() -> None:
    """The budget allows one disruption: the least important ones violate it.

    None has started, so kube-scheduler ranks the last one first.
    """
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "low"}}},
        "status": {"disruptionsAllowed": 1},
    }
    harness = full_cluster(1)
    harness.add(PodDisruptionBudget.from_dict(budget))
    attempt = Attempt(harness, make_pod("preemptor", cpu="4", priority=10))

    found = attempt.preempt(Preemption)

    assert found["victims"] == ["n0-2", "n0-1", "n0-0", "n0-3"]
    assert found["candidates"][0][2] == 3
    assert attempt.evaluation.n_single == 0
    assert found == attempt.preempt(OneByOne)
