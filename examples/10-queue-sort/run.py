"""Four pods wait for the first node; when it is added, they are tried in the plugin's order."""

from pathlib import Path

from bayplan.testing import VirtualCluster, make_node, make_pod

HERE = Path(__file__).parent
with VirtualCluster(
    nodes=0,
    plugins=[f"{HERE / 'shortest_first.py'}:ShortestFirst"],
    configuration=(HERE / "scheduler.yaml").read_text(),
) as cluster:
    for name, minutes in {"long": "90", "unknown": None, "short": "5", "middle": "30"}.items():
        annotations = {"example.com/minutes": minutes} if minutes else {}
        cluster.apply(make_pod(name, metadata={"annotations": annotations}))
    cluster.wait(20)
    cluster.apply(make_node("first"))
    cluster.wait(60)
    placed = [
        record.pod_key.removeprefix("default/") for record in cluster.cluster.scheduler.records if record.node_name
    ]
    print("placed:", ", ".join(placed))
