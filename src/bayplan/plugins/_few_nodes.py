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
    #: Of the pod.
    request: int
    #: By the pods on the nodes.
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
        name = resource.name
        request = requests.get(name, 0)
        if not counts(name, request):
            continue
        if request < 0:
            return None
        of_pods = nodes.nonzero_requested if nonzero and name in (CPU, MEMORY) else nodes.requested
        allocated: list[int] = of_pods(name).tolist()
        allocatable: list[int] = nodes.allocatable(name).tolist()
        for taken, capacity in zip(allocated, allocatable, strict=True):
            if taken < 0 or taken + request >= _VAST or not 0 <= capacity < _VAST:
                return None
        usages.append(FewUsage(resource.weight, request, allocated, allocatable))
    return usages


class Counting:
    """Which of the configured resources count for a pod; the same for almost all pods."""

    def __init__(self, resources: Sequence[ResourceSpec]) -> None:
        self._resources = resources
        self._always = [each for each in resources if each.name in _NATIVE]
        #: Those that count for any pod.
        self.always = self._split(self._always)

    def requested_by(self, requests: Mapping[str, int]) -> bool:
        """Whether a pod with these *requests* requests any of the configured resources."""
        return any(requests.get(each.name) for each in self._resources)

    def for_pod(self, requests: Mapping[str, int]) -> tuple[Sequence[str], Sequence[int]]:
        """Their names and their weights."""
        if len(self._always) == len(self._resources):
            return self.always
        return self._split([each for each in self._resources if counts(each.name, requests.get(each.name, 0))])

    @staticmethod
    def _split(resources: Sequence[ResourceSpec]) -> tuple[Sequence[str], Sequence[int]]:
        return tuple([each.name for each in resources]), tuple([each.weight for each in resources])


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
