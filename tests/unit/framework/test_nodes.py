"""The nodes as a plugin sees them: label columns, domains, tables, single nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.framework import Code, Domains, LabelColumn, NodeTable, Status
from bayplan.testing import make_node, make_pod


@pytest.fixture
def column() -> LabelColumn:
    """Four nodes: ssd, hdd, none, ssd; nvme was seen once and is gone."""
    return LabelColumn(np.array([0, 1, -1, 0], dtype=np.int32), ["ssd", "hdd", "nvme"])


@pytest.mark.parametrize(
    ("value", "equal"),
    [
        ("ssd", [True, False, False, True]),
        ("nvme", [False] * 4),
        ("tape", [False] * 4),
        (None, [False] * 4),
    ],
    ids=["on two nodes", "on no node any more", "never seen", "not a string"],
)
def test_label_compared_with_a_value(column: LabelColumn, value: Any, equal: list[bool]) -> None:
    """== and != are masks; an absent label equals no value."""
    assert (column == value).tolist() == equal
    assert (column != value).tolist() == [not each for each in equal]


def test_label_among_values(column: LabelColumn) -> None:
    """`isin` takes values that no node has, too."""
    assert column.isin(["hdd", "tape"]).tolist() == [False, True, False, False]
    assert column.isin([]).tolist() == [False] * 4


def test_label_present(column: LabelColumn) -> None:
    """Where the node has the label at all."""
    assert column.present.tolist() == [True, True, False, True]
    assert column.to_list() == ["ssd", "hdd", None, "ssd"]


def test_label_as_numbers() -> None:
    """Values that are no numbers, and absent labels, give the default."""
    column = LabelColumn(np.array([0, 1, -1], dtype=np.int32), ["12", "many"])
    assert column.numbers(default=-5).tolist() == [12, -5, -5]


def test_label_columns_cannot_be_hashed(column: LabelColumn) -> None:
    """Comparing gives a mask, so a column is no key."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(column)


# --- domains ------------------------------------------------------------------------------------------


def test_domains_add_up() -> None:
    """Sums per domain, nodes without the label at the end; and back to the nodes."""
    domains = Domains(np.array([0, 1, 2, 0]), 2, np.array([False, False, True, False]))
    totals = domains.totals(np.array([1, 2, 4, 8]))
    assert totals.tolist() == [9, 2, 4]
    assert domains.at_nodes(totals).tolist() == [9, 2, 4, 9]


def test_domains_of_one_node_each() -> None:
    """Where every node is its own domain there is nothing to add."""
    domains = Domains(np.arange(2), 2, is_node=True)
    values = np.array([3, 4])
    assert domains.totals(values) is values
    assert domains.at_nodes(values) is values


def test_domains_of_some_nodes() -> None:
    """A selection keeps the numbers of the domains, and is no longer one node each."""
    chosen = Domains(np.arange(3), 3, is_node=True).select(np.array([2, 0]))
    assert (chosen.of_node.tolist(), chosen.n_domains, chosen.missing, chosen.is_node) == ([2, 0], 3, None, False)
    missing = Domains(np.array([0, 1]), 1, np.array([False, True])).select(np.array([1])).missing
    assert missing is not None
    assert missing.tolist() == [True]


# --- tables -------------------------------------------------------------------------------------------


@pytest.fixture
def nodes() -> NodeTable:
    cache = Cache()
    for name in ("a", "b", "c"):
        node = make_node(name, labels={"zone": name}, resources={"example.com/gpu": "2"})
        cache.set_node(node)
    cache.add_pod(make_pod("p", cpu="1", node_name="b"))
    return cache.snapshot().nodes


def test_table_of_nodes_one_by_one(nodes: NodeTable) -> None:
    """Iterating a table gives one node after the other, in the table's order."""
    assert [node.name for node in nodes] == ["a", "b", "c"]
    assert [node.name for node in nodes.select(np.array([2, 1]))] == ["c", "b"]


def test_selection_of_a_selection(nodes: NodeTable) -> None:
    """Positions are those of the table that is selected from; rows those of the whole."""
    chosen = nodes.select(np.array([2, 1])).select(np.array([1]))
    assert (chosen.names.tolist(), chosen.rows.tolist(), chosen.is_whole) == (["b"], [1], False)
    assert (chosen.position("b"), chosen.position("a"), chosen.position("gone")) == (0, None, None)
    assert chosen.requested("cpu").tolist() == [1000]
    assert nodes.is_whole


def test_answers_of_a_table(nodes: NodeTable) -> None:
    """accept_all, reject and reject_all make verdicts about the table's nodes."""
    assert nodes.accept_all().accepts_all
    assert nodes.reject(nodes.label("zone") != "a", "far").rejected.tolist() == [False, True, True]
    everywhere = nodes.reject_all("never", code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
    assert [everywhere.status(i) for i in range(3)] == [Status.unresolvable("never")] * 3


def test_single_node(nodes: NodeTable) -> None:
    """A node has its object, its pods and its amounts."""
    node = nodes[1]
    assert repr(node) == "<NodeInfo b>"
    assert (node.name, node.labels["zone"], node.annotations) == ("b", "b", {})
    assert node.raw["metadata"]["name"] == "b"
    assert [pod.name for pod in node.pods] == ["p"]
    assert (node.allocatable["cpu"], node.allocatable["example.com/gpu"], dict(node.requested)) == (
        4000,
        2,
        {"cpu": 1000},
    )
