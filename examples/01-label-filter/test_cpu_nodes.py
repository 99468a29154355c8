"""How to test your own plugin: `python -m pytest test_cpu_nodes.py`."""

from pathlib import Path

from bayplan.framework import Registry
from bayplan.testing import Harness, make_node, make_pod

# The scheduler loads plugins by reference too, so a plugin that breaks the contract fails here.
CpuNodes = Registry().add_reference(f"{Path(__file__).with_name('cpu_nodes.py')}:CpuNodes").plugin


def test_takes_the_labelled_node():
    harness = Harness(plugins=[CpuNodes], nodes=[make_node("a"), make_node("b", labels={"cpu": "true"})])

    assert harness.schedule(make_pod("p")).node_name == "b"


def test_says_why_a_node_will_not_do():
    harness = Harness(plugins=[CpuNodes], only=True, nodes=[make_node("a", labels={"cpu": "false"})])

    assert harness.schedule(make_pod("p")).message == "0/1 nodes are available: 1 node(s) had no label cpu=true."
