"""NodePorts: the host ports of a pod must be free on the node."""

from __future__ import annotations

from collections.abc import Hashable

from bayplan.framework import (
    SKIP,
    Action,
    ClusterEvent,
    CycleState,
    Hint,
    NodeTable,
    Plugin,
    Reads,
    Resource,
    Status,
    Verdict,
)
from bayplan.model import Pod, conflict
from bayplan.plugins._missing_state import NOT_FOUND, fail_all

REASON = "node(s) didn't have free ports for the requested pod ports"
_UNREAD = f'reading "PreFilterNodePorts" from cycleState: {NOT_FOUND}'


class NodePorts(Plugin):
    name = "NodePorts"
    reads = Reads.USAGE

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        if not pod.host_ports:
            return SKIP
        state.write(self.name, pod.host_ports)
        return None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        wanted = state.get(self.name, tuple)
        if wanted is None:
            return fail_all(nodes, _UNREAD)
        return nodes.reject(nodes.ports_taken(wanted), REASON)

    def sign(self, pod: Pod) -> Hashable:
        return pod.host_ports

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            # The ports of a pod never change, so only its deletion frees them.
            ClusterEvent(Resource.POD, Action.DELETE, self._after_pod_deletion),
            ClusterEvent(Resource.NODE, Action.ADD),
        )

    def _after_pod_deletion(self, pod: Pod, old: Pod, new: None) -> Hint:
        if not old.spec.node_name and not old.status.nominated_node_name:
            return Hint.SKIP
        return Hint.QUEUE if conflict(pod.host_ports, old.host_ports) else Hint.SKIP
