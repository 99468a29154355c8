"""PodState: prefers nodes with terminating pods, and avoids nodes with nominated pods."""

from __future__ import annotations

from typing import Final

from bayplan.framework import CycleState, IntArray, NodeTable, Plugin, PodQuery
from bayplan.model import Pod
from bayplan.plugins._min_max import min_max_normalize

#: Pods that are not terminating.
_NOT_TERMINATING: Final = PodQuery(namespaces=None, selectors=(), terminating=False)


class PodState(Plugin):
    name = "PodState"

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        scores = nodes.pod_counts() - nodes.count_pods(_NOT_TERMINATING)
        nominator = self.handle.nominator
        for node_name in nominator.nodes():
            position = nodes.position(node_name)
            if position is not None:
                scores[position] -= len(nominator.nominated(node_name))
        return scores

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return min_max_normalize(scores)
