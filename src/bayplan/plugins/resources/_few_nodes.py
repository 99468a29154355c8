"""Resource scores of a few nodes in Python numbers: what `_resource_scores` computes in NumPy columns.

After every placed pod one node is scored again, and an array of one entry costs as much as one of hundreds: this
takes 7 µs where the columns take 30. The results are exactly the same. Where amounts are so large that Go's
integers would overflow, `few_usages` returns None and the columns are used instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import MAX_SCORE, IntArray
from bayplan.model import CPU, MEMORY
from bayplan.plugins.resources._scored_resources import NATIVE, is_scored

if TYPE_CHECKING:
    from bayplan.config.args.base import ResourceSpec
    from bayplan.framework import NodeTable

#: Up to this many nodes are scored here.
FEW: Final = 8
#: Below this, amounts times 100 are exact in integers and in float64.
_TOO_LARGE: Final = 2**46
_HALF: Final = MAX_SCORE // 2


class FewUsage(NamedTuple):
    """One resource on a few nodes: `_resource_scores.ResourceUsage` as lists."""

    weight: int
    #: Of the pod.
    request: int
    #: By the pods on the nodes.
    allocated: list[int]
    allocatable: list[int]


def few_usages(
    nodes: NodeTable, resources: Iterable[ResourceSpec], requests: Mapping[str, int], *, nonzero: bool
) -> list[FewUsage] | None:
    """The same as `_resource_scores.node_usage`; None for many nodes, or for too large or negative amounts."""
    if not 0 < len(nodes) <= FEW:
        return None
    usages = []
    for resource in resources:
        name = resource.name
        request = requests.get(name, 0)
        if name not in NATIVE and not is_scored(name, request):
            continue
        if request < 0:
            return None
        of_pods = nodes.nonzero_requested if nonzero and name in (CPU, MEMORY) else nodes.requested
        allocated: list[int] = of_pods(name).tolist()
        allocatable: list[int] = nodes.allocatable(name).tolist()
        for taken, capacity in zip(allocated, allocatable, strict=True):
            if taken < 0 or taken + request >= _TOO_LARGE or not 0 <= capacity < _TOO_LARGE:
                return None
        usages.append(FewUsage(resource.weight, request, allocated, allocatable))
    return usages


def allocation_scores(usages: Sequence[FewUsage], n_nodes: int, *, least: bool) -> IntArray:
    """LeastAllocated or MostAllocated: the weighted mean of the share of each resource that is free, or in use."""
    scores = []
    for i in range(n_nodes):
        total = weights = 0
        for weight, request, allocated, allocatable in usages:
            capacity = allocatable[i]
            if capacity:
                used = min(allocated[i] + request, capacity)
                total += (capacity - used if least else used) * MAX_SCORE // capacity * weight
                weights += weight
        scores.append(total // max(weights, 1))
    return np.array(scores, dtype=np.int64)


def balance_scores(usages: Sequence[FewUsage], n_nodes: int) -> IntArray:
    """By how much the pod changes the balance of a node."""
    scores = []
    for i in range(n_nodes):
        with_pod, without_pod = [], []
        for _, request, allocated, allocatable in usages:
            capacity, taken = allocatable[i], allocated[i]
            if capacity:
                with_pod.append(min((taken + request) / capacity, 1.0))
                without_pod.append(min(taken / capacity, 1.0))
        change = _HALF + few_evenness(with_pod) - few_evenness(without_pod)
        scores.append(_HALF + (change + (change < 0) >> 1))
    return np.array(scores, dtype=np.int64)


def few_evenness(fractions: Sequence[float]) -> int:
    """`_resource_scores.evenness` of one node."""
    if len(fractions) < 2:
        return MAX_SCORE
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        mean = sum(fractions[1:], start=fractions[0]) / len(fractions)
        squares = [(fraction - mean) * (fraction - mean) for fraction in fractions]
        deviation = sqrt(sum(squares[1:], start=squares[0]) / len(fractions))
    return int((1 - deviation) * MAX_SCORE)
