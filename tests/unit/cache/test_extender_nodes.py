"""The table of nodes that an extender returned: its own objects, with the rows of the snapshot."""

from __future__ import annotations

import numpy as np

from bayplan.cache import Cache
from bayplan.testing import make_node, make_pod


def test_returned_nodes_are_iterated() -> None:
    """The objects are the returned ones, whatever their rows in the snapshot are."""
    cache = Cache()
    for name in "abcd":
        cache.set_node(make_node(name))
    nodes = [make_node("d", labels={"seen": "yes"}), make_node("b", labels={"seen": "yes"})]
    returned = cache.snapshot().returned(nodes)

    assert returned.rows.tolist() == [3, 1]
    assert [info.node for info in returned] == nodes
    assert [returned[i].node for i in range(2)] == nodes
    assert [info.node for info in returned.select(np.array([1]))] == nodes[1:]


def test_returned_nodes_are_empty() -> None:
    """No pods and no images, as in kube-scheduler; a node that the snapshot does not have is at row 0."""
    cache = Cache()
    images = {"images": [{"names": ["app:1"], "sizeBytes": 5}]}
    cache.set_node(make_node("a"))
    cache.set_node(make_node("b", status=images))
    cache.add_pod(make_pod("p", cpu="1", node_name="b"))
    returned = cache.snapshot().returned([make_node("b", status=images), make_node("x")])

    assert returned.rows.tolist() == [1, 0]
    assert not returned.is_whole
    assert not returned.has_pods
    assert returned.requested("cpu").tolist() == [0, 0]
    assert returned.image_size("app:1").tolist() == [0, 0]
    assert returned.image_spread("app:1") == 0
    assert not returned.has_affinity_terms
