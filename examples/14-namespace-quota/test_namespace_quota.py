"""How to test your own plugin: `python -m pytest test_namespace_quota.py`."""

from pathlib import Path

from bayplan import ConfigMap, Hint
from bayplan.framework import Registry
from bayplan.testing import Harness, check_plugin, make_node, make_pod

NamespaceQuota = (
    Registry().add_reference(f"{Path(__file__).with_name('namespace_quota.py')}:NamespaceQuota").plugin
)
QUOTA = ConfigMap.from_dict({"metadata": {"name": "cpu-quota", "namespace": "default"}, "data": {"cpu": "1500m"}})


def harness(*objects):
    return Harness(plugins=[NamespaceQuota], nodes=[make_node("a")], objects=objects)


def test_pods_are_counted_with_the_ones_on_their_way():
    here = harness(QUOTA)

    assert here.schedule(make_pod("one", cpu="1")).node_name == "a"
    assert "the cpu quota of namespace default is used up" in here.schedule(make_pod("two", cpu="1")).message
    assert here.schedule(make_pod("small", cpu="500m")).node_name == "a"


def test_other_namespaces_have_no_quota():
    here = harness(QUOTA)

    assert here.schedule(make_pod("big", cpu="3", namespace="other")).node_name == "a"


def test_another_config_map_is_no_quota():
    other = ConfigMap.from_dict({"metadata": {"name": "other", "namespace": "default"}, "data": {"cpu": "0"}})

    assert harness(other).schedule(make_pod("p", cpu="1")).node_name == "a"


def test_only_the_own_namespace_is_worth_a_retry():
    here = harness(QUOTA)
    after_pod, after_quota = (
        event.hint for event in here.profile().plugins.plugins["NamespaceQuota"].events_to_register()
    )
    waiting = make_pod("p")

    assert after_pod(waiting, make_pod("gone"), None) is Hint.QUEUE
    assert after_pod(waiting, make_pod("gone", namespace="other"), None) is Hint.SKIP
    assert after_quota(waiting, None, QUOTA) is Hint.QUEUE


def test_it_keeps_the_contract():
    check_plugin(NamespaceQuota)
