"""Counts that are kept give what counting every pod on every node gives, whatever the cluster went through."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import CycleState
from bayplan.model import Node, Pod, compile_selector
from bayplan.plugins.topology_spread.pod_topology_spread import PodTopologySpread
from bayplan.testing import make_node, make_pod

KEYS = ("zone", "rack", "kubernetes.io/hostname")
TAINT = "dedicated=x:NoSchedule"


def random_node(rng: random.Random, name: str) -> Node:
    labels = {key: f"{key}{rng.randrange(4)}" for key in ("zone", "rack") if rng.random() < 0.85}
    labels |= {"disk": "ssd"} if rng.random() < 0.5 else {}
    return make_node(name, labels=labels, taints=[TAINT] if rng.random() < 0.3 else [])


def random_constraint(rng: random.Random) -> dict[str, Any]:
    selector = rng.choice(
        [{"matchLabels": {"app": "a"}}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}]
    )
    found = {
        "maxSkew": rng.choice([1, 1, 2, 5]),
        "topologyKey": rng.choice(KEYS),
        "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": selector,
        "nodeAffinityPolicy": rng.choice([None, "Honor", "Ignore"]),
        "nodeTaintsPolicy": rng.choice([None, "Honor", "Ignore"]),
        "matchLabelKeys": rng.choice([[], [], ["rev"]]),
    }
    if found["whenUnsatisfiable"] == "DoNotSchedule":
        found["minDomains"] = rng.choice([None, None, 2, 5])
    return {key: value for key, value in found.items() if value is not None}


def random_pod(rng: random.Random, name: str, node_name: str = "", *, spread: bool = False) -> Pod:
    labels = {"app": rng.choice("aab"), **({"rev": rng.choice("12")} if rng.random() < 0.7 else {})}
    spec: dict[str, Any] = {}
    if spread:
        spec["topologySpreadConstraints"] = [random_constraint(rng) for _ in range(rng.randint(1, 3))]
        spec["nodeSelector"] = rng.choice([{}, {}, {"disk": "ssd"}])
        spec["tolerations"] = rng.choice([[], [{"key": "dedicated", "operator": "Exists"}]])
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if rng.random() < 0.1 and node_name else {}
    namespace = rng.choice(["default", "default", "other"]) if node_name else "default"
    return make_pod(name, namespace=namespace, labels=labels, node_name=node_name, spec=spec, metadata=metadata)


# --- the rules, one node at a time -----------------------------------------------------------------


class Rules:
    """The documented rules for one pod, by counting."""

    def __init__(self, pod: Pod, nodes: Sequence[tuple[Node, Sequence[Pod]]], action: str) -> None:
        self.pod = pod
        self.nodes = nodes
        self.constraints = [
            each for each in pod.spec.topology_spread_constraints if each.when_unsatisfiable == action
        ]
        self.keys = [each.topology_key for each in self.constraints]

    def selects(self, constraint: Any, other: Pod) -> bool:
        own = {key: self.pod.labels[key] for key in constraint.match_label_keys if key in self.pod.labels}
        return own.items() <= other.labels.items() and compile_selector(constraint.label_selector).matches(
            other.labels
        )

    def n_matching(self, constraint: Any, pods: Iterable[Pod]) -> int:
        return sum(
            self.selects(constraint, each) and each.namespace == self.pod.namespace and not each.is_terminating
            for each in pods
        )

    def counts(self, constraint: Any) -> dict[str, int]:
        """Domain → matching pods, of the domains that have a node which counts."""
        found: dict[str, int] = {}
        for node, pods in self.nodes:
            if all(key in node.labels for key in self.keys) and self.is_included(constraint, node):
                domain = node.labels[constraint.topology_key]
                found[domain] = found.get(domain, 0) + self.n_matching(constraint, pods)
        return found

    def is_included(self, constraint: Any, node: Node) -> bool:
        admitted = self.pod.spec.node_selector.items() <= node.labels.items()
        tolerated = not node.taints or bool(self.pod.spec.tolerations)
        return (admitted or constraint.node_affinity_policy == "Ignore") and (
            tolerated or constraint.node_taints_policy != "Honor"
        )

    def verdict(self, node: Node) -> str:
        for constraint in self.constraints:
            if constraint.topology_key not in node.labels:
                return "missing required label"
            counts = self.counts(constraint)
            lowest = min(counts.values(), default=0)
            if len(counts) < (constraint.min_domains or 1):
                lowest = 0
            here = counts.get(node.labels[constraint.topology_key], 0)
            if here + self.selects(constraint, self.pod) - lowest > constraint.max_skew:
                return "crowded"
        return "fits"

    def scores(self, feasible: Sequence[str]) -> list[int]:
        by_name = {node.name: (node, pods) for node, pods in self.nodes}
        scored = [name for name in feasible if all(key in by_name[name][0].labels for key in self.keys)]
        raw = {name: self.raw_score(*by_name[name], [by_name[each][0] for each in scored]) for name in scored}
        highest, lowest = max(raw.values(), default=0), min(raw.values(), default=0)
        full = {name: 100 if not highest else 100 * (highest + lowest - raw[name]) // highest for name in scored}
        return [full.get(name, 0) for name in feasible]

    def raw_score(self, node: Node, pods: Sequence[Pod], scored: Sequence[Node]) -> int:
        score = 0.0
        for constraint in self.constraints:
            key = constraint.topology_key
            if key == "kubernetes.io/hostname":
                count, size = self.n_matching(constraint, pods), len(scored)
            else:
                count = self.counts(constraint).get(node.labels[key], 0)
                size = len({each.labels[key] for each in scored})
            score += count * math.log(size + 2) + (constraint.max_skew - 1)
        return math.floor(score + 0.5)


# --- the comparison --------------------------------------------------------------------------------


def change(rng: random.Random, bench: Bench, turn: int) -> None:
    """One thing happens to the cluster."""
    names = [str(name) for name in bench.nodes.names]
    match rng.randrange(5):
        case 0:
            bench.cache.set_node(random_node(rng, rng.choice([*names, f"new{turn}"])))
        case 1 if len(names) > 3:
            bench.cache.remove_node(rng.choice(names))
        case 2 if pods := list(bench.cache.snapshot().pods()):
            bench.cache.remove_pod(rng.choice(pods).uid)
        case _:
            bench.cache.add_pod(random_pod(rng, f"more{turn}", rng.choice(names)))


def compare(rng: random.Random, bench: Bench, plugin: PodTopologySpread, pod: Pod) -> None:
    nodes = [(info.node, info.pods) for info in bench.nodes]
    rules = Rules(pod, nodes, "DoNotSchedule")
    rejected = bench.rejections(plugin, pod)
    assert {node.name: _word(rejected.get(node.name)) for node, _ in nodes} == {
        node.name: rules.verdict(node) for node, _ in nodes
    }
    soft = Rules(pod, nodes, "ScheduleAnyway")
    feasible = [node.name for node, _ in nodes if rng.random() < 0.7] or [nodes[0][0].name]
    scores = bench.scores(plugin, pod, *feasible)
    expected = dict(zip(feasible, soft.scores(feasible), strict=True)) if soft.constraints else None
    assert scores == expected


def _word(status: Any) -> str:
    if status is None:
        return "fits"
    return "missing required label" if "missing" in status.message else "crowded"


@pytest.mark.parametrize("seed", range(40))
def test_equals_counting_every_pod(seed: int) -> None:
    """Verdicts and scores are those of the rules, before and after nodes and pods come, change and go."""
    rng = random.Random(seed)  # noqa: S311  a cluster, not a secret
    names = [f"n{i}" for i in range(rng.randint(3, 9))]
    bench = Bench(
        [random_node(rng, name) for name in names],
        [random_pod(rng, f"e{i}", rng.choice(names)) for i in range(rng.randint(0, 15))],
    )
    plugin = bench.plugin(PodTopologySpread)
    pods = [random_pod(rng, f"p{i}", spread=True) for i in range(4)]
    for turn in range(6):
        for pod in pods:
            compare(rng, bench, plugin, pod)
        change(rng, bench, turn)


@pytest.mark.parametrize("seed", range(20))
def test_what_if_equals_counting_again(seed: int) -> None:
    """After pods are taken away and put back, the state is that of a PreFilter on the changed cluster."""
    rng = random.Random(seed)  # noqa: S311  a cluster, not a secret
    names = [f"n{i}" for i in range(6)]
    bench = Bench(
        [random_node(rng, name) for name in names],
        [random_pod(rng, f"e{i}", rng.choice(names)) for i in range(14)],
    )
    plugin, pod, state = bench.plugin(PodTopologySpread), random_pod(rng, "p", spread=True), CycleState()
    if plugin.pre_filter(state, pod, bench.nodes) is not None:
        return
    snapshot = bench.cache.snapshot()
    victims = [each for each in snapshot.pods() if not each.is_terminating]
    with snapshot.what_if() as moves:
        for victim in rng.sample(victims, k=min(4, len(victims))):
            row = snapshot.row(victim.spec.node_name)
            assert row is not None
            moves.remove(row, victim)
            plugin.remove_pod(state, pod, victim, bench.nodes[row])
            fresh = CycleState()
            plugin.pre_filter(fresh, pod, bench.nodes)
            ours, again = (plugin.filter_nodes(each, pod, bench.nodes) for each in (state, fresh))
            assert np.array_equal(ours.rejected, again.rejected)
