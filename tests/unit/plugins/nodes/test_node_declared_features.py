"""Features that a kubelet declares and a pod needs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import Hint, Status
from bayplan.model import Node, Pod
from bayplan.plugins.nodes.node_declared_features import NodeDeclaredFeatures
from bayplan.testing import make_node, make_pod

REASON = Status.unresolvable("node(s) didn't match Pod's required features")
RESTART_ALL = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"


def node_with(name: str, *features: str) -> Node:
    return make_node(name, status={"declaredFeatures": list(features)})


def container(*actions: str) -> dict[str, Any]:
    return {"name": "c", "restartPolicyRules": [{"action": action} for action in actions]}


RESTARTS_ALL = {"containers": [container("Restart", "RestartAllContainers")]}
OWN_USERS = {"hostNetwork": True, "hostUsers": False}


@pytest.mark.parametrize(
    ("spec", "required"),
    [
        pytest.param({}, set(), id="a plain pod"),
        pytest.param({"containers": [container("Restart")]}, set(), id="another restart rule"),
        pytest.param(RESTARTS_ALL, {RESTART_ALL}, id="a container that restarts all"),
        pytest.param(
            {"containers": [{"name": "c"}], "initContainers": [container("RestartAllContainers")]},
            {RESTART_ALL},
            id="an init container that restarts all",
        ),
        pytest.param({"hostNetwork": True}, set(), id="host network alone"),
        pytest.param({"hostUsers": False}, set(), id="own users alone"),
        pytest.param({"hostNetwork": True, "hostUsers": True}, set(), id="host network and host users"),
        pytest.param(OWN_USERS, {USERS}, id="own users on the host network"),
        pytest.param({**RESTARTS_ALL, **OWN_USERS}, {RESTART_ALL, USERS}, id="both"),
    ],
)
def test_filter(spec: dict[str, Any], required: set[str]) -> None:
    """A node must declare every feature that the pod's spec implies; no feature needed: skipped."""
    declared = {"none": set(), "restart": {RESTART_ALL}, "both": {RESTART_ALL, USERS}, "other": {"Other"}}
    bench = Bench(node_with(name, *sorted(features)) for name, features in declared.items())
    plugin, pod = bench.plugin(NodeDeclaredFeatures), make_pod("p", spec=spec)
    skipped = bench.pre_filter(plugin, pod)
    assert (skipped is not None) == (not required)
    assert bench.rejections(plugin, pod) == {
        name: REASON for name, features in declared.items() if not required <= features
    }


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, node_with("a"), Hint.QUEUE, id="added"),
        pytest.param(node_with("a"), node_with("a", USERS), Hint.QUEUE, id="declares another"),
        pytest.param(node_with("a", USERS), node_with("a", USERS), Hint.SKIP, id="declares the same"),
    ],
)
def test_hint_for_nodes(old: Node | None, new: Node, hint: Hint) -> None:
    on_node, _ = Bench().plugin(NodeDeclaredFeatures).events_to_register()
    assert on_node.hint is not None
    assert on_node.hint(make_pod("p"), old, new) is hint


def test_hint_for_pods() -> None:
    """An update helps its own pod, if it changes what the pod needs."""
    _, on_pod = Bench().plugin(NodeDeclaredFeatures).events_to_register()
    assert on_pod.hint is not None

    def pod(uid: str, **spec: Any) -> Pod:
        return make_pod("p", metadata={"uid": uid}, spec=spec)

    assert on_pod.hint(pod("1"), pod("1", **OWN_USERS), pod("1")) is Hint.QUEUE
    assert on_pod.hint(pod("1"), pod("1"), pod("1")) is Hint.SKIP
    assert on_pod.hint(pod("1"), pod("2", **OWN_USERS), pod("2")) is Hint.SKIP
