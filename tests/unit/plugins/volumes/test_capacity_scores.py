"""Nodes are scored by how much of the volumes, or of the storage pools, the claims of a pod would use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.volumes.storage import (
    affinity,
    make_capacity,
    make_claim,
    make_class,
    make_driver,
    make_volume,
    pod_claiming,
)

from bayplan.framework import CycleState, Status, Verdict
from bayplan.model import KubeObject, Pod
from bayplan.plugins.volumes.volume_binding import VolumeBinding
from bayplan.testing import make_node, make_pod

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
DRIVER = "csi.example.com"
NODES = [make_node(name, labels={HOST: name, ZONE: f"z-{name}"}) for name in ("a", "b")]


def bench_with(*objects: KubeObject, release: str = "1.37") -> Bench:
    bench = Bench(NODES, release=release)
    for each in (make_class("local"), make_class("dyn", provisioner=DRIVER), *objects):
        bench.objects.set(each)
    return bench


def pool(name: str, capacity: str, node: str) -> KubeObject:
    topology = {"matchLabels": {ZONE: f"z-{node}"}}
    return make_capacity(name, "dyn", capacity=capacity, nodeTopology=topology)


def scores(bench: Bench, pod: Pod, args: Mapping[str, Any] | None = None) -> dict[str, int]:
    """After Filter, which finds the volumes."""
    plugin, state, nodes = bench.plugin(VolumeBinding, args), CycleState(), bench.nodes
    if not plugin.pre_filter(state, pod, nodes).is_skip:
        verdict = plugin.filter_nodes(state, pod, nodes)
        assert isinstance(verdict, Verdict)
        assert verdict.accepts_all
    assert plugin.pre_score(state, pod, nodes) in (None, Status.success())
    found = plugin.score_nodes(state, pod, nodes)
    assert isinstance(found, np.ndarray)
    return dict(zip(nodes.names.tolist(), found.tolist(), strict=True))


def test_gate_is_off_in_older_releases() -> None:
    bench = bench_with(release="1.36")
    assert bench.scores(bench.plugin(VolumeBinding), make_pod("p")) is None


def test_pods_without_claims_score_nothing() -> None:
    """But the plugin does score, so that it is listed with the others."""
    bench = bench_with()
    assert scores(bench, make_pod("p")) == {"a": 0, "b": 0}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({}, {"a": 80, "b": 50}, id="much left is better"),
        pytest.param(
            {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]},
            {"a": 20, "b": 50},
            id="little left is better",
        ),
    ],
)
def test_pools_by_how_full_they_get(args: dict[str, Any], expected: dict[str, int]) -> None:
    """A claim of 2 Gi in a pool of 10 Gi, and in one of 4 Gi."""
    bench = bench_with(
        make_driver(DRIVER, storage_capacity=True),
        pool("large", "10Gi", "a"),
        pool("small", "4Gi", "b"),
        make_claim("c", storage_class="dyn", size="2Gi"),
    )
    assert scores(bench, pod_claiming("p", "c"), args) == expected


def test_volumes_by_how_well_they_fit() -> None:
    """A claim of 1 Gi with a volume of 2 Gi, and with one of 4 Gi."""
    bench = bench_with(
        make_volume("v", size="2Gi", nodeAffinity=affinity(HOST, "a")),
        make_volume("w", size="4Gi", nodeAffinity=affinity(HOST, "b")),
        make_claim("c", size="1Gi"),
    )
    assert scores(bench, pod_claiming("p", "c")) == {"a": 50, "b": 75}


def test_two_claims_share_a_pool() -> None:
    """Together they use 3 of 4 Gi."""
    bench = bench_with(
        make_driver(DRIVER, storage_capacity=True),
        pool("one", "4Gi", "a"),
        pool("two", "4Gi", "b"),
        make_claim("c", storage_class="dyn", size="1Gi"),
        make_claim("d", storage_class="dyn", size="2Gi"),
    )
    assert scores(bench, pod_claiming("p", "c", "d")) == {"a": 25, "b": 25}
