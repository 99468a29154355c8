"""Scores by resource usage: what NodeResourcesFit and NodeResourcesBalancedAllocation share.

Input: the columns of the nodes, the configured resources and the pod's requests. Output: one score per node. A
resource that a node does not offer does not count there; nor does a scalar resource that the pod does not request.
Sums beyond int64 wrap around as in Go, so requests may be negative; the results are those of Go in this case too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import MAX_SCORE, BoolArray, FloatArray, IntArray, NodeTable
from bayplan.model import CPU, MEMORY
from bayplan.plugins._utilization_shape import MAX_UTILIZATION, scores_by_utilization
from bayplan.plugins.resources._scored_resources import is_scored

if TYPE_CHECKING:
    from bayplan.config.args.base import ResourceSpec
    from bayplan.config.args.resources import ScoringStrategy, UtilizationShapePoint

#: See `quotient`.
_EXACT_BELOW: Final = 2**52


class ResourceUsage(NamedTuple):
    """One resource on every node; int64, shape (n_nodes,) each."""

    weight: int
    #: With the pod.
    requested: IntArray
    #: Without it.
    allocated: IntArray
    #: 0 where the node does not offer the resource.
    allocatable: IntArray


def node_usage(
    nodes: NodeTable, resources: Iterable[ResourceSpec], requests: Mapping[str, int], *, nonzero: bool
) -> list[ResourceUsage]:
    """The usage of the configured resources that count for a pod with these *requests*.

    With *nonzero*, pods without a request for cpu or memory count on their nodes as if they had a small one.
    """
    usages = []
    for resource in resources:
        name, request = resource.name, requests.get(resource.name, 0)
        if not is_scored(name, request):
            continue
        of_pods = nodes.nonzero_requested if nonzero and name in (CPU, MEMORY) else nodes.requested
        allocated = of_pods(name)
        usages.append(ResourceUsage(resource.weight, allocated + request, allocated, nodes.allocatable(name)))
    return usages


#: ResourceUsage of the configured resources → score per node.
Strategy = Callable[[Sequence[ResourceUsage], int], IntArray]


def strategy_of(configured: ScoringStrategy) -> Strategy:
    """The function that a `scoringStrategy` stands for."""
    if configured.type == "RequestedToCapacityRatio" and configured.requested_to_capacity_ratio is not None:
        return _requested_to_capacity_ratio(configured.requested_to_capacity_ratio.shape)
    return _most_allocated if configured.type == "MostAllocated" else _least_allocated


def _least_allocated(usages: Sequence[ResourceUsage], n_nodes: int) -> IntArray:
    """The share of capacity that stays free; an overcommitted node counts as full."""

    def free_share(usage: ResourceUsage, capacity: IntArray) -> IntArray:
        return quotient((capacity - np.minimum(usage.requested, capacity)) * MAX_SCORE, capacity)

    totals, weights = _weigh(usages, n_nodes, free_share)
    return quotient(totals, weights)


def _most_allocated(usages: Sequence[ResourceUsage], n_nodes: int) -> IntArray:
    """The share of capacity that is in use; an overcommitted node counts as full."""

    def used_share(usage: ResourceUsage, capacity: IntArray) -> IntArray:
        return quotient(np.minimum(usage.requested, capacity) * MAX_SCORE, capacity)

    totals, weights = _weigh(usages, n_nodes, used_share)
    return quotient(totals, weights)


def _requested_to_capacity_ratio(shape: Sequence[UtilizationShapePoint]) -> Strategy:
    """The configured score of the utilization; a resource that scores 0 does not count at all."""
    scores = scores_by_utilization(shape)

    def shaped(usage: ResourceUsage, capacity: IntArray) -> IntArray:
        utilization = quotient(np.minimum(usage.requested, capacity) * MAX_UTILIZATION, capacity)
        utilization[usage.requested > capacity] = MAX_UTILIZATION
        return scores[np.clip(utilization, 0, MAX_UTILIZATION)]

    def strategy(usages: Sequence[ResourceUsage], n_nodes: int) -> IntArray:
        totals, weights = _weigh(usages, n_nodes, shaped, only_positive=True)
        # Unlike the other means, this one is rounded, half up; a node where nothing counts has a total of 0.
        return (2 * totals + weights) // (2 * weights)

    return strategy


def _weigh(
    usages: Sequence[ResourceUsage],
    n_nodes: int,
    score: Callable[[ResourceUsage, IntArray], IntArray],
    *,
    only_positive: bool = False,
) -> tuple[IntArray, IntArray | int]:
    """The weighted sum of the resources' scores, and the sum of the weights that count, 1 where none does."""
    totals = np.zeros(n_nodes, dtype=np.int64)
    weights: IntArray | int = 0
    for usage in usages:
        offered: BoolArray | None = None
        capacity = usage.allocatable
        if capacity.min(initial=1) < 1:
            offered = capacity != 0
            capacity = np.where(offered, capacity, 1)
        scores = score(usage, capacity)
        if only_positive:
            offered = scores > 0 if offered is None else offered & (scores > 0)
        weight = usage.weight if offered is None else offered * usage.weight
        totals += scores if offered is None and usage.weight == 1 else scores * weight
        weights = weights + weight
    return totals, np.maximum(weights, 1) if isinstance(weights, np.ndarray) else max(weights, 1)


def quotient(numerators: IntArray, divisors: IntArray | int) -> IntArray:
    """Integer division as in Go, truncated towards zero; no divisor is 0.

    Floating point is twice as fast as NumPy's integer division, and exact for numerators n from 0 to 2^52: a
    quotient n/d that is no integer is at least 1/d away from one, and its error is at most n/d x 2^-53.
    """
    # As unsigned numbers, negative ones are above the limit.
    if numerators.view(np.uint64).max(initial=0) < _EXACT_BELOW:
        return (numerators / divisors).astype(np.int64)
    quotients: IntArray = numerators // divisors
    quotients += (quotients < 0) & (numerators % divisors != 0)
    return quotients


def evenness(fractions: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """How close two or more shares are to each other: integers from 0 to 100, lower the more they differ (by
    standard deviation). The order of operations is Go's, to the bit. *fractions* are overwritten."""
    if len(fractions) == 2:
        # 1 less half the difference, times 100: halving and doubling lose nothing, so 2 less it, times 50.
        even = fractions[0]
        even -= fractions[1]
        np.abs(even, out=even)
        np.subtract(2.0, even, out=even)
        even *= MAX_SCORE / 2
    else:
        mean = sum(fractions[1:], start=fractions[0]) / len(fractions)
        squares = [(fraction - mean) * (fraction - mean) for fraction in fractions]
        even = np.sqrt(sum(squares[1:], start=squares[0]) / len(fractions))
        np.subtract(1.0, even, out=even)
        even *= MAX_SCORE
    return np.trunc(even, out=even)
