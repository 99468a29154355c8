"""For tests of plugins: builders for pods and nodes, a harness that runs one cycle, a whole cluster.

from bayplan.testing import Harness, make_node, make_pod

harness = Harness(nodes=[make_node("a", labels={"cpu": "true"}), make_node("b")], plugins=[CpuNodes])
assert harness.schedule(make_pod("p")).node_name == "a"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayplan.testing.builders import make_node, make_pod
from bayplan.testing.harness import Harness
from bayplan.testing.plugin_check import PluginCheckError, check_plugin
from bayplan.testing.time import VirtualClock

if TYPE_CHECKING:
    from bayplan.testing.virtual_cluster import VirtualCluster

__all__ = [
    "Harness",
    "PluginCheckError",
    "VirtualClock",
    "VirtualCluster",
    "check_plugin",
    "make_node",
    "make_pod",
]


def __getattr__(name: str) -> Any:
    """Import the cluster lazily: it needs much that the rest does not."""
    if name != "VirtualCluster":
        raise AttributeError(f"module 'bayplan.testing' has no attribute {name!r}")
    from bayplan.testing.virtual_cluster import VirtualCluster

    return VirtualCluster
