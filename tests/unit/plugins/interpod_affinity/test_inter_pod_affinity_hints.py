"""Which changes are worth another attempt for a pod that affinity between pods held back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import Action, Hint, Resource
from bayplan.model import Node, Pod
from bayplan.plugins.interpod_affinity.inter_pod_affinity import InterPodAffinity
from bayplan.testing import make_node, make_pod


def waiting(side: str, *, key: str = "zone") -> Pod:
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": key}
    affinity = {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return make_pod("p", labels={"app": "p"}, metadata={"uid": "p"}, spec={"affinity": affinity})


NEAR = waiting("podAffinity")
AWAY = waiting("podAntiAffinity")


def other(app: str = "a", *, node_name: str = "n", repels: str = "", **fields: Any) -> Pod:
    term = {"labelSelector": {"matchLabels": {"app": repels}}, "topologyKey": "zone"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}} if repels else None
    return make_pod("o", labels={"app": app}, node_name=node_name, spec={"affinity": affinity}, **fields)


def zoned(zone: str = "") -> Node:
    return make_node("n", labels={"zone": zone} if zone else {})


def hints() -> tuple[Any, Any]:
    pods, nodes = Bench().plugin(InterPodAffinity).events_to_register()
    assert (pods.resource, pods.action) == (Resource.POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE)
    assert (nodes.resource, nodes.action) == (Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
    return pods.hint, nodes.hint


@pytest.mark.parametrize(
    ("pod", "old", "new", "hint"),
    [
        pytest.param(NEAR, None, other(), Hint.QUEUE, id="a wanted pod comes"),
        pytest.param(NEAR, None, other("b"), Hint.SKIP, id="another pod comes"),
        pytest.param(NEAR, None, other(namespace="x"), Hint.SKIP, id="in another namespace"),
        pytest.param(NEAR, None, other(node_name=""), Hint.SKIP, id="without a node"),
        pytest.param(
            NEAR, None, other(node_name="", status={"nominatedNodeName": "n"}), Hint.QUEUE, id="nominated"
        ),
        pytest.param(NEAR, other("b"), other(), Hint.QUEUE, id="a pod becomes wanted"),
        pytest.param(NEAR, other(), other("b"), Hint.SKIP, id="a pod is wanted no longer"),
        pytest.param(NEAR, other(), None, Hint.SKIP, id="a wanted pod goes"),
        pytest.param(AWAY, None, other(), Hint.SKIP, id="an unwanted pod comes"),
        pytest.param(AWAY, other(), None, Hint.QUEUE, id="an unwanted pod goes"),
        pytest.param(AWAY, other(), other("b"), Hint.QUEUE, id="a pod is unwanted no longer"),
        pytest.param(AWAY, other("b"), other(), Hint.SKIP, id="a pod becomes unwanted"),
        pytest.param(NEAR, other("b", repels="p"), None, Hint.QUEUE, id="a pod that repels goes"),
        pytest.param(NEAR, other("b", repels="x"), None, Hint.SKIP, id="a pod that repels others goes"),
        pytest.param(NEAR, NEAR, NEAR, Hint.QUEUE, id="the pod's own labels changed"),
    ],
)
def test_pod_changes(pod: Pod, old: Pod | None, new: Pod | None, hint: Hint) -> None:
    """Wanted pods help when they come, unwanted and repelling ones when they go."""
    assert hints()[0](pod, old, new) is hint


@pytest.mark.parametrize(
    ("pod", "old", "new", "hint"),
    [
        pytest.param(NEAR, None, zoned("z"), Hint.QUEUE, id="affinity: new node with the key"),
        pytest.param(NEAR, None, zoned(), Hint.SKIP, id="affinity: new node without it"),
        pytest.param(NEAR, zoned(), zoned("z"), Hint.QUEUE, id="affinity: node gets the key"),
        pytest.param(NEAR, zoned("y"), zoned("z"), Hint.QUEUE, id="affinity: node moves"),
        pytest.param(NEAR, zoned("z"), zoned(), Hint.SKIP, id="affinity: node loses the key"),
        pytest.param(NEAR, zoned("z"), zoned("z"), Hint.SKIP, id="affinity: another label"),
        pytest.param(AWAY, None, zoned(), Hint.QUEUE, id="anti-affinity: any new node"),
        pytest.param(AWAY, zoned("z"), zoned(), Hint.QUEUE, id="anti-affinity: node loses the key"),
        pytest.param(AWAY, zoned("y"), zoned("z"), Hint.QUEUE, id="anti-affinity: node moves"),
        pytest.param(AWAY, zoned(), zoned("z"), Hint.SKIP, id="anti-affinity: node gets the key"),
    ],
)
def test_node_changes(pod: Pod, old: Node | None, new: Node | None, hint: Hint) -> None:
    """Nodes help when they join another domain: one that may have the wanted pods, or lack the unwanted ones."""
    assert hints()[1](pod, old, new) is hint
