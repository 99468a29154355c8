"""A pod has its node and waits there until the release is approved."""

from pathlib import Path

from bayplan import ConfigMap
from bayplan.testing import VirtualCluster, make_pod

HERE = Path(__file__).parent
with VirtualCluster(
    nodes=1,
    plugins=[f"{HERE / 'release_gate.py'}:ReleaseGate"],
    configuration=(HERE / "scheduler.yaml").read_text(),
    manifests=(HERE / "release.yaml").read_text(),
) as cluster:
    cluster.apply(make_pod("web", labels={"example.com/release": "spring"}))
    cluster.wait(300)
    print("after five minutes:", cluster.pod("web").status.phase)
    approval = {"data": {"approved": "true"}}
    cluster.run(cluster.cluster.client.patch(ConfigMap, "spring", approval, "default"))
    cluster.wait(5)
    print("approved:", cluster.pod("web").status.phase)
    cluster.apply(make_pod("next", labels={"example.com/release": "spring"}))
    cluster.wait(5)
    print("the next pod:", cluster.pod("next").status.phase)
