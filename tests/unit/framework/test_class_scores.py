"""Scores by class: normalised and weighed as scores of nodes are, and only where nodes are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from bayplan.framework import ClassScores, CycleState, IntArray, NodeTable, Plugin, Reads
from bayplan.model import Pod
from bayplan.testing import Harness, make_node, make_pod


class ByDisk(Plugin):
    """10 for nodes with a disk, 40 for those with a fast one; a class of 1000 has no nodes."""

    name = "ByDisk"
    normalised: ClassVar[list[list[int]]] = []

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ClassScores:
        classes = np.where(nodes.label("disk") == "fast", 2, 0)
        return ClassScores(classes, np.array([10, 1000, 40]), np.array([True, False, True]))

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        self.normalised.append(scores.tolist())
        return scores * 100 // int(scores.max())


class ByDiskKept(ByDisk):
    """The same with cached results: then scores are those of nodes."""

    name = "ByDiskKept"
    reads = Reads.NODE

    def sign(self, pod: Pod) -> str:
        return ""


@pytest.mark.parametrize(
    ("plugin", "normalised"),
    [pytest.param(ByDisk, [10, 40], id="asked every time"), pytest.param(ByDiskKept, [10, 40, 10], id="kept")],
)
def test_scores_of_classes(plugin: type[ByDisk], normalised: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes without nodes count for nothing, before and after the record is compacted."""
    nodes = [make_node("a"), make_node("b", labels={"disk": "fast"}), make_node("c")]
    harness = Harness(nodes=nodes, plugins=[plugin])
    harness.decide(make_pod("first"))  # nothing is cached for the first pod
    monkeypatch.setattr(ByDisk, "normalised", [])
    decision = harness.decide(make_pod("p"))
    assert (decision.node_name, ByDisk.normalised) == ("b", [normalised])
    assert decision.scores is not None
    totals = decision.scores.totals.tolist()
    for _ in range(2):
        scores = decision.record.scores
        assert scores is not None
        own = scores.by_plugin[plugin.name]
        assert (own.raw.tolist(), own.normalized.tolist()) == ([10, 40, 10], [25, 100, 25])
        assert own.weighted.tolist() == [25, 100, 25]
        assert scores.totals.tolist() == totals
        decision.record.compact()
