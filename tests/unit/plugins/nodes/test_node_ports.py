"""Host ports must be free."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import Hint, Status
from bayplan.model import Pod
from bayplan.plugins.nodes.node_ports import NodePorts
from bayplan.testing import make_node, make_pod

REASON = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")


def pod_on_ports(name: str, *ports: dict[str, Any], node_name: str = "", **more: Any) -> Pod:
    containers = [{"name": "main", "ports": [{"containerPort": 80, **port} for port in ports]}]
    return make_pod(name, node_name=node_name, spec={"containers": containers, **more})


@pytest.mark.parametrize(
    ("used", "wanted", "fits"),
    [
        pytest.param({"hostPort": 80}, {"hostPort": 80}, False, id="the same port"),
        pytest.param({"hostPort": 80}, {"hostPort": 81}, True, id="another port"),
        pytest.param({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, True, id="another protocol"),
        pytest.param({"hostPort": 80, "protocol": "TCP"}, {"hostPort": 80}, False, id="TCP is the default"),
        pytest.param(
            {"hostPort": 80, "hostIP": "10.0.0.1"},
            {"hostPort": 80, "hostIP": "10.0.0.2"},
            True,
            id="another address",
        ),
        pytest.param({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, False, id="one address, then all"),
        pytest.param(
            {"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False, id="all addresses, then one"
        ),
        pytest.param({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80}, False, id="all zeros is all"),  # noqa: S104
    ],
)
def test_filter(used: dict[str, Any], wanted: dict[str, Any], fits: bool) -> None:
    """Protocol and port must not both be taken on the same address; evicting the taker would help."""
    bench = Bench([make_node("free"), make_node("busy")], [pod_on_ports("there", used, node_name="busy")])
    rejected = bench.rejections(bench.plugin(NodePorts), pod_on_ports("p", wanted))
    assert rejected == ({} if fits else {"busy": REASON})


def test_pod_without_host_ports_is_skipped() -> None:
    """A container port alone, and the ports of init containers that end, take nothing of the node."""
    bench = Bench([make_node("a")])
    plugin = bench.plugin(NodePorts)
    init = [{"name": "init", "ports": [{"containerPort": 1, "hostPort": 80}]}]
    assert bench.pre_filter(plugin, pod_on_ports("p", {"containerPort": 80})).is_skip
    assert bench.pre_filter(plugin, pod_on_ports("p", initContainers=init)).is_skip
    sidecar = [{**init[0], "restartPolicy": "Always"}]
    assert bench.pre_filter(plugin, pod_on_ports("p", initContainers=sidecar)) is None


@pytest.mark.parametrize(
    ("gone", "hint"),
    [
        pytest.param(pod_on_ports("x", {"hostPort": 80}, node_name="a"), Hint.QUEUE, id="had the port"),
        pytest.param(pod_on_ports("x", {"hostPort": 81}, node_name="a"), Hint.SKIP, id="had another port"),
        pytest.param(pod_on_ports("x", {"hostPort": 80}), Hint.SKIP, id="was on no node"),
        pytest.param(make_pod("x", node_name="a"), Hint.SKIP, id="had no ports"),
    ],
)
def test_hint_for_deleted_pods(gone: Pod, hint: Hint) -> None:
    """A pod that goes helps if it was somewhere and had a port that the waiting one wants."""
    on_pod, on_node = Bench().plugin(NodePorts).events_to_register()
    assert on_pod.hint is not None
    assert on_pod.hint(pod_on_ports("p", {"hostPort": 80}), gone, None) is hint
    assert on_node.hint is None
