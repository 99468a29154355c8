"""Nodes that an extender gave back are a table of their own, whose rows are those of the snapshot."""

from __future__ import annotations

import numpy as np

from bayplan.cache import Cache
from bayplan.testing import make_node


def test_returned_nodes_are_met_one_by_one() -> None:
    """The objects are those that were given back, wherever their names stand in the snapshot."""
    cache = Cache()
    for name in "abcd":
        cache.set_node(make_node(name))
    given_back = [make_node("d", labels={"seen": "yes"}), make_node("b", labels={"seen": "yes"})]
    returned = cache.snapshot().returned(given_back)

    assert returned.rows.tolist() == [3, 1]
    assert [info.node for info in returned] == given_back
    assert [returned[i].node for i in range(2)] == given_back
    assert [info.node for info in returned.select(np.array([1]))] == given_back[1:]
