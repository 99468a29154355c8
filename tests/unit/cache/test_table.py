"""Tables of all nodes, of the nodes at some rows and of those in a mask; and their nodes."""

from __future__ import annotations

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.cache.table import CacheNodeTable
from bayplan.framework import PodQuery, TermKind
from bayplan.testing import make_node, make_pod

ANY_POD = PodQuery(None, ())
ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
        ]
    }
}


@pytest.fixture
def cache() -> Cache:
    """Nodes a to d in two zones; a pod on b, two on d."""
    cache = Cache()
    for i, name in enumerate("abcd"):
        cache.set_node(make_node(name, cpu=str(i + 1), labels={"zone": f"z{i % 2}"}))
    for name, node in (("p", "b"), ("q", "d"), ("r", "d")):
        cache.add_pod(make_pod(name, cpu="1", node_name=node, spec={"affinity": ANTI_AFFINITY}))
    return cache


def tables(cache: Cache) -> dict[str, tuple[CacheNodeTable, list[int]]]:
    """Tables with their rows."""
    whole = cache.snapshot().nodes
    mask = np.array([False, True, False, True])
    return {
        "whole": (whole, [0, 1, 2, 3]),
        "rows": (whole.select(np.array([3, 1])), [3, 1]),
        "rows of rows": (whole.select(np.array([3, 2, 1])).select(np.array([2, 0])), [1, 3]),
        "mask": (whole.select_where(mask), [1, 3]),
        "mask of rows": (whole.select(np.array([3, 2, 1, 0])).select_where(mask), [2, 0]),
    }


@pytest.mark.parametrize("name", ["whole", "rows", "rows of rows", "mask", "mask of rows"])
def test_every_column_is_aligned_with_the_table(cache: Cache, name: str) -> None:
    """Entry i of every column is about node i of the table."""
    table, rows = tables(cache)[name]
    pods = [[0, 1, 0, 2][row] for row in rows]

    assert len(table) == len(rows)
    assert table.rows.tolist() == rows
    assert table.is_whole is (name == "whole")
    assert table.names.tolist() == ["abcd"[row] for row in rows]
    assert [node.name for node in table] == table.names.tolist()
    assert [table[i].name for i in range(len(table))] == table.names.tolist()
    assert [table.position(name) for name in table.names] == list(range(len(rows)))
    assert table.allocatable("cpu").tolist() == [1000 * (row + 1) for row in rows]
    assert table.requested("cpu").tolist() == [1000 * count for count in pods]
    assert table.pod_counts().tolist() == pods
    assert table.count_pods(ANY_POD).tolist() == pods
    assert table.label("zone").to_list() == [f"z{row % 2}" for row in rows]
    assert table.domains("zone").of_node.tolist() == [row % 2 for row in rows]
    assert [column.carriers.tolist() for column in table.affinity_terms(TermKind.REQUIRED_ANTI_AFFINITY)] == [pods]


def test_only_a_mask_of_all_nodes_is_told(cache: Cache) -> None:
    masks = {name: table.where for name, (table, _) in tables(cache).items()}
    assert [name for name, mask in masks.items() if mask is not None] == ["mask"]


def test_node_outside_the_table_has_no_position(cache: Cache) -> None:
    table = cache.snapshot().nodes.select(np.array([1]))
    assert (table.position("b"), table.position("a"), table.position("x")) == (0, None, None)


def test_names_stay_when_rows_are_renumbered(cache: Cache) -> None:
    """Records of decisions refer to tables of the past."""
    whole = cache.snapshot().nodes
    part = whole.select(np.array([0, 3]))
    cache.remove_node("a")
    assert whole.names.tolist() == ["a", "b", "c", "d"]
    assert part.names.tolist() == ["a", "d"]
    assert cache.snapshot().nodes.names.tolist() == ["d", "b", "c"]


def test_table_is_new_when_a_node_is_added_or_removed(cache: Cache) -> None:
    """A change of a node or its pods shows in the same table."""
    before = cache.snapshot().nodes
    cache.set_node(make_node("a", cpu="16"))
    cache.add_pod(make_pod("s", cpu="1", node_name="a"))
    assert cache.snapshot().nodes is before
    assert (before.allocatable("cpu")[0], before.requested("cpu")[0]) == (16000, 1000)
    cache.set_node(make_node("e"))
    assert cache.snapshot().nodes is not before


def test_names_cannot_be_written(cache: Cache) -> None:
    with pytest.raises(ValueError, match="read-only"):
        cache.snapshot().nodes.names[0] = "x"


def test_image_is_counted_over_all_nodes(cache: Cache) -> None:
    """A selection of the nodes does not change how many nodes of the cluster have the image."""
    for name in "bd":
        cache.set_node(make_node(name, status={"images": [{"names": ["app:1"], "sizeBytes": 7}]}))
    table = cache.snapshot().nodes.select(np.array([0, 1]))
    assert table.image_size("app:1").tolist() == [0, 7]
    assert (table.image_spread("app:1"), table.image_spread("app:2")) == (2, 0)


def test_node_info_is_one_row(cache: Cache) -> None:
    node = cache.snapshot().nodes[3]
    assert (node.name, node.node.name, node.labels["zone"]) == ("d", "d", "z1")
    assert (node.allocatable["cpu"], dict(node.requested)) == (4000, {"cpu": 2000})
    assert [pod.name for pod in node.pods] == ["q", "r"]
