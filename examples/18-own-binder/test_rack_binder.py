"""How to test your own plugin: `python -m pytest test_rack_binder.py`."""

from pathlib import Path

from bayplan.framework import Registry
from bayplan.testing import VirtualCluster, check_plugin, make_node, make_pod

HERE = Path(__file__).parent
RackBinder = Registry().add_reference(f"{HERE / 'rack_binder.py'}:RackBinder").plugin
CONFIGURATION = (HERE / "scheduler.yaml").read_text()


def test_a_node_without_a_rack_is_bound_to_as_well():
    pod = make_pod("p", labels={"example.com/annotate-rack": "true"})
    with VirtualCluster(nodes=[make_node("a")], plugins=[RackBinder], configuration=CONFIGURATION) as cluster:
        cluster.apply(pod)
        cluster.wait(5)

        assert (cluster.pod("p").node_name, cluster.pod("p").annotations) == ("a", {"example.com/rack": ""})


def test_a_refused_bind_is_told():
    pod = make_pod("p", labels={"example.com/annotate-rack": "true"})
    with VirtualCluster(nodes=[make_node("a")], plugins=[RackBinder], configuration=CONFIGURATION) as cluster:
        request = cluster.cluster.scheduler.core.profiles["default-scheduler"].handle.client.request

        async def refuse(method, path, body=None, **options):
            changed = (
                {**body, "metadata": {**body["metadata"], "uid": "another"}} if path.endswith("binding") else body
            )
            return await request(method, path, changed, **options)

        binder = cluster.cluster.scheduler.core.profiles["default-scheduler"].plugins.plugins["RackBinder"]
        binder.handle.client.request = refuse
        cluster.apply(pod)
        cluster.wait(5)

        assert cluster.pod("p").node_name == ""
        assert "FailedScheduling" in cluster.events("p")[0]


def test_it_keeps_the_contract():
    check_plugin(RackBinder)
