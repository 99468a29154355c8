"""Two pods and three nodes; only nodes labelled cpu=true are accepted."""

from pathlib import Path

from cpu_nodes import CpuNodes

from bayplan.testing import Harness, make_node, make_pod

harness = Harness(
    configuration=Path(__file__).with_name("scheduler.yaml").read_text(),
    plugins=[CpuNodes],
    nodes=[
        make_node("a"),
        make_node("b", labels={"cpu": "false"}),
        make_node("c", cpu="1", labels={"cpu": "true"}),
    ],
)

small = harness.schedule(make_pod("small", cpu="500m"))
print("small →", small.node_name)

large = harness.schedule(make_pod("large", cpu="2"))
print("large →", large.message)

harness.add(make_node("a", labels={"cpu": "true"}))
print("large →", harness.schedule(make_pod("large", cpu="2")).node_name, "now that a has its label")
