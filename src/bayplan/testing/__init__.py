"""For everybody who tests a plugin: builders for pods and nodes, and a harness that runs one cycle.

from bayplan.testing import Harness, make_node, make_pod

harness = Harness(nodes=[make_node("a", labels={"cpu": "true"}), make_node("b")], plugins=[CpuNodes])
assert harness.schedule(make_pod("p")).node_name == "a"
"""

from bayplan.testing.builders import make_node, make_pod
from bayplan.testing.harness import Harness
from bayplan.testing.time import VirtualClock

__all__ = ["Harness", "VirtualClock", "make_node", "make_pod"]
