"""Tables with their own copy of the requested amounts."""

from __future__ import annotations

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.cache.what_if_table import WhatIfTable
from bayplan.framework import PodQuery, TermKind
from bayplan.model import Pod
from bayplan.testing import make_node, make_pod

GPU = "example.com/gpu"


@pytest.fixture
def kinds() -> list[Pod]:
    return [make_pod("plain", cpu="1"), make_pod("big", memory="1Gi", requests={GPU: "2"})]


@pytest.fixture
def cache(kinds: list[Pod]) -> Cache:
    """Three nodes; on b and c two plain pods and a big one."""
    cache = Cache()
    for name in "abc":
        cache.set_node(make_node(name, resources={GPU: "4"}))
    for name in "bc":
        cache.assume(make_pod("p", cpu="1"), name)
        cache.assume(make_pod("q", cpu="1"), name)
        cache.assume(make_pod("r", memory="1Gi", requests={GPU: "2"}), name)
    return cache


@pytest.fixture
def table(cache: Cache, kinds: list[Pod]) -> WhatIfTable:
    """c and b, in this order."""
    return cache.snapshot().with_amounts(np.array([2, 1]), kinds)


def test_pods_are_removed_and_added(cache: Cache, table: WhatIfTable) -> None:
    """Several pods of one node at once, on this table only."""
    table.remove(np.array([0, 0, 1]), np.array([0, 1, 0]))

    assert table.names.tolist() == ["c", "b"]
    assert table.requested("cpu").tolist() == [1000, 1000]
    assert table.requested(GPU).tolist() == [0, 2]
    assert table.pod_counts().tolist() == [1, 2]
    assert table.nonzero_requested("cpu").tolist() == [1000, 1100]
    assert table.nonzero_requested("memory").tolist() == [200 * 2**20, 200 * 2**20 + 2**30]
    assert dict(table[0].requested) == {"cpu": 1000}

    table.add(np.array([0]), np.array([1]))

    assert table.requested(GPU).tolist() == [2, 2]
    assert cache.snapshot().nodes.requested("cpu").tolist() == [0, 2000, 2000]
    assert cache.snapshot().nodes.pod_counts().tolist() == [0, 3, 3]


def test_facts_about_the_nodes_are_unchanged(table: WhatIfTable) -> None:
    assert not table.is_whole
    assert table.allocatable(GPU).tolist() == [4, 4]
    assert table.requested("example.com/unknown").tolist() == [0, 0]
    assert table.label("kubernetes.io/hostname").to_list() == ["c", "b"]


def test_amounts_are_read_only(table: WhatIfTable) -> None:
    for column in (table.requested("cpu"), table.nonzero_requested("cpu"), table.pod_counts()):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_other_facts_about_pods_are_unavailable(table: WhatIfTable) -> None:
    """They would be about the pods of the cluster, not of the what-if."""
    for read in (
        lambda: table.count_pods(PodQuery(None, ())),
        lambda: table.has_affinity_terms,
        lambda: table.affinity_terms(TermKind.REQUIRED_AFFINITY),
        lambda: table.ports_taken(()),
        lambda: table.claim_users("default/claim"),
        table.attachable_volumes,
        table.exclusive_disks,
        lambda: table.select(np.array([0])),
        lambda: table[0].pods,
    ):
        with pytest.raises(TypeError, match="declares reads = NODE or RESOURCES"):
            read()
