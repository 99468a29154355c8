"""A pod that names its node."""

from __future__ import annotations

from tests.unit.plugins.bench import Bench

from bayplan.framework import Status
from bayplan.plugins.nodes.node_name import NodeName
from bayplan.testing import make_node, make_pod


def test_named_node_only() -> None:
    """All other nodes are rejected for good: evicting pods does not rename a node."""
    bench = Bench([make_node("a"), make_node("b")])
    rejected = bench.rejections(bench.plugin(NodeName), make_pod("p", spec={"nodeName": "a"}))
    assert rejected == {"b": Status.unresolvable("node(s) didn't match the requested node name")}


def test_no_name_means_any_node() -> None:
    bench = Bench([make_node("a"), make_node("b")])
    assert bench.rejections(bench.plugin(NodeName), make_pod("p")) == {}


def test_the_name_is_the_sign() -> None:
    plugin = Bench().plugin(NodeName)
    assert plugin.sign(make_pod("p")) == plugin.sign(make_pod("q"))
    assert plugin.sign(make_pod("p")) != plugin.sign(make_pod("p", node_name="a"))
