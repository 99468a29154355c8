"""Which changes are worth another attempt for a pod that its spread constraints held back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import Action, Hint, Resource
from bayplan.model import Node, Pod
from bayplan.plugins.topology_spread.pod_topology_spread import PodTopologySpread
from bayplan.testing import make_node, make_pod

MATCHING = {"app": "a"}
ZONED = {"zone": "z1"}


def waiting(**fields: Any) -> Pod:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": MATCHING},
        **fields,
    }
    return make_pod("p", metadata={"uid": "p"}, spec={"topologySpreadConstraints": [constraint]})


def other(labels: dict[str, str] | None = None, *, node_name: str = "n", **fields: Any) -> Pod:
    return make_pod("o", labels=labels or MATCHING, node_name=node_name, **fields)


def hints() -> tuple[Any, Any]:
    pods, nodes = Bench().plugin(PodTopologySpread).events_to_register()
    assert pods.resource is Resource.POD
    assert nodes.resource is Resource.NODE
    return pods.hint, nodes.hint


def test_registered_actions() -> None:
    pods, nodes = Bench().plugin(PodTopologySpread).events_to_register()
    assert pods.action == Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION
    assert nodes.action == Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, other(), Hint.QUEUE, id="matching pod added"),
        pytest.param(None, other({"app": "b"}), Hint.SKIP, id="other pod added"),
        pytest.param(other(), None, Hint.QUEUE, id="matching pod deleted"),
        pytest.param(other({"app": "b"}), None, Hint.SKIP, id="other pod deleted"),
        pytest.param(other({"app": "b"}), other(), Hint.QUEUE, id="came to match"),
        pytest.param(other(), other({"app": "b"}), Hint.QUEUE, id="ceased to match"),
        pytest.param(other({"app": "b"}), other({"app": "c"}), Hint.SKIP, id="never matched"),
        pytest.param(None, other(namespace="elsewhere"), Hint.SKIP, id="another namespace"),
        pytest.param(None, other(node_name=""), Hint.SKIP, id="not on a node"),
        pytest.param(None, other(node_name="", status={"nominatedNodeName": "n"}), Hint.QUEUE, id="nominated"),
    ],
)
def test_pod_changes(old: Pod | None, new: Pod | None, hint: Hint) -> None:
    """Pods of the namespace that are on a node (or promised one) help if they come to count, or cease to."""
    assert hints()[0](waiting(), old, new) is hint


@pytest.mark.parametrize(("policy", "hint"), [("Honor", Hint.QUEUE), ("Ignore", Hint.SKIP)])
def test_new_toleration_of_the_pod_itself(policy: str, hint: Hint) -> None:
    """It matters where taints decide which nodes count."""
    old = waiting(nodeTaintsPolicy=policy)
    new = make_pod("p", metadata={"uid": "p"}, spec={"tolerations": [{"operator": "Exists"}]})
    assert hints()[0](old, old, new) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, make_node("n", labels=ZONED), Hint.QUEUE, id="added with the key"),
        pytest.param(None, make_node("n"), Hint.SKIP, id="added without the key"),
        pytest.param(make_node("n", labels=ZONED), None, Hint.QUEUE, id="deleted with the key"),
        pytest.param(make_node("n"), None, Hint.SKIP, id="deleted without the key"),
        pytest.param(make_node("n"), make_node("n", labels=ZONED), Hint.QUEUE, id="got the key"),
        pytest.param(make_node("n", labels=ZONED), make_node("n"), Hint.QUEUE, id="lost the key"),
        pytest.param(make_node("n", labels=ZONED), make_node("n", labels={"zone": "z2"}), Hint.QUEUE, id="moved"),
        pytest.param(
            make_node("n", labels=ZONED), make_node("n", labels={**ZONED, "x": "y"}), Hint.SKIP, id="other label"
        ),
        pytest.param(
            make_node("n", labels=ZONED, taints=["a=b:NoSchedule"]),
            make_node("n", labels=ZONED),
            Hint.QUEUE,
            id="other taints",
        ),
        pytest.param(make_node("n", taints=["a=b:NoSchedule"]), make_node("n"), Hint.SKIP, id="taints, no key"),
    ],
)
def test_node_changes(old: Node | None, new: Node | None, hint: Hint) -> None:
    """Nodes help if they have every topology key and come, go, move or change their taints."""
    assert hints()[1](waiting(), old, new) is hint
