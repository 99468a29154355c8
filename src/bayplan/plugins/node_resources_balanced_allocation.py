"""NodeResourcesBalancedAllocation: prefers nodes on which the pod makes the use of resources more even.

A node's balance is 100 where all resources are used to the same degree, less the more their degrees differ (by
standard deviation). What counts is by how much the pod changes it: 75 is no change, 100 and 50 are the ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from bayplan.config.args import NodeResourcesBalancedAllocationArgs
from bayplan.framework import MAX_SCORE, CycleState, IntArray, NodeTable, Plugin, Reads, Status
from bayplan.model import Pod
from bayplan.plugins._resource_scores import node_usage, quotient

_HALF = MAX_SCORE // 2


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"
    Args = NodeResourcesBalancedAllocationArgs
    reads = Reads.USAGE

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        """A pod that requests nothing would make no difference anywhere and so pile up on one node: skipped."""
        requests = pod.all_requests
        return None if any(requests.get(resource.name) for resource in self.args.resources) else Status.skip()

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        usages = node_usage(nodes, self.args.resources, pod.all_requests, nonzero=False)
        allocatable = [usage.allocatable for usage in usages]
        with_pod = balance([usage.requested for usage in usages], allocatable, len(nodes))
        without_pod = balance([usage.allocated for usage in usages], allocatable, len(nodes))
        return _HALF + quotient(_HALF + with_pod - without_pod, 2)

    def sign(self, pod: Pod) -> Hashable:
        return pod.request_summary


def balance(used: Sequence[IntArray], allocatable: Sequence[IntArray], n_nodes: int) -> IntArray:
    """How evenly the resources that a node offers are used, 0 to 100."""
    offered = [amounts != 0 for amounts in allocatable]
    if all(column.all() for column in offered):
        return _balance([u / a for u, a in zip(used, allocatable, strict=True)], n_nodes)
    # Nodes that offer the same resources are worked out together.
    scores = np.zeros(n_nodes, dtype=np.int64)
    patterns = np.zeros(n_nodes, dtype=np.int64)
    for i, column in enumerate(offered):
        patterns |= column.astype(np.int64) << i
    for pattern in np.unique(patterns).tolist():
        where = np.flatnonzero(patterns == pattern)
        fractions = [used[i][where] / allocatable[i][where] for i in range(len(offered)) if pattern >> i & 1]
        scores[where] = _balance(fractions, len(where))
    return scores


def _balance(fractions: Sequence[NDArray[np.float64]], n_nodes: int) -> IntArray:
    """The same for nodes that offer all of the resources. The order of operations is Go's, to the bit."""
    if len(fractions) < 2:
        return np.full(n_nodes, MAX_SCORE, dtype=np.int64)
    capped = [np.minimum(fraction, 1.0) for fraction in fractions]
    if len(capped) == 2:
        deviation = np.abs((capped[0] - capped[1]) / 2)
    else:
        mean = sum(capped[1:], start=capped[0]) / len(capped)
        squares = [(fraction - mean) * (fraction - mean) for fraction in capped]
        deviation = np.sqrt(sum(squares[1:], start=squares[0]) / len(capped))
    return ((1 - deviation) * MAX_SCORE).astype(np.int64)
