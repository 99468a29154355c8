"""A quota of two cores: the third pod waits for a pod of its own namespace to go, or for a larger quota."""

from pathlib import Path

from bayplan import ConfigMap, Pod
from bayplan.testing import VirtualCluster, make_pod

HERE = Path(__file__).parent
with VirtualCluster(
    nodes=2,
    plugins=[f"{HERE / 'namespace_quota.py'}:NamespaceQuota"],
    configuration=(HERE / "scheduler.yaml").read_text(),
    manifests=(HERE / "quota.yaml").read_text(),
) as cluster:
    client = cluster.cluster.client
    for name in ("first", "second", "third", "fourth"):
        cluster.apply(make_pod(name, cpu="1"))
        cluster.wait(1)
    print(cluster.events("third")[0].split(" preemption:")[0])

    cluster.run(client.delete(Pod, "first", "default"))
    cluster.wait(40)
    print("first is gone: third", cluster.pod("third").status.phase)

    cluster.run(client.patch(ConfigMap, "cpu-quota", {"data": {"cpu": "3"}}, "default"))
    cluster.wait(10)
    print("a larger quota: fourth", cluster.pod("fourth").status.phase)
