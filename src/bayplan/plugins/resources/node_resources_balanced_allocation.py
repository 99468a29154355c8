"""NodeResourcesBalancedAllocation: prefers nodes on which the pod makes the use of resources more even.

A node's balance is 100 where all resources are used to the same degree, and lower the more their usage differs (by
standard deviation). The score is the change that the pod makes: 75 is no change, 100 and 50 are the extremes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.config.args import NodeResourcesBalancedAllocationArgs
from bayplan.framework import (
    MAX_SCORE,
    SKIP,
    CycleState,
    FloatArray,
    IntArray,
    NodeTable,
    Plugin,
    Reads,
    ScoreArray,
    Status,
)
from bayplan.model import Pod
from bayplan.plugins.resources._few_nodes import balance_scores, few_usages
from bayplan.plugins.resources._float_amounts import float_amounts
from bayplan.plugins.resources._resource_scores import ResourceUsage, evenness, node_usage
from bayplan.plugins.resources._scored_resources import ScoredResources

if TYPE_CHECKING:
    from bayplan.framework import Handle

_HALF: Final = MAX_SCORE // 2


class NodeResourcesBalancedAllocation(Plugin[NodeResourcesBalancedAllocationArgs]):
    name = "NodeResourcesBalancedAllocation"
    reads = Reads.RESOURCES

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._scored = ScoredResources(args.resources)

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        """Skips a pod that requests nothing: it changes no balance, so such pods would pile up on one node."""
        return None if self._scored.requested_by(pod.all_requests) else SKIP

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreArray:
        requests = pod.all_requests
        if not self._scored.requested_by(requests):
            return np.zeros(len(nodes), dtype=np.int64)  # PreScore did not run
        few = few_usages(nodes, self.args.resources, requests, nonzero=False)
        if few is not None:
            return balance_scores(few, len(nodes))
        amounts = float_amounts(nodes, self._scored.for_pod(requests)[0])
        if amounts is not None and (scores := amounts.balance_scores(requests)) is not None:
            return scores
        usages = node_usage(nodes, self.args.resources, requests, nonzero=False)
        without_pod, with_pod = balance(usages, len(nodes))
        change: IntArray = with_pod - without_pod
        change += _HALF
        change += change < 0  # Go's division by two truncates towards zero
        change >>= 1
        change += _HALF
        return change

    def sign(self, pod: Pod) -> Hashable:
        return pod.request_summary


def balance(usages: Sequence[ResourceUsage], n_nodes: int) -> IntArray:
    """How evenly each node's resources are used, 0 to 100; shape (2, n_nodes): without and with the pod."""
    offered = [usage.allocatable != 0 for usage in usages]
    if all(column.all() for column in offered):
        return _balance([_fractions(usage) for usage in usages], n_nodes)
    # Nodes that offer the same resources are computed together.
    scores = np.zeros((2, n_nodes), dtype=np.int64)
    patterns = np.zeros(n_nodes, dtype=np.int64)
    for i, column in enumerate(offered):
        patterns |= column.astype(np.int64) << i
    for pattern in np.unique(patterns).tolist():
        where = np.flatnonzero(patterns == pattern)
        fractions = [_fractions(usage, where) for i, usage in enumerate(usages) if pattern >> i & 1]
        scores[:, where] = _balance(fractions, len(where))
    return scores


def _fractions(usage: ResourceUsage, where: IntArray | slice = slice(None)) -> FloatArray:
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
