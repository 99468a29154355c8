"""NodeResourcesBalancedAllocation: prefers nodes on which the pod makes the use of resources more even.

A node's balance is 100 where all resources are used to the same degree, less the more their degrees differ (by
standard deviation). What counts is by how much the pod changes it: 75 is no change, 100 and 50 are the ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from bayplan.config.args import NodeResourcesBalancedAllocationArgs
from bayplan.framework import MAX_SCORE, CycleState, FloatArray, IntArray, NodeTable, Plugin, Reads, Status
from bayplan.model import Pod
from bayplan.plugins._few_nodes import balance_scores, counts, few_usages
from bayplan.plugins._plain_amounts import plain_amounts
from bayplan.plugins._resource_scores import Usage, evenness, node_usage

_HALF: Final = MAX_SCORE // 2


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"
    Args = NodeResourcesBalancedAllocationArgs
    reads = Reads.RESOURCES

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        """A pod that requests nothing would make no difference anywhere and so pile up on one node: skipped."""
        return None if self._requests_any(pod) else Status.skip()

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        if not self._requests_any(pod):
            return np.zeros(len(nodes), dtype=np.int64)  # PreScore did not run
        few = few_usages(nodes, self.args.resources, pod.all_requests, nonzero=False)
        if few is not None:
            return balance_scores(few, len(nodes))
        plain = self._plain_scores(pod, nodes)
        if plain is not None:
            return plain
        usages = node_usage(nodes, self.args.resources, pod.all_requests, nonzero=False)
        without_pod, with_pod = balance(usages, len(nodes))
        change: IntArray = with_pod - without_pod
        change += _HALF
        change += change < 0  # Go's division by two cuts towards zero
        change >>= 1
        change += _HALF
        return change

    def _plain_scores(self, pod: Pod, nodes: NodeTable) -> IntArray | None:
        requests = pod.all_requests
        names = [each.name for each in self.args.resources if counts(each.name, requests.get(each.name, 0))]
        plain = plain_amounts(nodes, names)
        return None if plain is None else plain.balance_scores(requests)

    def _requests_any(self, pod: Pod) -> bool:
        requests = pod.all_requests
        return any(requests.get(resource.name) for resource in self.args.resources)

    def sign(self, pod: Pod) -> Hashable:
        return pod.request_summary


def balance(usages: Sequence[Usage], n_nodes: int) -> IntArray:
    """How evenly each node's resources are used, 0 to 100; shape (2, n_nodes): without and with the pod."""
    offered = [usage.allocatable != 0 for usage in usages]
    if all(column.all() for column in offered):
        return _balance([_fractions(usage) for usage in usages], n_nodes)
    # Nodes that offer the same resources are worked out together.
    scores = np.zeros((2, n_nodes), dtype=np.int64)
    patterns = np.zeros(n_nodes, dtype=np.int64)
    for i, column in enumerate(offered):
        patterns |= column.astype(np.int64) << i
    for pattern in np.unique(patterns).tolist():
        where = np.flatnonzero(patterns == pattern)
        fractions = [_fractions(usage, where) for i, usage in enumerate(usages) if pattern >> i & 1]
        scores[:, where] = _balance(fractions, len(where))
    return scores


def _fractions(usage: Usage, where: IntArray | slice = slice(None)) -> FloatArray:
    """The share of the resource in use, at most 1; shape (2, n_nodes): without and with the pod."""
    capacity = usage.allocatable[where].astype(np.float64)
    fractions = np.empty((2, len(capacity)))
    fractions[0], fractions[1] = usage.allocated[where], usage.requested[where]
    fractions /= capacity
    return np.minimum(fractions, 1.0, out=fractions)


def _balance(fractions: Sequence[FloatArray], n_nodes: int) -> IntArray:
    """The same for nodes that offer all of the resources."""
    if len(fractions) < 2:
        return np.full((2, n_nodes), MAX_SCORE, dtype=np.int64)
    return evenness(fractions).astype(np.int64)
