"""The scores of a handful of nodes in plain numbers: what `_resource_scores` and the balance give as columns.

After every pod that is placed one node is scored again, and an array of one entry costs as much as one of
hundreds: this takes 7 µs where the columns take 30. It gives exactly the same; where amounts are so vast that Go's
whole numbers would overflow it gives up (None), and the columns do it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import MAX_SCORE, IntArray
from bayplan.model import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar_resource_name

if TYPE_CHECKING:
    from bayplan.config.args.base import ResourceSpec
    from bayplan.framework import NodeTable

#: Up to this many nodes are worked out here.
FEW: Final = 8
#: Up to here, amounts times 100 are exact in both kinds of numbers.
_VAST: Final = 2**46
_HALF: Final = MAX_SCORE // 2
_NATIVE: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})


class FewUsage(NamedTuple):
    """One resource on a few nodes: `_resource_scores.Usage` in lists."""

    weight: int
    requested: list[int]
    allocated: list[int]
    allocatable: list[int]


def few_usages(
    nodes: NodeTable, resources: Iterable[ResourceSpec], requests: Mapping[str, int], *, nonzero: bool
) -> list[FewUsage] | None:
    """What `_resource_scores.node_usage` gives; None where there are many nodes, or vast or negative amounts."""
    if not 0 < len(nodes) <= FEW:
        return None
    usages = []
    for resource in resources:
        name, request = resource.name, requests.get(resource.name, 0)
        if not counts(name, request):
            continue
        of_pods = nodes.nonzero_requested if nonzero and name in (CPU, MEMORY) else nodes.requested
        allocated: list[int] = of_pods(name).tolist()
        requested = [amount + request for amount in allocated]
        allocatable: list[int] = nodes.allocatable(name).tolist()
        if request < 0 or min(allocated) < 0 or min(allocatable) < 0:
            return None
        if max(requested) >= _VAST or max(allocatable) >= _VAST:
            return None
        usages.append(FewUsage(resource.weight, requested, allocated, allocatable))
    return usages


def counts(name: str, request: int) -> bool:
    """Whether the resource counts for a pod with this request."""
    if name in _NATIVE:
        return True
    return request != 0 and is_scalar_resource_name(name)


def allocation_scores(usages: Sequence[FewUsage], n_nodes: int, *, least: bool) -> IntArray:
    """LeastAllocated or MostAllocated: the weighted mean of the share of each resource that is free, or in use."""
    scores = []
    for i in range(n_nodes):
        total = weights = 0
        for column in usages:
            capacity = column.allocatable[i]
            if capacity:
                used = min(column.requested[i], capacity)
                total += (capacity - used if least else used) * MAX_SCORE // capacity * column.weight
                weights += column.weight
        scores.append(total // max(weights, 1))
    return np.array(scores, dtype=np.int64)


def balance_scores(usages: Sequence[FewUsage], n_nodes: int) -> IntArray:
    """By how much the pod changes the balance of a node."""
    scores = []
    for i in range(n_nodes):
        offered = [column for column in usages if column.allocatable[i]]
        with_pod = _balance([min(column.requested[i] / column.allocatable[i], 1.0) for column in offered])
        without_pod = _balance([min(column.allocated[i] / column.allocatable[i], 1.0) for column in offered])
        change = _HALF + with_pod - without_pod
        scores.append(_HALF + (change + (change < 0) >> 1))
    return np.array(scores, dtype=np.int64)


def _balance(fractions: Sequence[float]) -> int:
    if len(fractions) < 2:
        return MAX_SCORE
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        mean = sum(fractions[1:], start=fractions[0]) / len(fractions)
        squares = [(fraction - mean) * (fraction - mean) for fraction in fractions]
        deviation = sqrt(sum(squares[1:], start=squares[0]) / len(fractions))
    return int((1 - deviation) * MAX_SCORE)
