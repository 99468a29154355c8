"""Spread constraints filter (DoNotSchedule) and score (ScheduleAnyway)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import Code, CycleState, Status
from bayplan.model import Pod, ReplicaSet, ReplicationController, Service, StatefulSet
from bayplan.plugins.topology_spread.pod_topology_spread import PodTopologySpread
from bayplan.testing import make_node, make_pod

CROWDED = Status.unschedulable("node(s) didn't match pod topology spread constraints")
NO_LABEL = Status.unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
APP = {"matchLabels": {"app": "a"}}
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def constraint(key: str = "zone", *, hard: bool = True, **fields: Any) -> dict[str, Any]:
    action = "DoNotSchedule" if hard else "ScheduleAnyway"
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": APP, **fields}


def spread_pod(*constraints: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    return make_pod("p", labels=labels or {"app": "a"}, spec={"topologySpreadConstraints": [*constraints], **spec})


def bench_with(zones: dict[str, str], counts: dict[str, int], **pod_fields: Any) -> Bench:
    """Nodes with their zone (none if empty), and how many pods labelled app=a each has."""
    nodes = [make_node(name, labels={"zone": zone} if zone else {}) for name, zone in zones.items()]
    fields = {"labels": {"app": "a"}, **pod_fields}
    pods = [make_pod(f"e{i}", node_name=name, **fields) for name, n in counts.items() for i in range(n)]
    return Bench(nodes, pods)


ZONES = {"n1": "z1", "n2": "z1", "n3": "z2", "n4": "z3"}


class TestFilter:
    @pytest.mark.parametrize(
        ("counts", "fields", "rejected"),
        [
            pytest.param({}, {}, [], id="nothing runs yet"),
            pytest.param({"n1": 1}, {}, ["n1", "n2"], id="one zone is ahead by one"),
            pytest.param({"n1": 1}, {"maxSkew": 2}, [], id="within the skew"),
            pytest.param({"n1": 1, "n3": 1, "n4": 1}, {}, [], id="all zones alike"),
            pytest.param({"n1": 1, "n2": 1, "n3": 1}, {}, ["n1", "n2", "n3"], id="a zone is the sum of its nodes"),
            pytest.param({"n1": 1, "n3": 1, "n4": 1}, {"minDomains": 3}, [], id="as many zones as minDomains"),
            pytest.param(
                {"n1": 1, "n3": 1, "n4": 1},
                {"minDomains": 4},
                ["n1", "n2", "n3", "n4"],
                id="fewer zones than minDomains: the minimum is 0",
            ),
            pytest.param({"n1": 5}, {"labelSelector": {}}, [], id="an empty selector counts nobody"),
            pytest.param({"n1": 5}, {"labelSelector": None}, [], id="no selector counts nobody"),
            pytest.param({"n1": 1}, {"topologyKey": HOSTNAME}, ["n1"], id="host names"),
        ],
    )
    def test_skew(self, counts: dict[str, int], fields: dict[str, Any], rejected: list[str]) -> None:
        """Matching pods in the domain, plus the pod, minus those of the emptiest domain, is at most maxSkew."""
        bench = bench_with(ZONES, counts)
        found = bench.rejections(bench.plugin(PodTopologySpread), spread_pod(constraint(**fields)))
        assert found == dict.fromkeys(rejected, CROWDED)

    def test_pod_that_matches_not_itself(self) -> None:
        """The pod counts only if the selector matches it."""
        bench = bench_with(ZONES, {"n1": 2, "n3": 1})
        pod = spread_pod(constraint(), labels={"app": "other"})
        assert bench.rejections(bench.plugin(PodTopologySpread), pod) == {"n1": CROWDED, "n2": CROWDED}

    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({"namespace": "elsewhere"}, id="another namespace"),
            pytest.param({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, id="being deleted"),
        ],
    )
    def test_pods_that_do_not_count(self, fields: dict[str, Any]) -> None:
        """Only pods of the pod's namespace that are not being deleted count."""
        bench = bench_with(ZONES, {"n1": 3}, **fields)
        assert bench.rejections(bench.plugin(PodTopologySpread), spread_pod(constraint())) == {}

    def test_missing_label(self) -> None:
        """A node without the key is rejected for good; its pods count nowhere."""
        bench = bench_with({"n1": "z1", "n2": "z2", "bare": ""}, {"bare": 3})
        assert bench.rejections(bench.plugin(PodTopologySpread), spread_pod(constraint())) == {"bare": NO_LABEL}

    def test_first_failing_constraint_gives_the_reason(self) -> None:
        """Constraints are asked in the pod's order; the first that fails decides."""
        bench = bench_with({"full": "z1", "empty": "z2", "bare": ""}, {"full": 2, "bare": 2})
        plugin = bench.plugin(PodTopologySpread)
        zone_first = bench.rejections(plugin, spread_pod(constraint(), constraint(HOSTNAME)))
        host_first = bench.rejections(plugin, spread_pod(constraint(HOSTNAME), constraint()))
        assert zone_first == {"full": CROWDED, "bare": NO_LABEL}
        # Pods on a node that lacks any key count for no constraint, so its host name looks empty.
        assert host_first == {"full": CROWDED, "bare": NO_LABEL}

    @pytest.mark.parametrize(
        ("policy", "rejected"),
        [pytest.param("Honor", ["n3"], id="honor"), pytest.param("Ignore", ["n3", "n4"], id="ignore")],
    )
    def test_node_affinity_policy(self, policy: str, rejected: list[str]) -> None:
        """With Honor, only nodes that the pod's nodeSelector admits make up domains and count."""
        zones = {"n1": "z1", "n3": "z2", "n4": "z3"}
        bench = bench_with(zones, {"n3": 2, "n4": 1})
        for name in ("n3", "n4"):
            bench.cache.set_node(make_node(name, labels={"zone": zones[name], "disk": "ssd"}))
        pod = spread_pod(constraint(nodeAffinityPolicy=policy), nodeSelector={"disk": "ssd"})
        assert bench.rejections(bench.plugin(PodTopologySpread), pod) == dict.fromkeys(rejected, CROWDED)

    @pytest.mark.parametrize(
        ("policy", "tolerations", "rejected"),
        [
            pytest.param(None, [], ["n2"], id="taints are ignored by default"),
            pytest.param("Honor", [], [], id="the tainted zone is no domain"),
            pytest.param("Honor", [{"operator": "Exists"}], ["n2"], id="a tolerated taint"),
        ],
    )
    def test_node_taints_policy(
        self, policy: str | None, tolerations: list[dict[str, str]], rejected: list[str]
    ) -> None:
        """With Honor, nodes with a taint that the pod does not tolerate make up no domain and count not."""
        nodes = [
            make_node("n1", labels={"zone": "z1"}, taints=["a=b:NoSchedule"]),
            make_node("n2", labels={"zone": "z2"}),
        ]
        bench = Bench(nodes, [make_pod("e", labels={"app": "a"}, node_name="n2")])
        pod = spread_pod(constraint(nodeTaintsPolicy=policy), tolerations=tolerations)
        assert bench.rejections(bench.plugin(PodTopologySpread), pod) == dict.fromkeys(rejected, CROWDED)

    def test_match_label_keys(self) -> None:
        """Pods count only with the pod's own value of each key; a key that the pod lacks is left out."""
        bench = bench_with(ZONES, {"n1": 1}, labels={"app": "a", "rev": "1"})
        plugin = bench.plugin(PodTopologySpread)
        keyed = constraint(matchLabelKeys=["rev", "absent"])
        same = spread_pod(keyed, labels={"app": "a", "rev": "1"})
        other = spread_pod(keyed, labels={"app": "a", "rev": "2"})
        assert bench.rejections(plugin, same) == {"n1": CROWDED, "n2": CROWDED}
        assert bench.rejections(plugin, other) == {}

    def test_no_hard_constraint_skips(self) -> None:
        """Without a DoNotSchedule constraint there is nothing to filter."""
        bench = bench_with(ZONES, {})
        plugin = bench.plugin(PodTopologySpread)
        assert bench.pre_filter(plugin, make_pod("p")).is_skip
        assert bench.pre_filter(plugin, spread_pod(constraint(hard=False))).is_skip

    def test_invalid_selector_is_an_error(self) -> None:
        """An unreadable selector ends the attempt; only constraints of the kind that is asked for are read."""
        bench = bench_with(ZONES, {})
        plugin = bench.plugin(PodTopologySpread)
        bad = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
        text = 'topology spread constraints: "Near" is not a valid label selector operator'
        status = bench.pre_filter(plugin, spread_pod(constraint(labelSelector=bad)))
        assert (status.code, status.message) == (
            Code.ERROR,
            f"get constraints from pod: obtaining pod's hard {text}",
        )
        soft = spread_pod(constraint(labelSelector=bad, hard=False))
        assert bench.pre_filter(plugin, soft).is_skip
        status = plugin.pre_score(CycleState(), soft, bench.nodes)
        assert status is not None
        assert status.message == f"calculating preScoreState: obtaining pod's soft {text}"


def test_sign() -> None:
    """Pods without constraints are all alike; with some, whatever decides who counts tells them apart."""
    plugin = bench_with(ZONES, {}).plugin(PodTopologySpread)
    bad = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    assert plugin.sign(make_pod("p", labels={"x": "1"})) == plugin.sign(make_pod("q"))
    assert plugin.sign(spread_pod(constraint())) == plugin.sign(spread_pod(constraint()))
    assert plugin.sign(spread_pod(constraint())) != plugin.sign(spread_pod(constraint(maxSkew=2)))
    assert plugin.sign(spread_pod(constraint())) != plugin.sign(spread_pod(constraint(), nodeSelector={"a": "b"}))
    assert plugin.sign(spread_pod(constraint(labelSelector=bad))) is None


class TestWhatIf:
    def test_removed_and_added_pods_count(self) -> None:
        """remove_pod makes room, add_pod takes it; the state they started from stays as it was."""
        bench = bench_with(ZONES, {"n1": 1})
        plugin, pod, state = bench.plugin(PodTopologySpread), spread_pod(constraint()), CycleState()
        victim = bench.nodes[0].pods[0]
        assert plugin.pre_filter(state, pod, bench.nodes) is None
        scratch = state.clone()
        plugin.remove_pod(scratch, pod, victim, bench.nodes[0])
        assert not plugin.filter_nodes(scratch, pod, bench.nodes).rejected.any()
        plugin.add_pod(scratch, pod, victim, bench.nodes[2])
        assert plugin.filter_nodes(scratch, pod, bench.nodes).rejected.tolist() == [False, False, True, False]
        assert plugin.filter_nodes(state, pod, bench.nodes).rejected.tolist() == [True, True, False, False]

    def test_host_names_follow_the_state_alone(self) -> None:
        """During a what-if the cache's own counts move too: they must not count twice."""
        bench = bench_with(ZONES, {"n1": 2, "n2": 2, "n3": 1, "n4": 1})
        plugin, pod, state = bench.plugin(PodTopologySpread), spread_pod(constraint(HOSTNAME)), CycleState()
        plugin.pre_filter(state, pod, bench.nodes)
        with bench.cache.snapshot().what_if() as moves:
            victim = bench.nodes[0].pods[0]
            moves.remove(0, victim)
            plugin.remove_pod(state, pod, victim, bench.nodes[0])
            assert plugin.filter_nodes(state, pod, bench.nodes).rejected.tolist() == [False, True, False, False]

    def test_pods_of_other_namespaces_change_nothing(self) -> None:
        bench = bench_with(ZONES, {"n1": 1})
        plugin, pod, state = bench.plugin(PodTopologySpread), spread_pod(constraint()), CycleState()
        plugin.pre_filter(state, pod, bench.nodes)
        stranger = make_pod("s", namespace="elsewhere", labels={"app": "a"})
        plugin.add_pod(state, pod, stranger, bench.nodes[3])
        assert plugin.filter_nodes(state, pod, bench.nodes).rejected.tolist() == [True, True, False, False]

    def test_one_node_of_the_table(self) -> None:
        """What PreFilter wrote answers for any selection of nodes."""
        bench = bench_with(ZONES, {"n1": 1})
        plugin, pod, state = bench.plugin(PodTopologySpread), spread_pod(constraint()), CycleState()
        plugin.pre_filter(state, pod, bench.nodes)
        some = bench.nodes.select(np.array([3, 1]))
        assert plugin.filter_nodes(state, pod, some).rejected.tolist() == [False, True]


class TestScore:
    def test_zones(self) -> None:
        """Count × ln(domains + 2) + maxSkew − 1, rounded; then 100·(highest + lowest − score)/highest.

        Three zones: 2·ln 5 = 3.2 → 3, 1·ln 5 = 1.6 → 2, 0 → 0; so 100·(3+0−3)/3, 100·(3−2)/3, 100·3/3.
        """
        bench = bench_with(ZONES, {"n1": 1, "n2": 1, "n3": 1})
        scores = bench.scores(bench.plugin(PodTopologySpread), spread_pod(constraint(hard=False)))
        assert scores == {"n1": 0, "n2": 0, "n3": 33, "n4": 100}

    def test_only_domains_of_feasible_nodes_weigh(self) -> None:
        """Two zones among the feasible nodes: 2·ln 4 = 2.8 → 3, 1·ln 4 = 1.4 → 1; 100·(3+1−3)/3, 100·(3+1−1)/3."""
        bench = bench_with(ZONES, {"n1": 1, "n2": 1, "n3": 1})
        scores = bench.scores(bench.plugin(PodTopologySpread), spread_pod(constraint(hard=False)), "n1", "n3")
        assert scores == {"n1": 33, "n3": 100}

    def test_host_names_count_the_node_alone(self) -> None:
        """Four nodes: 3·ln 6 = 5.4 → 5 and 1·ln 6 = 1.8 → 2: 100·(5−5)/5, 100·(5−2)/5. Policies do not matter."""
        bench = bench_with(ZONES, {"n1": 3, "n2": 1})
        pod = spread_pod(constraint(HOSTNAME, hard=False), nodeSelector={"disk": "ssd"})
        assert bench.scores(bench.plugin(PodTopologySpread), pod) == {"n1": 0, "n2": 60, "n3": 100, "n4": 100}

    def test_nodes_without_a_key_get_nothing(self) -> None:
        """A node that lacks a key of the pod's own constraints scores 0, and what runs there counts nowhere."""
        bench = bench_with({"n1": "z1", "n2": "z2", "bare": ""}, {"n1": 1, "bare": 9})
        scores = bench.scores(bench.plugin(PodTopologySpread), spread_pod(constraint(hard=False)))
        assert scores == {"n1": 0, "n2": 100, "bare": 0}

    def test_nothing_to_tell_apart(self) -> None:
        """If the highest score is 0, all get 100."""
        bench = bench_with(ZONES, {})
        scores = bench.scores(bench.plugin(PodTopologySpread), spread_pod(constraint(hard=False)))
        assert scores == dict.fromkeys(ZONES, 100)

    def test_max_skew_waters_differences_down(self) -> None:
        """With maxSkew 4, 3 is added to both: 3 + 1·ln 4 = 4.4 → 4 and 3: 100·(4+3−4)/4 and 100·(4+3−3)/4."""
        bench = bench_with({"n1": "z1", "n2": "z2"}, {"n1": 1})
        scores = bench.scores(bench.plugin(PodTopologySpread), spread_pod(constraint(hard=False, maxSkew=4)))
        assert scores == {"n1": 75, "n2": 100}

    def test_no_soft_constraint_skips(self) -> None:
        bench = bench_with(ZONES, {})
        assert bench.scores(bench.plugin(PodTopologySpread), spread_pod(constraint())) is None


def service(selector: dict[str, str] | None, namespace: str = "default") -> Service:
    return Service.from_dict(
        {"metadata": {"name": "s", "namespace": namespace}, "spec": {"selector": selector or {}}}
    )


def owned_pod(kind: str, api_version: str = "apps/v1") -> Pod:
    owner = {"apiVersion": api_version, "kind": kind, "name": "o", "controller": True}
    return make_pod("p", labels={"app": "a", "x": "1"}, metadata={"ownerReferences": [owner]})


class TestDefaults:
    """A pod without constraints is spread with the pods that its services and its controller select."""

    def default_bench(self, labels: dict[str, str] | None = None) -> Bench:
        nodes = [make_node("n1", labels={ZONE: "z1"}), make_node("n2", labels={ZONE: "z2"}), make_node("bare")]
        return Bench(nodes, [make_pod("e", labels=labels or {"app": "a"}, node_name="n1")])

    #: Host names weigh ln 5, maxSkew 3; zones, with the nodes in none as a third, ln 5, maxSkew 5.
    #: n1: 1.6 + 2 + 1.6 + 4 = 9.2 → 9; n2: 2 + 4 = 6; bare: 2. 100·(9 + 2 − score)/9.
    SPREAD = {"n1": 22, "n2": 55, "bare": 100}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("selector", "spread"),
        [
            pytest.param({"app": "a"}, True, id="selects the pod"),
            pytest.param({"app": "b"}, False, id="selects others"),
            pytest.param({}, False, id="selects nobody"),
        ],
    )
    def test_services(self, selector: dict[str, str], spread: bool) -> None:
        bench = self.default_bench()
        bench.objects.set(service(selector))
        scores = bench.scores(bench.plugin(PodTopologySpread), make_pod("p", labels={"app": "a"}))
        assert scores == (self.SPREAD if spread else None)

    def test_service_of_another_namespace(self) -> None:
        bench = self.default_bench()
        bench.objects.set(service({"app": "a"}, namespace="elsewhere"))
        assert bench.scores(bench.plugin(PodTopologySpread), make_pod("p", labels={"app": "a"})) is None

    @pytest.mark.parametrize(
        ("owner", "api_version", "kind", "selector"),
        [
            pytest.param("ReplicaSet", "apps/v1", ReplicaSet, APP, id="replica set"),
            pytest.param("StatefulSet", "apps/v1", StatefulSet, APP, id="stateful set"),
            pytest.param("ReplicationController", "v1", ReplicationController, {"app": "a"}, id="controller"),
        ],
    )
    def test_owners(self, owner: str, api_version: str, kind: type[Any], selector: dict[str, Any]) -> None:
        bench = self.default_bench()
        bench.objects.set(
            kind.from_dict({"metadata": {"name": "o", "namespace": "default"}, "spec": {"selector": selector}})
        )
        assert bench.scores(bench.plugin(PodTopologySpread), owned_pod(owner, api_version)) == self.SPREAD

    def test_service_and_owner_together(self) -> None:
        """Both selectors must match; here the pod on n1 is not in the replica set."""
        bench = self.default_bench()
        expressions = {"matchExpressions": [{"key": "x", "operator": "Exists"}]}
        bench.objects.set(service({"app": "a"}))
        bench.objects.set(
            ReplicaSet.from_dict(
                {"metadata": {"name": "o", "namespace": "default"}, "spec": {"selector": expressions}}
            )
        )
        scores = bench.scores(bench.plugin(PodTopologySpread), owned_pod("ReplicaSet"))
        assert scores == {"n1": 33, "n2": 33, "bare": 100}  # 6, 6 and 2: 100·(6 + 2 − score)/6

    @pytest.mark.parametrize(
        "selector",
        [
            pytest.param({"matchExpressions": [{"key": "a", "operator": "Near"}]}, id="invalid"),
            pytest.param(None, id="missing"),
        ],
    )
    def test_owner_without_readable_selector(self, selector: dict[str, Any] | None) -> None:
        """What the controller selects is left out then; the services remain."""
        bench = self.default_bench()
        bench.objects.set(service({"app": "a"}))
        bench.objects.set(
            ReplicaSet.from_dict(
                {"metadata": {"name": "o", "namespace": "default"}, "spec": {"selector": selector}}
            )
        )
        assert bench.scores(bench.plugin(PodTopologySpread), owned_pod("ReplicaSet")) == self.SPREAD

    def test_changes_are_noticed(self) -> None:
        """A service that comes, changes or goes counts at once."""
        bench = self.default_bench()
        plugin, pod = bench.plugin(PodTopologySpread), make_pod("p", labels={"app": "a"})
        assert bench.scores(plugin, pod) is None
        bench.objects.set(service({"app": "a"}))
        assert bench.scores(plugin, pod) == self.SPREAD
        bench.objects.set(service({"app": "b"}))
        assert bench.scores(plugin, pod) is None

    def test_list_of_defaults(self) -> None:
        """defaultingType List brings its own constraints, which may filter, and then every key is required."""
        defaults = [
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"},
        ]
        bench = self.default_bench()
        bench.objects.set(service({"app": "a"}))
        plugin = bench.plugin(PodTopologySpread, {"defaultingType": "List", "defaultConstraints": defaults})
        pod = make_pod("p", labels={"app": "a"})
        assert bench.rejections(plugin, pod) == {"n1": CROWDED, "bare": NO_LABEL}
        assert bench.scores(plugin, pod) == {"n1": 0, "n2": 100, "bare": 0}

    def test_empty_zone_is_no_zone(self) -> None:
        """To the system's defaults an empty zone label and none are one domain, but only a label is scored.

        Weights are ln(3 hosts + 2) and ln(2 zones + 2). empty: 1·ln 5 + 2 + 2·ln 4 + 4 = 10.4 → 10;
        other: 2 + 4 = 6; bare: 1·ln 5 + 2 = 3.6 → 4. 100·(10 + 4 − score)/10.
        """
        nodes = [make_node("empty", labels={ZONE: ""}), make_node("other", labels={ZONE: "z"}), make_node("bare")]
        bench = Bench(nodes, [make_pod(f"e-{n}", labels={"app": "a"}, node_name=n) for n in ("empty", "bare")])
        bench.objects.set(service({"app": "a"}))
        scores = bench.scores(bench.plugin(PodTopologySpread), make_pod("p", labels={"app": "a"}))
        assert math.log(5) + 2 + 2 * math.log(4) + 4 == pytest.approx(10.38, abs=0.01)
        assert scores == {"empty": 40, "other": 80, "bare": 100}
