"""One node under maintenance: the pod waits, and is placed when the window is over."""

from pathlib import Path

from bayplan.testing import VirtualCluster, make_pod

HERE = Path(__file__).parent
WINDOW = "/apis/example.com/v1/maintenances/new-fans"


with VirtualCluster(
    nodes=1,
    plugins=[f"{HERE / 'maintenance.py'}:MaintenanceWindows"],
    configuration=(HERE / "scheduler.yaml").read_text(),
    manifests=(HERE / "crd.yaml").read_text(),
) as cluster:
    cluster.apply((HERE / "window.yaml").read_text())
    cluster.wait(1)
    cluster.schedule(make_pod("p"))
    print(cluster.events("p")[0].split(" preemption:")[0])
    cluster.run(cluster.cluster.client.request("DELETE", WINDOW))
    cluster.wait(10)
    print("the window is over: p →", cluster.pod("p").node_name)
