"""Scores by class of nodes equal those that are worked out node by node."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.plugins.bench import Bench

from bayplan.framework import Plugin
from bayplan.model import Pod
from bayplan.plugins.interpod_affinity import _affinity_score
from bayplan.plugins.interpod_affinity.inter_pod_affinity import InterPodAffinity
from bayplan.plugins.topology_spread import _spread_score
from bayplan.plugins.topology_spread.pod_topology_spread import PodTopologySpread
from bayplan.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
WEB = {"matchLabels": {"app": "web"}}


def _spread(*keys: str) -> dict[str, Any]:
    return {
        "topologySpreadConstraints": [
            {"maxSkew": 1 + i, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": WEB}
            for i, key in enumerate(keys)
        ]
    }


def _prefers(kind: str, *weighed: tuple[int, str]) -> dict[str, Any]:
    terms = [
        {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": WEB}}
        for weight, key in weighed
    ]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}


SPREADS = {
    "zones": _spread(ZONE),
    "hosts": _spread(HOSTNAME),
    "hosts and zones": _spread(HOSTNAME, ZONE),
    "zones and hosts": _spread(ZONE, HOSTNAME),
    "disks, zones and hosts": _spread("disk", ZONE, HOSTNAME),
}
AFFINITIES = {
    "hosts": _prefers("podAffinity", (1, HOSTNAME)),
    "zones": _prefers("podAffinity", (7, ZONE)),
    "both": _prefers("podAffinity", (3, HOSTNAME), (50, ZONE), (1, ZONE)),
    "neither": _prefers("podAntiAffinity", (1, HOSTNAME), (100, ZONE)),
}

#: For each node: its zone, and how many pods of the app are there, carriers of an affinity among them or not.
clusters = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.booleans()), min_size=1, max_size=8)


def _bench(cluster: list[tuple[int, int, bool]]) -> Bench:
    nodes = [
        make_node(f"n{i}", labels={ZONE: f"z{zone}", "disk": "ssd"}) for i, (zone, _, _) in enumerate(cluster)
    ]
    pods = [
        make_pod(
            f"p{i}-{k}", labels={"app": "web"}, node_name=f"n{i}", spec=AFFINITIES["hosts"] if carries else {}
        )
        for i, (_, count, carries) in enumerate(cluster)
        for k in range(count)
    ]
    return Bench(nodes, pods)


def _both_ways(
    cluster: list[tuple[int, int, bool]], chosen: set[int], plugin: type[Plugin], pod: Pod
) -> list[dict[str, int] | None]:
    """By class, and with classes forbidden; a pod more on the first node between two looks at the same cluster."""
    found = []
    for limit in (512, 0):
        bench = _bench(cluster)
        asked = bench.plugin(plugin)
        among = [f"n{i}" for i in range(len(cluster)) if i in chosen]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_spread_score, "MAX_CLASSES", limit)
            patch.setattr(_affinity_score, "MAX_CLASSES", limit)
            found.append(bench.scores(asked, pod, *among))
            bench.cache.add_pod(make_pod("more", labels={"app": "web"}, node_name="n0"))
            found.append(bench.scores(asked, pod, *among))
    return found


@settings(max_examples=40)
@pytest.mark.parametrize("spec", SPREADS.values(), ids=SPREADS.keys())
@given(cluster=clusters, chosen=st.sets(st.integers(0, 7)))
def test_spread(spec: dict[str, Any], cluster: list[tuple[int, int, bool]], chosen: set[int]) -> None:
    """Over all nodes and over some, before and after a pod more."""
    pod = make_pod("p", labels={"app": "web"}, spec=spec)
    before, after, expected_before, expected_after = _both_ways(cluster, chosen, PodTopologySpread, pod)
    assert (before, after) == (expected_before, expected_after)


@settings(max_examples=40)
@pytest.mark.parametrize("spec", AFFINITIES.values(), ids=AFFINITIES.keys())
@given(cluster=clusters, chosen=st.sets(st.integers(0, 7)))
def test_affinity(spec: dict[str, Any], cluster: list[tuple[int, int, bool]], chosen: set[int]) -> None:
    """The same for preferences, those of pods on nodes included."""
    pod = make_pod("p", labels={"app": "web"}, spec=spec)
    before, after, expected_before, expected_after = _both_ways(cluster, chosen, InterPodAffinity, pod)
    assert (before, after) == (expected_before, expected_after)
