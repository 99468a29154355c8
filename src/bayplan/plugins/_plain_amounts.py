"""Amounts as floating point: what nodes have of some resources, prepared for pods of a kind of their own.

Such a pod is compared with every node. Whole numbers are slow to divide and have to be watched for overflow; below
2^45, amounts are exact in float64 even times 100, and so are their quotients cut to whole numbers (see
`_resource_scores.quotient`). So amounts are converted and looked at when they change, not for every pod. It gives
exactly what whole numbers give; where an amount is vast or negative, or some node does not offer a resource, it
gives up (None), and whole numbers do it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.framework import MAX_SCORE, FloatArray, IntArray
from bayplan.model import CPU, MEMORY, PODS
from bayplan.plugins._few_nodes import FEW, few_evenness
from bayplan.plugins._resource_scores import evenness

if TYPE_CHECKING:
    from bayplan.framework import NodeTable

#: So many nodes out of all there are must be asked about for it to pay.
MANY: Final = 1024
#: Amounts from here on are vast.
_VAST: Final = 2**45
_HALF: Final = MAX_SCORE // 2
#: Lines of one resource, and where to find which.
_PER_RESOURCE: Final = 4
_SPARE, _FREE, _REQUESTED, _ALLOCATABLE = range(_PER_RESOURCE)


class PlainAmounts:
    """Some resources on all nodes of a table."""

    __slots__ = ("_least", "_lines", "_names")

    def __init__(self, names: Sequence[str], lines: FloatArray, least: FloatArray) -> None:
        self._names = names
        #: For each resource, what is allocatable less what is requested with the non-zero defaults, times 100;
        #: what is free; what is requested; what is allocatable. Then for how many pods there is room; and how
        #: evenly the resources are used, less 50.
        self._lines = lines
        #: For each line, a number that no node is below.
        self._least = least

    def leave_room(self, name: str, request: int) -> bool:
        """Whether every node has so much free of a resource; False may still turn out so."""
        if name not in self._names:
            return False
        return request <= float(self._least[_PER_RESOURCE * self._names.index(name) + _FREE])

    @property
    def leave_room_for_a_pod(self) -> bool:
        """Whether no node has as many pods as it may have; False may still turn out so."""
        return float(self._least[-2]) > 0

    def allocation_scores(
        self, requests: Mapping[str, int], weights: Sequence[int], *, least: bool
    ) -> IntArray | None:
        """LeastAllocated or MostAllocated: the weighted mean of the share of each resource that is free, or in
        use."""
        totals: NDArray[np.int32] | None = None
        for i, (name, weight) in enumerate(zip(self._names, weights, strict=True)):
            request = requests.get(name, 0)
            if not 0 <= request < _VAST:
                return None
            first = _PER_RESOURCE * i
            spare, allocatable = self._lines[first + _SPARE], self._lines[first + _ALLOCATABLE]
            share = spare - float(MAX_SCORE * request)
            if self._least[first + _SPARE] < MAX_SCORE * request:
                np.maximum(share, 0.0, out=share)
            if not least:
                np.subtract(allocatable * MAX_SCORE, share, out=share)
            share /= allocatable
            scores = share.astype(np.int32)
            if weight != 1:
                scores *= weight
            totals = scores if totals is None else np.add(totals, scores, out=totals)
        if totals is None:
            return None
        totals //= sum(weights)
        return totals.astype(np.int64)

    def balance_scores(self, requests: Mapping[str, int]) -> IntArray | None:
        """By how much the pod changes the balance of each node: 75 is not at all."""
        fractions = []
        for i, name in enumerate(self._names):
            request = requests.get(name, 0)
            if not 0 <= request < _VAST:
                return None
            first = _PER_RESOURCE * i
            fraction = self._lines[first + _REQUESTED] + float(request)
            fraction /= self._lines[first + _ALLOCATABLE]
            if self._least[first + _FREE] < request:
                np.minimum(fraction, 1.0, out=fraction)
            fractions.append(fraction)
        change = evenness(fractions)
        change -= self._lines[-1]
        change *= 0.5
        scores = change.astype(np.int32)  # Go's division by two cuts towards zero, as this does
        scores += _HALF
        return scores.astype(np.int64)


def plain_amounts(nodes: NodeTable, names: Sequence[str]) -> PlainAmounts | None:
    """The amounts of two or more resources; None where not all of them are plain, or it would not pay."""
    if len(names) < 2 or not (nodes.is_whole or len(nodes) > MANY):
        return None
    prepared = nodes.derived(("plain amounts", *names), lambda part: _prepare(part, names))
    if isnan(prepared.least[-1]):
        return None  # as it is in every line then
    return PlainAmounts(names, prepared.columns, prepared.least)


def _prepare(nodes: NodeTable, names: Sequence[str]) -> FloatArray:
    """The lines of `PlainAmounts`; NaN in all of them where the amounts of a node are not plain."""
    columns = [nodes.allocatable(PODS), nodes.pod_counts()]
    for name in names:
        requested = nodes.requested(name)
        nonzero = nodes.nonzero_requested(name) if name in (CPU, MEMORY) else requested
        columns += [nonzero, requested, nodes.allocatable(name)]
    if len(nodes) <= FEW:
        rows = [_prepare_one(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        return np.array(rows).T
    return _prepare_many(np.array(columns, dtype=np.float64))


def _prepare_many(amounts: FloatArray) -> FloatArray:
    """The lines from room for pods, the number of pods, and three amounts of each resource."""
    nonzero, requested, allocatable = amounts[2::3], amounts[3::3], amounts[4::3]
    lines = np.empty((_PER_RESOURCE * len(nonzero) + 2, amounts.shape[1]))
    lines[_SPARE:-2:_PER_RESOURCE] = (allocatable - nonzero) * MAX_SCORE
    lines[_FREE:-2:_PER_RESOURCE] = allocatable - requested
    lines[_REQUESTED:-2:_PER_RESOURCE] = requested
    lines[_ALLOCATABLE:-2:_PER_RESOURCE] = allocatable
    lines[-2] = amounts[0] - amounts[1]
    is_odd = ((amounts[2:] < 0) | (amounts[2:] >= _VAST)).any(axis=0) | (allocatable == 0).any(axis=0)
    lines[:, is_odd] = np.nan
    shares = lines[_REQUESTED:-2:_PER_RESOURCE] / lines[_ALLOCATABLE:-2:_PER_RESOURCE]
    lines[-1] = evenness(np.minimum(shares, 1.0)) - _HALF
    return lines


def _prepare_one(row: Sequence[int]) -> list[float]:
    """The same of one node, in plain numbers."""
    amounts = row[2:]
    if min(amounts) < 0 or max(amounts) >= _VAST or 0 in amounts[2::3]:
        return [np.nan] * (_PER_RESOURCE * len(amounts) // 3 + 2)
    lines: list[float] = []
    shares = []
    for nonzero, requested, allocatable in zip(amounts[::3], amounts[1::3], amounts[2::3], strict=True):
        lines += [(allocatable - nonzero) * MAX_SCORE, allocatable - requested, requested, allocatable]
        shares.append(min(requested / allocatable, 1.0))
    return [*lines, float(row[0]) - row[1], few_evenness(shares) - _HALF]
