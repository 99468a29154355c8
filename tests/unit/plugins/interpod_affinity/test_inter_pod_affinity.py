"""Affinity between pods filters (required) and scores (preferred), in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import CycleState, Status
from bayplan.model import Namespace, Pod
from bayplan.plugins.interpod_affinity.inter_pod_affinity import InterPodAffinity
from bayplan.release import DEFAULT
from bayplan.testing import make_node, make_pod

NO_AFFINITY = Status.unresolvable("node(s) didn't match pod affinity rules")
ANTI = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING = Status.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
HOSTNAME = "kubernetes.io/hostname"
ZONES = {"n1": "z1", "n2": "z1", "n3": "z2", "bare": ""}


def term(app: str = "a", key: str = "zone", **fields: Any) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **fields}


def affinity(
    required: list[dict[str, Any]] | None = None,
    anti: list[dict[str, Any]] | None = None,
    preferred: list[tuple[int, dict[str, Any]]] | None = None,
    anti_preferred: list[tuple[int, dict[str, Any]]] | None = None,
) -> dict[str, Any]:
    def side(hard: list[dict[str, Any]] | None, soft: list[tuple[int, dict[str, Any]]] | None) -> dict[str, Any]:
        return {
            "requiredDuringSchedulingIgnoredDuringExecution": hard or [],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "podAffinityTerm": each} for weight, each in soft or []
            ],
        }

    return {"affinity": {"podAffinity": side(required, preferred), "podAntiAffinity": side(anti, anti_preferred)}}


def pod(app: str = "p", **sides: Any) -> Pod:
    return make_pod("p", labels={"app": app}, spec=affinity(**sides))


def on(node: str, app: str = "a", *, namespace: str = "default", **sides: Any) -> Pod:
    spec = affinity(**sides) if sides else {}
    return make_pod(f"on-{node}-{app}", namespace=namespace, labels={"app": app}, node_name=node, spec=spec)


def bench_with(*pods: Pod, release: str = DEFAULT.minor) -> Bench:
    nodes = [make_node(n, labels={"zone": zone} if zone else {}) for n, zone in ZONES.items()]
    return Bench(nodes, pods, release)


def rejections(bench: Bench, incoming: Pod) -> dict[str, Status]:
    return bench.rejections(bench.plugin(InterPodAffinity), incoming)


class TestRequiredAffinity:
    def test_domains_with_a_matching_pod(self) -> None:
        """Every node of the domain will do; nodes without the key never do."""
        found = rejections(bench_with(on("n1")), pod(required=[term()]))
        assert found == {"n3": NO_AFFINITY, "bare": NO_AFFINITY}

    def test_one_pod_must_meet_all_terms(self) -> None:
        """A pod for one term and another pod for the other do not add up."""
        other = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
        both = pod(required=[term("a"), term("b")])
        assert set(rejections(bench_with(on("n1", "a"), on("n2", "b")), both)) == set(ZONES)
        met = pod(required=[term("a"), term("x", HOSTNAME, **other)])
        assert set(rejections(bench_with(on("n1", "a")), met)) == {"n2", "n3", "bare"}

    @pytest.mark.parametrize(
        ("app", "pods", "rejected"),
        [
            pytest.param("a", [], {"bare"}, id="the first of its group may start anywhere with the key"),
            pytest.param("p", [], set(ZONES), id="a pod that is not of the group may not"),
            pytest.param("a", [on("n3")], {"n1", "n2", "bare"}, id="nor may the second"),
            pytest.param("a", [on("bare")], {"bare"}, id="pods on nodes without the key make nobody second"),
        ],
    )
    def test_first_of_a_group(self, app: str, pods: list[Pod], rejected: set[str]) -> None:
        """If nobody matches anywhere and the pod matches its own terms, any node with all the keys will do."""
        assert rejections(bench_with(*pods), pod(app, required=[term()])) == dict.fromkeys(rejected, NO_AFFINITY)

    def test_pods_being_deleted_count(self) -> None:
        leaving = make_pod(
            "e", labels={"app": "a"}, node_name="n3", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
        )
        assert set(rejections(bench_with(leaving), pod(required=[term()]))) == {"n1", "n2", "bare"}


class TestNamespaces:
    @pytest.mark.parametrize(
        ("fields", "is_meant"),
        [
            pytest.param({}, False, id="the pod's own by default"),
            pytest.param({"namespaces": ["team"]}, True, id="listed"),
            pytest.param({"namespaces": ["default"]}, False, id="another one listed"),
            pytest.param({"namespaceSelector": {"matchLabels": {"env": "x"}}}, True, id="selected"),
            pytest.param({"namespaceSelector": {"matchLabels": {"env": "y"}}}, False, id="not selected"),
            pytest.param(
                {"namespaces": ["team"], "namespaceSelector": {"matchLabels": {"env": "y"}}},
                True,
                id="listed or selected",
            ),
            pytest.param({"namespaceSelector": {}}, True, id="an empty selector means all"),
        ],
    )
    def test_of_the_pods_terms(self, fields: dict[str, Any], is_meant: bool) -> None:
        """A term speaks of pods in the namespaces it lists and in those its selector selects."""
        bench = bench_with(on("n1", namespace="team"))
        bench.objects.set(Namespace.from_dict({"metadata": {"name": "team", "labels": {"env": "x"}}}))
        found = rejections(bench, pod(anti=[term(**fields)]))
        assert found == (dict.fromkeys(["n1", "n2"], ANTI) if is_meant else {})

    @pytest.mark.parametrize(("release", "is_meant"), [("1.36", True), ("1.37", False)])
    def test_selector_that_asks_for_no_label(self, release: str, is_meant: bool) -> None:
        """It means all namespaces in 1.36, and those that it selects from 1.37 on."""
        bench = bench_with(on("n1", namespace="team"), release=release)
        bench.objects.set(Namespace.from_dict({"metadata": {"name": "team", "labels": {"env": "x"}}}))
        selector = {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["x"]}]}
        found = rejections(bench, pod(anti=[term(namespaceSelector=selector)]))
        assert found == (dict.fromkeys(["n1", "n2"], ANTI) if is_meant else {})

    @pytest.mark.parametrize(
        ("fields", "is_meant"),
        [
            pytest.param({}, False, id="the carrier's own by default"),
            pytest.param({"namespaces": ["default"]}, True, id="listed"),
            pytest.param({"namespaceSelector": {"matchLabels": {"env": "x"}}}, True, id="selected"),
            pytest.param({"namespaceSelector": {"matchLabels": {"env": "y"}}}, False, id="not selected"),
        ],
    )
    def test_of_terms_of_pods_on_nodes(self, fields: dict[str, Any], is_meant: bool) -> None:
        """Here the pod's own namespace is asked for its labels."""
        bench = bench_with(on("n1", namespace="team", anti=[term("p", **fields)]))
        bench.objects.set(Namespace.from_dict({"metadata": {"name": "default", "labels": {"env": "x"}}}))
        assert rejections(bench, pod()) == (dict.fromkeys(["n1", "n2"], EXISTING) if is_meant else {})

    def test_new_labels_of_a_namespace_are_noticed(self) -> None:
        bench = bench_with(on("n1", namespace="team"))
        plugin = bench.plugin(InterPodAffinity)
        incoming = pod(anti=[term(namespaceSelector={"matchLabels": {"env": "x"}})])
        assert bench.rejections(plugin, incoming) == {}
        bench.objects.set(Namespace.from_dict({"metadata": {"name": "team", "labels": {"env": "x"}}}))
        assert set(bench.rejections(plugin, incoming)) == {"n1", "n2"}


class TestRequiredAntiAffinity:
    def test_domains_with_a_matching_pod(self) -> None:
        """Nodes without the key are never rejected."""
        assert rejections(bench_with(on("n1"), on("bare")), pod(anti=[term()])) == {"n1": ANTI, "n2": ANTI}

    def test_any_term_is_enough(self) -> None:
        bench = bench_with(on("n1", "a"), on("n3", "b"))
        assert set(rejections(bench, pod(anti=[term("a", HOSTNAME), term("b")]))) == {"n1", "n3"}

    def test_terms_of_pods_on_nodes(self) -> None:
        bench = bench_with(on("n1", anti=[term("p")]), on("n3", anti=[term("someone else")]))
        assert rejections(bench, pod()) == {"n1": EXISTING, "n2": EXISTING}

    def test_order_of_the_checks(self) -> None:
        """Affinity first, then the pod's anti-affinity, then that of pods on nodes: one reason each."""
        bench = bench_with(
            on("n1", "a"), on("n1", "b", anti=[term("p", HOSTNAME)]), on("n2", "c", anti=[term("p", HOSTNAME)])
        )
        found = rejections(bench, pod(required=[term("a")], anti=[term("b", HOSTNAME)]))
        assert found == {"n1": ANTI, "n2": EXISTING, "n3": NO_AFFINITY, "bare": NO_AFFINITY}


class TestPreFilter:
    @pytest.mark.parametrize(
        ("pods", "incoming", "skips"),
        [
            pytest.param([], make_pod("p"), True, id="no terms anywhere"),
            pytest.param([on("n1", anti=[term("p")])], make_pod("p"), True, id="terms that speak of others"),
            pytest.param([on("n1", required=[term("p")])], pod(), True, id="others' affinity is no matter"),
            pytest.param([on("bare", anti=[term("p")])], pod(), True, id="carried on a node without the key"),
            pytest.param([on("n1", anti=[term("p")])], pod(), False, id="a term that speaks of the pod"),
            pytest.param([], pod(anti=[term()]), False, id="own anti-affinity"),
            pytest.param([], pod(preferred=[(1, term())]), True, id="preferences are for Score"),
        ],
    )
    def test_skip(self, pods: list[Pod], incoming: Pod, skips: bool) -> None:
        """Skipped if the pod requires nothing and no pod on a node repels it from any domain."""
        bench = bench_with(*pods)
        answer = bench.pre_filter(bench.plugin(InterPodAffinity), incoming)
        assert (answer is not None and answer.is_skip) is skips

    def test_invalid_selector(self) -> None:
        """A pod whose terms cannot be read fits nowhere."""
        bench = bench_with()
        bad = {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}, "topologyKey": "zone"}
        status = bench.pre_filter(bench.plugin(InterPodAffinity), pod(required=[bad]))
        text = 'parsing pod: requiredAffinityTerms: "Near" is not a valid label selector operator'
        assert status == Status.unresolvable(text)

    def test_what_if(self) -> None:
        """After add_pod and remove_pod, Filter sees the cluster as it is then; the first state stays."""
        bench = bench_with(on("n1"))
        plugin, incoming, state = bench.plugin(InterPodAffinity), pod(anti=[term()]), CycleState()
        victim = bench.nodes[0].pods[0]
        assert plugin.pre_filter(state, incoming, bench.nodes) is None
        alone = bench.nodes.select(np.array([1]))
        with bench.cache.snapshot().what_if() as moves:
            scratch = state.clone()
            moves.remove(0, victim)
            plugin.remove_pod(scratch, incoming, victim, bench.nodes[0])
            assert not plugin.filter_nodes(scratch, incoming, alone).rejected.any()
            repelling = on("n3", anti=[term("p")])
            moves.add(2, repelling)
            plugin.add_pod(scratch, incoming, repelling, bench.nodes[2])
            rejected = plugin.filter_nodes(scratch, incoming, bench.nodes).rejected
            assert rejected.tolist() == [False, False, True, False]
        assert plugin.filter_nodes(state, incoming, bench.nodes).rejected.tolist() == [True, True, False, False]


def test_sign() -> None:
    """Pods with the same namespace, labels and terms are alike; one whose terms cannot be read is like none."""
    plugin = bench_with().plugin(InterPodAffinity)
    bad = {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}, "topologyKey": "zone"}
    assert plugin.sign(pod(anti=[term()])) == plugin.sign(pod(anti=[term()]))
    assert plugin.sign(pod(anti=[term()])) != plugin.sign(pod(anti=[term("b")]))
    assert plugin.sign(pod("a")) != plugin.sign(pod("b"))
    assert plugin.sign(pod(required=[bad])) is None


class TestScore:
    def scores(self, incoming: Pod, *pods: Pod, **args: Any) -> dict[str, int] | None:
        bench = bench_with(*pods)
        return bench.scores(bench.plugin(InterPodAffinity, args), incoming)

    def test_own_preferences(self) -> None:
        """Each matching pod adds the weight to its domain: 20, 20, 10, 0 of 20."""
        found = self.scores(pod(preferred=[(10, term())]), on("n1"), on("n2"), on("n3"), on("bare"))
        assert found == {"n1": 100, "n2": 100, "n3": 50, "bare": 0}

    def test_own_anti_preferences(self) -> None:
        """−20, −20, −10, 0: stretched from the lowest to the highest."""
        found = self.scores(pod(anti_preferred=[(10, term())]), on("n1"), on("n2"), on("n3"))
        assert found == {"n1": 0, "n2": 0, "n3": 50, "bare": 100}

    def test_preferences_of_pods_on_nodes(self) -> None:
        """+30 in the first zone; −20 on n3; 0 elsewhere: (score + 20)·100/50."""
        found = self.scores(
            pod(), on("n1", preferred=[(30, term("p"))]), on("n3", anti_preferred=[(20, term("p", HOSTNAME))])
        )
        assert found == {"n1": 100, "n2": 100, "n3": 0, "bare": 40}

    def test_required_affinity_of_pods_on_nodes(self) -> None:
        """It counts with hardPodAffinityWeight, and not at all if that is 0."""
        carrier = on("n1", required=[term("p")])
        half = on("n3", preferred=[(10, term("p"))])
        assert self.scores(pod(), carrier, half, hardPodAffinityWeight=5) == {
            "n1": 50,
            "n2": 50,
            "n3": 100,
            "bare": 0,
        }
        assert self.scores(pod(), carrier, hardPodAffinityWeight=0) is None

    def test_fractions_are_cut_off(self) -> None:
        """2 of 3: 66.7 is 66."""
        found = self.scores(
            pod(preferred=[(1, term("a")), (2, term("b"))]), on("n1", "a"), on("n2", "b"), on("n3", "b")
        )
        assert found == {"n1": 100, "n2": 100, "n3": 66, "bare": 0}

    @pytest.mark.parametrize(
        ("incoming", "pods"),
        [
            pytest.param(pod(), [], id="no terms"),
            pytest.param(pod(preferred=[(1, term())]), [], id="nobody matches"),
            pytest.param(pod(preferred=[(1, term())]), [on("bare")], id="only on a node without the key"),
            pytest.param(pod("x"), [on("n1", preferred=[(1, term("p"))])], id="terms that speak of others"),
        ],
    )
    def test_skip(self, incoming: Pod, pods: list[Pod]) -> None:
        """Skipped if no term applies on any node."""
        assert self.scores(incoming, *pods) is None

    def test_weights_that_cancel_out_are_not_skipped(self) -> None:
        """All nodes score 0 then, but they are scored."""
        found = self.scores(pod(preferred=[(5, term())], anti_preferred=[(5, term())]), on("n1"))
        assert found == dict.fromkeys(ZONES, 0)

    def test_ignored_preferences_of_pods_on_nodes(self) -> None:
        """ignorePreferredTermsOfExistingPods leaves them out for pods without preferences, and only for them."""
        carrier = on("n3", preferred=[(10, term("p"))])
        ignore = {"ignorePreferredTermsOfExistingPods": True}
        assert self.scores(pod(), carrier, **ignore) is None
        found = self.scores(pod(preferred=[(10, term())]), carrier, on("n1"), **ignore)
        assert found == {"n1": 50, "n2": 50, "n3": 100, "bare": 0}
