"""NodeResourcesAllocatable: prefers nodes with the smallest or largest allocatable resources, whatever is in use.

With `mode: Least` small nodes are filled first, so that large nodes stay free for pods that need them.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from bayplan.config.args import NodeResourcesAllocatableArgs
from bayplan.framework import CycleState, Handle, IntArray, NodeTable, Plugin, Reads
from bayplan.model import PODS, Pod, is_counted_resource
from bayplan.plugins._min_max import min_max_normalize, truncated_quotients


class NodeResourcesAllocatable(Plugin[NodeResourcesAllocatableArgs]):
    name = "NodeResourcesAllocatable"
    reads = Reads.NODE

    def __init__(self, args: NodeResourcesAllocatableArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        #: A resource that is listed twice has the last weight.
        self._weights = {resource.name: resource.weight for resource in args.resources}
        self._direction = 1 if args.mode == "Most" else -1

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        total = np.zeros(len(nodes), dtype=np.int64)
        for name, weight in self._weights.items():
            # The number of pods and uncounted resources add nothing, but their weights count in the mean.
            if name != PODS and is_counted_resource(name):
                total += self._direction * nodes.allocatable(name) * weight
        return truncated_quotients(total, sum(self._weights.values()))

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return min_max_normalize(scores)

    def sign(self, pod: Pod) -> Hashable:
        """All pods get the same scores."""
        return ()
