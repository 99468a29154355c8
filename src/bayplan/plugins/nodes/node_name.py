"""NodeName: a pod that names its node fits that node and no other."""

from __future__ import annotations

from collections.abc import Hashable

from bayplan.framework import (
    Action,
    ClusterEvent,
    Code,
    CycleState,
    NodeTable,
    Plugin,
    PreFilterResult,
    Reads,
    Resource,
    Verdict,
)
from bayplan.model import Pod

REASON = "node(s) didn't match the requested node name"


class NodeName(Plugin):
    name = "NodeName"
    reads = Reads.NODE
    # Only a new node can help: an update never renames one.
    events_to_register = (ClusterEvent(Resource.NODE, Action.ADD),)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> PreFilterResult | None:
        """No other node is looked at, nor is it a candidate for preemption."""
        return PreFilterResult(frozenset((pod.spec.node_name,))) if pod.spec.node_name else None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        if not pod.spec.node_name:
            return nodes.accept_all()
        return nodes.reject(nodes.names != pod.spec.node_name, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    def sign(self, pod: Pod) -> Hashable:
        return pod.spec.node_name
