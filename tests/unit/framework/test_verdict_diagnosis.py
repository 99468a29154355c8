"""Diagnosis: a status for every node, and the text `0/N nodes are available: …`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.framework import Code, Decided, Diagnosis, FilterOutcome, NodeTable, Status, Verdict
from bayplan.framework.verdict import none_available
from bayplan.testing import make_node


@pytest.fixture
def nodes() -> NodeTable:
    cache = Cache()
    for name in ("a", "b", "c"):
        cache.set_node(make_node(name))
    return cache.snapshot().nodes


def rejected(nodes: NodeTable, where: list[bool], reason: str, code: Code = Code.UNSCHEDULABLE) -> FilterOutcome:
    mask = np.array(where)
    return FilterOutcome(nodes, ~mask, [Decided("P", Verdict(len(nodes)).reject(mask, reason, code), mask)])


def test_nobody_looked(nodes: NodeTable) -> None:
    """Before anything is known, every node counts as unresolvable, for no reason."""
    diagnosis = Diagnosis(nodes)
    assert diagnosis.message() == "0/3 nodes are available:"
    assert diagnosis.rows_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE).tolist() == [0, 1, 2]


def test_pre_filter_speaks_for_all(nodes: NodeTable) -> None:
    """What PreFilter said stands once, and is every node's status."""
    diagnosis = Diagnosis(nodes)
    diagnosis.reject_all(Status.unschedulable("not today").by("P"))
    assert diagnosis.message() == "0/3 nodes are available: not today."
    assert diagnosis.status("b") == Status.unschedulable("not today")
    assert diagnosis.rows_with(Code.UNSCHEDULABLE).tolist() == [0, 1, 2]
    assert (diagnosis.unschedulable_plugins, diagnosis.pending_plugins) == ({"P"}, set())


def test_rejection_by_nobody_blames_nobody(nodes: NodeTable) -> None:
    """A status without a plugin's name puts no plugin on the list."""
    diagnosis = Diagnosis(nodes)
    diagnosis.reject_all(Status.unresolvable("no node in common"))
    assert diagnosis.unschedulable_plugins == set()


def test_filters_speak_for_their_nodes(nodes: NodeTable) -> None:
    """Nodes that Filter rejected have their own status, all others share one."""
    diagnosis = Diagnosis(nodes)
    diagnosis.absent = Status.unresolvable("left out")
    diagnosis.add_outcome(rejected(nodes.select(np.array([2, 0])), [True, False], "full"))
    assert [diagnosis.status(name).message for name in ("a", "b", "c", "gone")] == [
        "left out",
        "left out",
        "full",
        "left out",
    ]
    assert diagnosis.rows_with(Code.UNSCHEDULABLE).tolist() == [2]
    assert diagnosis.message() == "0/3 nodes are available: 1 full, 2 left out."


def test_pending_plugins_are_named(nodes: NodeTable) -> None:
    """A plugin that waits for an outside event is remembered as such."""
    diagnosis = Diagnosis(nodes)
    diagnosis.add_outcome(rejected(nodes, [True, True, True], "soon", Code.PENDING))
    assert diagnosis.unschedulable_plugins == diagnosis.pending_plugins == {"P"}


def test_post_filter_stands_behind(nodes: NodeTable) -> None:
    """What PostFilter said follows the nodes' reasons."""
    diagnosis = Diagnosis(nodes)
    diagnosis.add_outcome(rejected(nodes, [True, True, True], "full"))
    diagnosis.post_filter_message = "preemption: no"
    assert diagnosis.message() == "0/3 nodes are available: 3 full. preemption: no"


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        ({}, "0/12 nodes are available:"),
        ({"b": 1, "a": 1}, "0/12 nodes are available: 1 a, 1 b."),
        ({"nine": 9, "ten": 10}, "0/12 nodes are available: 10 ten, 9 nine."),
    ],
    ids=["no reasons", "by name", "as text, not as numbers"],
)
def test_reasons_are_sorted_as_text(reasons: dict[str, int], text: str) -> None:
    """kube-scheduler sorts the finished pieces."""
    assert none_available(12, Counter(reasons)) == text
