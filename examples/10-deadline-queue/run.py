"""Four pods wait for the first node; when it is added, they are tried in the plugin's order."""

from pathlib import Path

from bayplan.testing import VirtualCluster, make_node, make_pod

HERE = Path(__file__).parent
DEADLINES = {
    "tomorrow": "2026-01-02T00:00:00Z",
    "whenever": "when it is done",
    "tonight": "2026-01-01T20:00:00+02:00",
    "noon": "2026-01-01T12:00",
}

with VirtualCluster(
    nodes=0,
    plugins=[f"{HERE / 'earliest_deadline.py'}:EarliestDeadline"],
    configuration=(HERE / "scheduler.yaml").read_text(),
) as cluster:
    for name, deadline in DEADLINES.items():
        cluster.apply(make_pod(name, metadata={"annotations": {"example.com/deadline": deadline}}))
    cluster.wait(20)
    cluster.apply(make_node("first"))
    cluster.wait(60)
    placed = [
        record.pod_key.removeprefix("default/") for record in cluster.cluster.scheduler.records if record.node_name
    ]
    print("placed:", ", ".join(placed))
