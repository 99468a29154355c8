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

from bayplan.framework import MAX_SCORE, FloatArray
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
#: Kinds of lines, each with a line for every resource.
_N_KINDS: Final = 4
_SPARE, _FREE, _REQUESTED, _ALLOCATABLE = range(_N_KINDS)


class PlainAmounts:
    """Some resources on all nodes of a table."""

    __slots__ = ("_least", "_lines", "_names")

    def __init__(self, names: Sequence[str], lines: FloatArray, least: FloatArray) -> None:
        self._names = names
        #: What is allocatable less what is requested with the non-zero defaults, times 100, a line for each
        #: resource; what is free; what is requested; what is allocatable. Then for how many pods there is room;
        #: and how evenly the resources are used, less 50.
        self._lines = lines
        #: For each line, a number that no node is below.
        self._least = least

    def _wanted(self, requests: Mapping[str, int]) -> list[int] | None:
        """What is requested of each resource; None where that is not plain."""
        wanted = [requests.get(name, 0) for name in self._names]
        return None if min(wanted) < 0 or max(wanted) >= _VAST else wanted

    def leave_room(self, name: str, request: int) -> bool:
        """Whether every node has so much free of a resource; False may still turn out so."""
        if name not in self._names:
            return False
        return request <= float(self._least[_FREE * len(self._names) + self._names.index(name)])

    @property
    def leave_room_for_a_pod(self) -> bool:
        """Whether no node has as many pods as it may have; False may still turn out so."""
        return float(self._least[-2]) > 0

    def allocation_scores(
        self, requests: Mapping[str, int], weights: Sequence[int], *, least: bool
    ) -> NDArray[np.int32] | None:
        """LeastAllocated or MostAllocated: the weighted mean of the share of each resource that is free, or in
        use."""
        wanted = self._wanted(requests)
        if wanted is None:
            return None
        share = np.empty(self._lines.shape[1])
        totals = np.empty(0, dtype=np.int32)
        for i, amount in enumerate(wanted):
            self._share(i, amount, share, least=least)
            scores = share.astype(np.int32)
            if weights[i] != 1:
                scores *= weights[i]
            totals = np.add(totals, scores, out=totals) if i else scores
        if sum(weights) == 2:
            totals >>= 1  # the same as below, and quicker
        else:
            totals //= sum(weights)
        return totals

    def _share(self, resource: int, wanted: int, share: FloatArray, *, least: bool) -> None:
        """Write to *share* how much of each node's resource would be free, or in use, from 0 to 100."""
        n_resources = len(self._names)
        np.subtract(self._lines[_SPARE * n_resources + resource], float(MAX_SCORE * wanted), out=share)
        if float(self._least[_SPARE * n_resources + resource]) < MAX_SCORE * wanted:
            np.maximum(share, 0.0, out=share)
        allocatable = self._lines[_ALLOCATABLE * n_resources + resource]
        if not least:
            np.subtract(allocatable * MAX_SCORE, share, out=share)
        share /= allocatable

    def balance_scores(self, requests: Mapping[str, int]) -> NDArray[np.int32] | None:
        """By how much the pod changes the balance of each node: 75 is not at all."""
        wanted = self._wanted(requests)
        if wanted is None:
            return None
        change = evenness([self._fraction(i, amount) for i, amount in enumerate(wanted)])
        change -= self._lines[-1]
        change *= 0.5
        scores = change.astype(np.int32)  # Go's division by two cuts towards zero, as this does
        scores += _HALF
        return scores

    def _fraction(self, resource: int, wanted: int) -> FloatArray:
        """How much of each node's resource would be in use, from 0 to 1."""
        n_resources = len(self._names)
        fraction: FloatArray = self._lines[_REQUESTED * n_resources + resource] + float(wanted)
        fraction /= self._lines[_ALLOCATABLE * n_resources + resource]
        if float(self._least[_FREE * n_resources + resource]) < wanted:
            np.minimum(fraction, 1.0, out=fraction)
        return fraction


def plain_amounts(nodes: NodeTable, names: Sequence[str]) -> PlainAmounts | None:
    """The amounts of two or more resources; None where not all of them are plain, or it would not pay."""
    if len(names) < 2 or not (nodes.is_whole or len(nodes) > MANY):
        return None
    prepared = nodes.derived(
        ("plain amounts", *names),
        lambda part: _prepare(part, names),
        lambda table, position: _prepare_one(table.amounts_at(position, names)),
    )
    if isnan(prepared.least[-1]):
        return None  # as it is in every line then
    return PlainAmounts(names, prepared.columns, prepared.least)


def _prepare(nodes: NodeTable, names: Sequence[str]) -> FloatArray:
    """The lines of `PlainAmounts`; NaN in all of them where the amounts of a node are not plain."""
    if len(nodes) <= FEW:
        rows = [_prepare_one(nodes.amounts_at(position, names)) for position in range(len(nodes))]
        return np.array(rows, dtype=np.float64).T
    columns = [nodes.allocatable(PODS), nodes.pod_counts()]
    for name in names:
        requested = nodes.requested(name)
        nonzero = nodes.nonzero_requested(name) if name in (CPU, MEMORY) else requested
        columns += [nonzero, requested, nodes.allocatable(name)]
    return _prepare_many(np.array(columns, dtype=np.float64))


def _prepare_many(amounts: FloatArray) -> FloatArray:
    """The lines from room for pods, the number of pods, and three amounts of each resource."""
    nonzero, requested, allocatable = amounts[2::3], amounts[3::3], amounts[4::3]
    lines = np.concatenate(
        [
            (allocatable - nonzero) * MAX_SCORE,
            allocatable - requested,
            requested,
            allocatable,
            amounts[:1] - amounts[1:2],
            amounts[:1],  # a place for the last line
        ]
    )
    is_odd = ((amounts[2:] < 0) | (amounts[2:] >= _VAST)).any(axis=0) | (allocatable == 0).any(axis=0)
    lines[:, is_odd] = np.nan
    n_resources = len(nonzero)
    shares = lines[_REQUESTED * n_resources : _ALLOCATABLE * n_resources] / lines[_ALLOCATABLE * n_resources : -2]
    lines[-1] = evenness(np.minimum(shares, 1.0)) - _HALF
    return lines


def _prepare_one(row: Sequence[int]) -> list[float]:
    """The same of one node, in plain numbers."""
    amounts = row[2:]
    nonzero, requested, allocatable = amounts[::3], amounts[1::3], amounts[2::3]
    if min(amounts) < 0 or max(amounts) >= _VAST or 0 in allocatable:
        return [np.nan] * (_N_KINDS * len(nonzero) + 2)
    spare = [MAX_SCORE * (offered - nonzero[i]) for i, offered in enumerate(allocatable)]
    free = [offered - requested[i] for i, offered in enumerate(allocatable)]
    shares = [min(requested[i] / offered, 1.0) for i, offered in enumerate(allocatable)]
    return [*spare, *free, *requested, *allocatable, row[0] - row[1], few_evenness(shares) - _HALF]
