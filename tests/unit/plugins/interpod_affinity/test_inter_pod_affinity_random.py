"""Counts that are kept give what looking at every pair of pods gives, whatever the cluster went through."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.model import AffinityTerm, Namespace, Node, Pod
from bayplan.plugins.interpod_affinity.inter_pod_affinity import InterPodAffinity
from bayplan.testing import make_node, make_pod

NAMESPACES = {"default": {"env": "x"}, "team": {"env": "y"}, "bare": {}}
HARD_WEIGHT = 3


def random_node(rng: random.Random, name: str) -> Node:
    labels = {key: f"{key}{rng.randrange(3)}" for key in ("zone", "rack") if rng.random() < 0.85}
    return make_node(name, labels=labels)


def random_selector(rng: random.Random) -> dict[str, Any]:
    return rng.choice(
        [
            {"matchLabels": {"app": rng.choice("ab")}},
            {"matchLabels": {"app": rng.choice("ab"), "tier": "1"}},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "c"]}]},
            {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
            {},
        ]
    )


def random_term(rng: random.Random) -> dict[str, Any]:
    spoken_of: dict[str, Any] = rng.choice(
        [
            {},
            {},
            {"namespaces": ["team"]},
            {"namespaceSelector": {}},
            {"namespaceSelector": {"matchLabels": {"env": "y"}}, "namespaces": ["default"]},
        ]
    )
    selector = random_selector(rng) if rng.random() < 0.95 else None
    return {
        "labelSelector": selector,
        "topologyKey": rng.choice(["zone", "rack", "kubernetes.io/hostname"]),
        **spoken_of,
    }


def random_side(rng: random.Random) -> dict[str, Any]:
    n_required, n_preferred = rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 1, 2])
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": [random_term(rng) for _ in range(n_required)],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": rng.randint(1, 100), "podAffinityTerm": random_term(rng)} for _ in range(n_preferred)
        ],
    }


def random_pod(rng: random.Random, name: str, node_name: str = "") -> Pod:
    labels = {"app": rng.choice("abc"), **({"tier": rng.choice("12")} if rng.random() < 0.5 else {})}
    affinity = (
        {"podAffinity": random_side(rng), "podAntiAffinity": random_side(rng)} if rng.random() < 0.6 else None
    )
    namespace = rng.choice([*NAMESPACES, "default"])
    return make_pod(name, namespace=namespace, labels=labels, node_name=node_name, spec={"affinity": affinity})


# --- the rules, one pair of pods at a time ---------------------------------------------------------


def speaks_of(term: AffinityTerm, pod: Pod) -> bool:
    is_meant = pod.namespace in term.namespaces or term.namespace_selector.matches(NAMESPACES[pod.namespace])
    return is_meant and term.selector.matches(pod.labels)


class Rules:
    """The documented rules for one pod, by looking at every pod on every node."""

    def __init__(self, pod: Pod, nodes: Sequence[tuple[Node, Sequence[Pod]]]) -> None:
        self.pod = pod
        self.placed = [(node, other) for node, pods in nodes for other in pods]

    def verdict(self, node: Node) -> str:
        terms = self.pod.affinity_terms
        if not self._near_required(node, terms.required):
            return "pod affinity"
        if any(self._shares(node, term, where) for term in terms.anti_required for where in self._met_by(term)):
            return "pod anti-affinity"
        for where, other in self.placed:
            for term in other.affinity_terms.anti_required:
                if speaks_of(term, self.pod) and self._shares(node, term, where):
                    return "existing pods anti-affinity"
        return "fits"

    def _near_required(self, node: Node, terms: Sequence[AffinityTerm]) -> bool:
        if not all(term.topology_key in node.labels for term in terms):
            return False
        friends = [where for where, other in self.placed if all(speaks_of(term, other) for term in terms)]
        if all(any(self._shares(node, term, where) for where in friends) for term in terms):
            return True
        nowhere = not any(term.topology_key in where.labels for term in terms for where in friends)
        return nowhere and all(speaks_of(term, self.pod) for term in terms)

    def _met_by(self, term: AffinityTerm) -> list[Node]:
        return [where for where, other in self.placed if speaks_of(term, other)]

    @staticmethod
    def _shares(node: Node, term: AffinityTerm, where: Node) -> bool:
        key = term.topology_key
        return key in node.labels and node.labels[key] == where.labels.get(key)

    def scores(self, feasible: Sequence[Node]) -> list[int] | None:
        worth = [each for each in self._worth() if each[1].topology_key in each[2].labels]
        if not worth:
            return None
        raw = [
            sum(weight for weight, term, where in worth if self._shares(node, term, where)) for node in feasible
        ]
        lowest, highest = min(raw), max(raw)
        if lowest == highest:
            return [0] * len(raw)
        return [int(100.0 * ((score - lowest) / (highest - lowest))) for score in raw]

    def _worth(self) -> list[tuple[int, AffinityTerm, Node]]:
        """Weight, term and node of every pair of a term and a pod that it brings together."""
        own = self.pod.affinity_terms
        found = [(weight, term, where) for weight, term in own.preferred for where in self._met_by(term)]
        found += [(-weight, term, where) for weight, term in own.anti_preferred for where in self._met_by(term)]
        for where, other in self.placed:
            terms = other.affinity_terms
            theirs = [(HARD_WEIGHT, term) for term in terms.required]
            theirs += [*terms.preferred, *((-weight, term) for weight, term in terms.anti_preferred)]
            found += [(weight, term, where) for weight, term in theirs if speaks_of(term, self.pod)]
        return found


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


def compare(rng: random.Random, bench: Bench, plugin: InterPodAffinity, pod: Pod) -> None:
    nodes = [(info.node, info.pods) for info in bench.nodes]
    rules = Rules(pod, nodes)
    rejected = bench.rejections(plugin, pod)
    for node, _ in nodes:
        status, word = rejected.get(node.name), rules.verdict(node)
        assert (status is None) == (word == "fits"), (node.name, word)
        assert status is None or f"{word} rules" in status.message
    feasible = [node for node, _ in nodes if rng.random() < 0.7] or [nodes[0][0]]
    scores = bench.scores(plugin, pod, *(node.name for node in feasible))
    expected = rules.scores(feasible)
    assert (None if scores is None else list(scores.values())) == expected


@pytest.mark.parametrize("seed", range(60))
def test_equals_looking_at_every_pod(seed: int) -> None:
    """Verdicts and scores are those of the rules, before and after nodes and pods come, change and go."""
    rng = random.Random(seed)  # noqa: S311  a cluster, not a secret
    names = [f"n{i}" for i in range(rng.randint(3, 8))]
    bench = Bench(
        [random_node(rng, name) for name in names],
        [random_pod(rng, f"e{i}", rng.choice(names)) for i in range(rng.randint(0, 6))],
    )
    for name, labels in NAMESPACES.items():
        bench.objects.set(Namespace.from_dict({"metadata": {"name": name, "labels": labels}}))
    plugin = bench.plugin(InterPodAffinity, {"hardPodAffinityWeight": HARD_WEIGHT})
    pods = [random_pod(rng, f"p{i}") for i in range(4)]
    for turn in range(6):
        for pod in pods:
            compare(rng, bench, plugin, pod)
        change(rng, bench, turn)
