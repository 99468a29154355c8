"""A typical user plugin, called once per node: a filter by label, a score by memory."""

from __future__ import annotations

from bayplan import CycleState, NodeInfo, Plugin, Pod, Status

GIB = 1024**3


class PerNode(Plugin):
    """Rejects nodes under repair; prefers nodes with more memory."""

    name = "PerNode"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if node.labels.get("repair") == "true":
            return Status.unschedulable("node(s) were under repair")
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return min(node.allocatable["memory"] // GIB // 4, 100)
