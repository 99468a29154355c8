"""Bound volumes with zone labels are used from nodes of that zone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.volumes.storage import make_claim, make_class, make_volume, pod_claiming, pod_with

from bayplan.framework import Action, Hint, Resource, Status
from bayplan.model import PersistentVolumeClaim, StorageClass
from bayplan.plugins.volumes.volume_zone import BETA_REGION, BETA_ZONE, REGION, ZONE, VolumeZone
from bayplan.testing import make_node, make_pod

CONFLICT = Status.unresolvable("node(s) had no available volume zone")

NODES = [
    make_node("a", labels={ZONE: "za", REGION: "r"}),
    make_node("b", labels={ZONE: "zb", REGION: "r"}),
    make_node("old", labels={BETA_ZONE: "za"}),
    make_node("bare"),
]


def bench_with(labels: dict[str, str]) -> Bench:
    bench = Bench(NODES)
    bench.objects.set(make_volume("v", labels=labels))
    bench.objects.set(make_claim("c", volume="v"))
    return bench


@pytest.mark.parametrize(
    ("labels", "rejected"),
    [
        pytest.param({ZONE: "za"}, ["b", "old"], id="one zone: the node's older label is not looked at"),
        pytest.param({ZONE: "za__zb"}, ["old"], id="two zones"),
        pytest.param({ZONE: " za __zx"}, ["b", "old"], id="zones with spaces around them"),
        pytest.param({ZONE: "zx"}, ["a", "b", "old"], id="a zone that no node has"),
        pytest.param({BETA_ZONE: "za"}, ["b"], id="the older label matches the node's older or newer one"),
        pytest.param({BETA_REGION: "r"}, ["old"], id="the older region matches the newer"),
        pytest.param({ZONE: "za", REGION: "q"}, ["a", "b", "old"], id="zone and region must both match"),
    ],
)
def test_filter(labels: dict[str, str], rejected: list[str]) -> None:
    """Each label of the volume must be the node's; a node without any such label takes every volume."""
    bench = bench_with(labels)
    found = bench.rejections(bench.plugin(VolumeZone), pod_claiming("p", "c"))
    assert found == dict.fromkeys(rejected, CONFLICT)


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({}, id="no labels"),
        pytest.param({"app": "x"}, id="other labels"),
        pytest.param({ZONE: "za__"}, id="an empty zone: the label is ignored"),
    ],
)
def test_volume_without_places_is_skipped(labels: dict[str, str]) -> None:
    bench = bench_with(labels)
    assert bench.pre_filter(bench.plugin(VolumeZone), pod_claiming("p", "c")) == Status.skip()


@pytest.mark.parametrize(
    ("claim", "storage_class", "answer"),
    [
        pytest.param(None, None, 'persistentvolumeclaim "c" not found', id="no claim"),
        pytest.param(make_claim("c", volume="v"), None, 'persistentvolume "v" not found', id="no volume"),
        pytest.param(
            make_claim("c", storage_class=None),
            None,
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param(make_claim("c"), None, 'storageclass.storage.k8s.io "local" not found', id="no class"),
        pytest.param(
            make_claim("c"),
            make_class("local", mode=None),
            'VolumeBindingMode not set for StorageClass "local"',
            id="a class without a binding mode",
        ),
        pytest.param(
            make_claim("c"), make_class("local", mode="Immediate"), "PersistentVolume had no name", id="immediate"
        ),
        pytest.param(make_claim("c"), make_class("local"), None, id="one that waits for its first consumer"),
    ],
)
def test_unbound_claims(
    claim: PersistentVolumeClaim | None, storage_class: StorageClass | None, answer: str | None
) -> None:
    """An unbound claim is skipped if it waits for its pod; any other cannot be placed."""
    bench = Bench(NODES)
    for each in (claim, storage_class):
        if each is not None:
            bench.objects.set(each)
    expected = Status.skip() if answer is None else Status.unresolvable(answer)
    assert bench.pre_filter(bench.plugin(VolumeZone), pod_claiming("p", "c")) == expected


def test_pre_filter_without_claims() -> None:
    plugin = Bench(NODES).plugin(VolumeZone)
    bench = Bench(NODES)
    assert bench.pre_filter(plugin, make_pod("p")) == Status.skip()
    assert bench.pre_filter(plugin, pod_with("p", {"emptyDir": {}})) == Status.skip()
    nameless = Status.unresolvable("PersistentVolumeClaim had no name")
    assert bench.pre_filter(plugin, pod_claiming("p", "")) == nameless


@pytest.mark.parametrize(
    ("resource", "old", "new", "hint"),
    [
        pytest.param(Resource.STORAGE_CLASS, None, make_class("x"), Hint.QUEUE, id="class that waits"),
        pytest.param(
            Resource.STORAGE_CLASS, None, make_class("x", mode="Immediate"), Hint.SKIP, id="immediate class"
        ),
        pytest.param(Resource.PERSISTENT_VOLUME_CLAIM, None, make_claim("c"), Hint.QUEUE, id="the pod's claim"),
        pytest.param(Resource.PERSISTENT_VOLUME_CLAIM, None, make_claim("d"), Hint.SKIP, id="another claim"),
        pytest.param(
            Resource.PERSISTENT_VOLUME_CLAIM, None, make_claim("c", namespace="x"), Hint.SKIP, id="elsewhere"
        ),
        pytest.param(Resource.PERSISTENT_VOLUME, None, make_volume("v"), Hint.QUEUE, id="a new volume"),
        pytest.param(
            Resource.PERSISTENT_VOLUME,
            make_volume("v", labels={ZONE: "a"}),
            make_volume("v", labels={ZONE: "b"}),
            Hint.QUEUE,
            id="a volume that moved",
        ),
        pytest.param(
            Resource.PERSISTENT_VOLUME,
            make_volume("v", labels={ZONE: "a"}),
            make_volume("v", labels={ZONE: "a", "x": "y"}),
            Hint.SKIP,
            id="a volume that stayed",
        ),
    ],
)
def test_hints(resource: Resource, old: Any, new: Any, hint: Hint) -> None:
    event = next(e for e in Bench().plugin(VolumeZone).events_to_register() if e.resource == resource)
    assert event.hint is not None
    assert event.hint(pod_claiming("p", "c"), old, new) is hint


def test_any_node_event_queues() -> None:
    """A new node, or new labels on one, may be in the volume's zone."""
    event = next(e for e in Bench().plugin(VolumeZone).events_to_register() if e.resource == Resource.NODE)
    assert event.hint is None
    assert event.action == Action.ADD | Action.UPDATE_NODE_LABEL
