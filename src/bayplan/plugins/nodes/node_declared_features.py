"""NodeDeclaredFeatures: a pod that needs a feature of the kubelet goes where the kubelet declares it.

The features are inferred from the pod's spec, as `component-helpers/nodedeclaredfeatures` does; of the features
that nodes can declare there, only two matter for placement: a third, VolumeBindMountOptions, is for a field of
pods that kube-apiserver drops with its feature gates at their defaults.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np

from bayplan.framework import (
    SKIP,
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Hint,
    NodeTable,
    Plugin,
    Reads,
    Resource,
    Status,
    Verdict,
)
from bayplan.model import Node, Pod
from bayplan.plugins._missing_state import NOT_FOUND, fail_all

REASON = "node(s) didn't match Pod's required features"
_UNREAD: Final = f'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: {NOT_FOUND}'


_RESTART_ALL: Final = "RestartAllContainersOnContainerExits"
_USER_NAMESPACES: Final = "UserNamespacesHostNetworkSupport"


class NodeDeclaredFeatures(Plugin):
    name = "NodeDeclaredFeatures"
    reads = Reads.NODE

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        required = required_features(pod)
        if not required:
            return SKIP
        state.write(self.name, required)
        return None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        required = state.get(self.name, frozenset)
        if required is None:
            return fail_all(nodes, _UNREAD)
        # Such pods are rare and the result is cached, so looking at the nodes one by one is cheap enough.
        lacking = [not required.issubset(info.node.status.declared_features) for info in nodes]
        return nodes.reject(np.array(lacking, dtype=np.bool_), REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    def sign(self, pod: Pod) -> Hashable:
        return required_features(pod)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, self._after_node_change),
            ClusterEvent(Resource.POD, Action.UPDATE, self._after_pod_change),
        )

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        unchanged = old is not None and old.status.declared_features == new.status.declared_features
        return Hint.SKIP if unchanged else Hint.QUEUE

    def _after_pod_change(self, pod: Pod, old: Pod, new: Pod) -> Hint:
        if pod.uid != new.uid or required_features(old) == required_features(new):
            return Hint.SKIP
        return Hint.QUEUE


def required_features(pod: Pod) -> frozenset[str]:
    """The features that a node must declare for the pod to run there."""
    spec = pod.spec
    required = set()
    for container in (*spec.containers, *spec.init_containers):
        for rule in container.restart_policy_rules:
            if rule.action == "RestartAllContainers":
                required.add(_RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        required.add(_USER_NAMESPACES)
    return frozenset(required)
