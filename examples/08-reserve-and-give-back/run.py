"""A seat is taken at Reserve, and released when the bind fails or the pod is gone."""

from pathlib import Path

from bayplan.testing import VirtualCluster, make_pod

HERE = Path(__file__).parent
PLUGINS = [f"{HERE / 'licences.py'}:Licences", f"{HERE / 'flaky_disk.py'}:FlakyDisk"]


def pod(name):
    return make_pod(name, metadata={"annotations": {"example.com/licence": "cad"}})


with VirtualCluster(plugins=PLUGINS, configuration=(HERE / "scheduler.yaml").read_text()) as cluster:
    profile = cluster.cluster.scheduler.core.profiles["default-scheduler"]
    taken = profile.plugins.plugins["Licences"].taken

    cluster.schedule(pod("first"))
    print("first:", cluster.events("first")[0])
    print("seats taken:", sorted(taken.values()))
    cluster.wait(10)
    print("first, ten seconds later:", cluster.pod("first").status.phase, "- seats taken:", sorted(taken.values()))

    cluster.schedule(pod("second"))
    print("second:", cluster.events("second")[0].split(" preemption:")[0])
    cluster.run(cluster.cluster.client.request("DELETE", "/api/v1/namespaces/default/pods/first"))
    cluster.wait(60)
    print("second, when first is gone:", cluster.pod("second").status.phase)
