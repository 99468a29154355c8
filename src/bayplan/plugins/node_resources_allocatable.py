"""NodeResourcesAllocatable: prefers nodes that offer the least in all, or the most, whatever is used of it.

With `mode: Least` small nodes are filled first, so that a large one stays free for a pod that needs it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from bayplan.config.args import NodeResourcesAllocatableArgs
from bayplan.framework import CycleState, Handle, IntArray, NodeTable, Plugin, Reads
from bayplan.model import PODS, Pod, is_counted_resource
from bayplan.plugins._stretch import stretched, truncated


class NodeResourcesAllocatable(Plugin):
    name = "NodeResourcesAllocatable"
    Args = NodeResourcesAllocatableArgs
    reads = Reads.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        #: A resource that is listed twice has the weight listed last.
        self._weights = {resource.name: resource.weight for resource in args.resources}
        self._direction = 1 if args.mode == "Most" else -1

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        total = np.zeros(len(nodes), dtype=np.int64)
        for name, weight in self._weights.items():
            # The number of pods, and names that nobody counts, weigh without adding anything.
            if name != PODS and is_counted_resource(name):
                total += self._direction * nodes.allocatable(name) * weight
        return truncated(total, sum(self._weights.values()))

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return stretched(scores)

    def sign(self, pod: Pod) -> Hashable:
        """Every pod gets the same answer."""
        return ()
