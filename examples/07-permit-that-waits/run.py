"""One pod waits for the other; a pod whose partner never comes is rejected after a minute."""

from pathlib import Path

from bayplan.testing import VirtualCluster, make_pod

HERE = Path(__file__).parent


def pod(name, pair):
    return make_pod(name, labels={"example.com/pair": pair})


with VirtualCluster(
    nodes=2, plugins=[f"{HERE / 'pairs.py'}:Pairs"], configuration=(HERE / "scheduler.yaml").read_text()
) as cluster:
    cluster.apply(pod("romeo", "verona"))
    cluster.wait(30)
    print("romeo after 30 seconds:", "placed" if cluster.pod("romeo").node_name else "waits")
    cluster.apply(pod("juliet", "verona"))
    cluster.wait(5)
    print("with juliet:", *(cluster.pod(name).status.phase for name in ("romeo", "juliet")))

    cluster.apply(pod("alone", "nobody"))
    cluster.wait(61)
    print(cluster.events("alone")[0])
