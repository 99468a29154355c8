"""PodState: prefers nodes with pods that are on their way out, and avoids those promised to other pods."""

from __future__ import annotations

from typing import Final

from bayplan.framework import CycleState, IntArray, NodeTable, Plugin, PodQuery
from bayplan.model import Pod
from bayplan.plugins._stretch import stretched

#: Pods that nobody is deleting.
_STAYING: Final = PodQuery(namespaces=None, selectors=(), terminating=False)


class PodState(Plugin):
    name = "PodState"

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        scores = nodes.pod_counts() - nodes.count_pods(_STAYING)
        nominator = self.handle.nominator
        for node_name in nominator.nodes():
            position = nodes.position(node_name)
            if position is not None:
                scores[position] -= len(nominator.nominated(node_name))
        return scores

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return stretched(scores)
