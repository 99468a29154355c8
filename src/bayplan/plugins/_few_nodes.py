"""The scores of a handful of nodes in plain numbers: what `_resource_scores` and the balance give as columns.

After every pod that is placed one node is scored again, and an array of one entry costs as much as one of
hundreds: this takes 7 µs where the columns take 30. It gives exactly the same; where amounts are so vast that Go's
whole numbers would overflow it gives up (None), and the columns do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import MAX_SCORE, IntArray

if TYPE_CHECKING:
    from bayplan.plugins._resource_scores import Usage

#: Up to this many nodes are worked out here.
FEW: Final = 8
#: Up to here, amounts times 100 are exact in both kinds of numbers.
_VAST: Final = 2**46
_HALF: Final = MAX_SCORE // 2


class _Plain(NamedTuple):
    """A Usage as lists."""

    weight: int
    requested: list[int]
    allocated: list[int]
    allocatable: list[int]


def allocation_scores(usages: Sequence[Usage], n_nodes: int, *, least: bool) -> IntArray | None:
    """LeastAllocated or MostAllocated: the weighted mean of the share of each resource that is free, or in use."""
    columns = _plain(usages)
    if columns is None:
        return None
    scores = []
    for i in range(n_nodes):
        total = weights = 0
        for column in columns:
            capacity = column.allocatable[i]
            if capacity:
                used = min(column.requested[i], capacity)
                total += (capacity - used if least else used) * MAX_SCORE // capacity * column.weight
                weights += column.weight
        scores.append(total // max(weights, 1))
    return np.array(scores, dtype=np.int64)


def balance_scores(usages: Sequence[Usage], n_nodes: int) -> IntArray | None:
    """By how much the pod changes the balance of a node."""
    columns = _plain(usages)
    if columns is None:
        return None
    scores = []
    for i in range(n_nodes):
        offered = [column for column in columns if column.allocatable[i]]
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


def _plain(usages: Sequence[Usage]) -> list[_Plain] | None:
    """The amounts as lists; None where one is vast or negative."""
    columns = [
        _Plain(usage.weight, usage.requested.tolist(), usage.allocated.tolist(), usage.allocatable.tolist())
        for usage in usages
    ]
    for column in columns:
        for amounts in (column.requested, column.allocated, column.allocatable):
            if min(amounts) < 0 or max(amounts) >= _VAST:
                return None
    return columns
