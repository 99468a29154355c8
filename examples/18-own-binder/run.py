"""One pod is bound by the plugin, with the rack on it; the other by the default binder."""

from pathlib import Path

from bayplan.testing import VirtualCluster, make_node, make_pod

HERE = Path(__file__).parent
with VirtualCluster(
    nodes=[make_node("a", labels={"example.com/rack": "r7"})],
    plugins=[f"{HERE / 'rack_binder.py'}:RackBinder"],
    configuration=(HERE / "scheduler.yaml").read_text(),
) as cluster:
    cluster.apply(make_pod("web", labels={"example.com/annotate-rack": "true"}), make_pod("plain"))
    cluster.wait(5)
    for name in ("web", "plain"):
        pod = cluster.pod(name)
        print(f"{name} on {pod.node_name}:", dict(pod.annotations))
