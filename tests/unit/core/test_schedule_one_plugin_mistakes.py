"""Whatever a plugin answers, its pod gets an error that names it, and no exception gets past the cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.framework import (
    ClassScores,
    Code,
    CycleState,
    NodeTable,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    Reads,
    Status,
    Verdict,
)
from bayplan.model import Pod
from bayplan.testing import Harness, make_node, make_pod


def _no_node(self: Any, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
    return nodes.reject_all("no")


def _coded(code: Code) -> Any:
    return lambda self, state, pod, nodes: nodes.reject_all("odd", code=code)


@pytest.mark.parametrize(
    "methods",
    [
        {"filter_nodes": lambda self, state, pod, nodes: True},
        {"filter_nodes": lambda self, state, pod, nodes: ~nodes.unschedulable()},
        {"filter": lambda self, state, pod, node: False},
        {"filter": lambda self, state, pod, node: Status.skip()},
        {"score": lambda self, state, pod, node: "high"},
        {"score": lambda self, state, pod, node: True},
        {"score_nodes": lambda self, state, pod, nodes: np.zeros(len(nodes) + 1, dtype=np.int64)},
        {"score_nodes": lambda self, state, pod, nodes: np.zeros(len(nodes))},
        {"score_nodes": lambda self, state, pod, nodes: ClassScores(np.array([0, 2]), np.array([1, 2]))},
        {"score_nodes": lambda self, state, pod, nodes: ClassScores(np.array([0, -1]), np.array([1, 2]))},
        {"score_nodes": lambda self, state, pod, nodes: ClassScores(np.array([0]), np.array([1, 2]))},
        {"score_nodes": lambda self, state, pod, nodes: ClassScores(np.array([0, 0]), [1])},  # type: ignore[arg-type]
        {"score_nodes": lambda self, state, pod, nodes: ClassScores(np.array([0, 0]), np.array([101]))},
        {"pre_filter": lambda self, state, pod, nodes: ["a"]},
        {"filter_nodes": _coded(Code.SKIP)},
        {"filter_nodes": _coded(Code.SUCCESS)},
        {"filter_nodes": lambda self, state, pod, nodes: Verdict(9).reject(np.ones(9, dtype=np.bool_), "no")},
        {"filter_nodes": lambda self, state, pod, nodes: Verdict(2, statuses={9: Status.unschedulable("no")})},
        {"score": lambda self, state, pod, node: 10**30},
        {"reads": Reads.NODE, "sign": lambda self, pod: 1 // 0, "filter_nodes": _no_node},
        {"reads": Reads.NODE, "sign": lambda self, pod: [], "filter_nodes": _no_node},
    ],
    ids=[
        "filter_nodes gives no verdict",
        "filter_nodes gives a mask",
        "filter gives a bool",
        "filter gives Skip",
        "score gives a text",
        "score gives a bool",
        "score_nodes gives too many",
        "score_nodes gives floats",
        "score_nodes gives a class without a score",
        "score_nodes gives a class below 0",
        "score_nodes gives too few classes",
        "score_nodes gives a list of scores",
        "score_nodes gives a class too high a score",
        "pre_filter gives a list",
        "filter_nodes rejects with Skip",
        "filter_nodes rejects with Success",
        "verdict about too many nodes",
        "verdict about a node that is not there",
        "score beyond 64 bits",
        "sign raises",
        "sign cannot be hashed",
    ],
)
def test_mistake_costs_one_attempt(methods: dict[str, Any]) -> None:
    """The attempt ends as SchedulerError, and the message names the plugin."""
    wrong = type("Wrong", (Plugin,), {"name": "Wrong", **methods})
    decision = Harness(nodes=[make_node("a"), make_node("b")], plugins=[wrong]).decide(make_pod("p"))
    assert (decision.node_name, decision.reason) == ("", "SchedulerError")
    assert "Wrong" in decision.message


def test_post_filter_without_a_status() -> None:
    """A PostFilterResult without a status does not help; the pod stays unschedulable."""
    wrong = type(
        "Wrong",
        (Plugin,),
        {"name": "Wrong", "filter_nodes": _no_node, "post_filter": lambda *_: PostFilterResult(None, None)},  # type: ignore[arg-type]
    )
    decision = Harness(nodes=[make_node("a")], plugins=[wrong], only=True).decide(make_pod("p"))
    assert decision.reason == "Unschedulable"


@pytest.mark.parametrize("names", [["b"], {"b"}, ("b",), iter(["b"])], ids=["list", "set", "tuple", "iterator"])
def test_any_collection_of_names_restricts_the_nodes(names: Any) -> None:
    """Not only a frozenset."""
    only = type("Only", (Plugin,), {"name": "Only", "pre_filter": lambda *_: PreFilterResult(names)})
    decision = Harness(nodes=[make_node("a"), make_node("b")], plugins=[only]).decide(make_pod("p"))
    assert decision.node_name == "b"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        pytest.param("b", "needs a set of node names, got str: 'b'", id="text"),
        pytest.param(3, "needs a set of node names, got int: 3", id="number"),
        pytest.param([1], "needs names of nodes, got int: 1", id="numbers"),
    ],
)
def test_names_that_are_none_are_refused(names: Any, told: str) -> None:
    wrong = type("Wrong", (Plugin,), {"name": "Wrong", "pre_filter": lambda *_: PreFilterResult(names)})
    decision = Harness(nodes=[make_node("a"), make_node("b")], plugins=[wrong]).decide(make_pod("p"))
    assert decision.message == f'running PreFilter plugin "Wrong": PreFilterResult {told}'


@pytest.mark.parametrize(
    ("status", "label"), [(Status.pending("later"), "Pending"), (Status.wait("later", timeout_seconds=1), "Wait")]
)
def test_a_status_that_pre_filter_cannot_return(status: Status, label: str) -> None:
    """The message says so, and what could be returned instead."""
    wrong = type("Wrong", (Plugin,), {"name": "Wrong", "pre_filter": lambda *_: status})
    decision = Harness(nodes=[make_node("a")], plugins=[wrong]).decide(make_pod("p"))
    assert decision.reason == "SchedulerError"
    assert decision.message.startswith(
        f'running PreFilter plugin "Wrong": returned {label}, which PreFilter cannot;'
    )
    assert decision.message.endswith(": later")
