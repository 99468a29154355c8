"""NodeUnschedulable: cordoned nodes take only pods that tolerate being there."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from bayplan.framework import (
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Hint,
    NodeTable,
    Plugin,
    Reads,
    Resource,
    Verdict,
)
from bayplan.model import Node, Pod, Taint, tolerates_any

REASON = "node(s) were unschedulable"
#: What the node controller puts on a cordoned node; tolerating it is tolerating the cordon itself.
_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(Plugin):
    name = "NodeUnschedulable"
    reads = Reads.NODE

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None:
        """Filter is always asked: only pods that are resized in place are exempt, which is alpha and off."""

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        cordoned = nodes.unschedulable()
        if not cordoned.any() or _tolerates_cordon(pod):
            return nodes.accept_all()
        return nodes.reject(cordoned, REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    def sign(self, pod: Pod) -> Hashable:
        return _tolerates_cordon(pod)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, self._after_node_change),
            ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATION, self._after_toleration_change),
        )

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        opened = not new.spec.unschedulable and (old is None or old.spec.unschedulable)
        return Hint.QUEUE if opened else Hint.SKIP

    def _after_toleration_change(self, pod: Pod, old: Pod, new: Pod) -> Hint:
        return Hint.QUEUE if new.uid == pod.uid and _tolerates_cordon(new) else Hint.SKIP


def _tolerates_cordon(pod: Pod) -> bool:
    tolerations = pod.spec.tolerations
    return bool(tolerations) and tolerates_any(tolerations, _TAINT)
