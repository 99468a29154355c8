"""Two full nodes: the pod with the label stays, although it is the least important one."""

from pathlib import Path

from bayplan.testing import VirtualCluster, make_node, make_pod

HERE = Path(__file__).parent
with VirtualCluster(
    nodes=[make_node("a", cpu="2"), make_node("b", cpu="2")],
    plugins=[f"{HERE / 'sparing_preemption.py'}:SparingPreemption"],
    configuration=(HERE / "scheduler.yaml").read_text(),
    manifests=(HERE / "priorities.yaml").read_text(),
) as cluster:
    cluster.schedule(make_pod("ledger", cpu="2", labels={"example.com/spared": "true"}))
    cluster.schedule(make_pod("batch", cpu="2", spec={"priorityClassName": "batch"}))
    cluster.apply(make_pod("urgent", cpu="2", spec={"priorityClassName": "urgent"}))
    cluster.wait(60)
    print("urgent:", cluster.pod("urgent").status.phase)
    print("ledger:", cluster.pod("ledger").status.phase)
    print("batch:", cluster.events("batch")[-1].split(" by pod")[0])

    cluster.apply(make_pod("most-urgent", cpu="2", spec={"priorityClassName": "urgent"}))
    cluster.wait(60)
    print(cluster.events("most-urgent")[0])
