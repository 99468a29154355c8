"""Plugins that are tried in both homes: in a profile of Bayplan, and as an extender of a stock kube-scheduler."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayplan import Plugin, Status


class Points(Plugin):
    """As many points as the node's label says."""

    name = "Points"

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return int(node.labels.get("points", "0"))


class PointsColumns(Plugin):
    """The same for all nodes at once."""

    name = "PointsColumns"

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.label("points").numbers(0)


class Roomy(Plugin):
    """Nodes with more than two cores, the more the better."""

    name = "Roomy"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("too small") if node.allocatable["cpu"] <= 2000 else None

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.allocatable("cpu")

    def normalize_score(self, state: Any, pod: Any, scores: Any, nodes: Any) -> Any:
        return (scores * 100 // max(int(scores.max()), 1)).astype(np.int64)
