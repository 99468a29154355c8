"""Objects are encoded as kube-scheduler sends them."""

from __future__ import annotations

from bayplan.cache.cache import on_node
from bayplan.extender.wire import node_value, nodes_value, pod_value
from bayplan.model import Node, Pod
from bayplan.testing import make_pod


def test_pods_go_out_as_items_of_a_list() -> None:
    """Without kind and apiVersion, and without the managedFields that kube-scheduler's informers drop."""
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "managedFields": [{}]},
        "spec": {"unknownField": 1},
    }

    assert pod_value(Pod.from_dict(raw)) == {"metadata": {"name": "p"}, "spec": {"unknownField": 1}}


def test_an_assumed_pod_names_its_node() -> None:
    """It is a victim on that node, although the API server has not confirmed it yet."""
    assert pod_value(on_node(make_pod("p"), "a"))["spec"]["nodeName"] == "a"


def test_nodes_keep_their_managed_fields() -> None:
    raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "managedFields": [{}]}}
    node = Node.from_dict(raw)

    assert node_value(node) == {"metadata": {"name": "a", "managedFields": [{}]}}
    assert nodes_value([node]) == {"metadata": {}, "items": [node_value(node)]}
