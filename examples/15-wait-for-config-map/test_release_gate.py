"""How to test your own plugin: `python -m pytest test_release_gate.py`."""

from pathlib import Path

import pytest

from bayplan.framework import Registry
from bayplan.testing import VirtualCluster, check_plugin, make_pod

ReleaseGate = Registry().add_reference(f"{Path(__file__).with_name('release_gate.py')}:ReleaseGate").plugin


def release(approved, kind="release"):
    metadata = {"name": "spring", "namespace": "default", "labels": {"example.com/kind": kind}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"approved": approved}}


@pytest.fixture
def cluster():
    with VirtualCluster(nodes=1, plugins=[ReleaseGate]) as started:
        yield started


def phase_of(cluster, seconds):
    cluster.apply(make_pod("web", labels={"example.com/release": "spring"}))
    cluster.wait(seconds)
    return cluster.pod("web").status.phase


def test_an_approved_release_starts_at_once(cluster):
    cluster.apply(release("true"))
    cluster.wait(1)

    assert phase_of(cluster, 5) == "Running"


@pytest.mark.parametrize(
    "wrong", [release("false"), release("true", kind="note")], ids=["refused", "another kind"]
)
def test_what_is_not_approved_waits(cluster, wrong):
    cluster.apply(wrong)
    cluster.wait(1)

    assert phase_of(cluster, 60) == "Pending"


def test_a_pod_does_not_wait_forever(cluster):
    phase_of(cluster, 601)

    assert "rejected due to timeout after waiting 10m0s at plugin ReleaseGate" in cluster.events("web")[0]


def test_it_keeps_the_contract():
    check_plugin(ReleaseGate)
