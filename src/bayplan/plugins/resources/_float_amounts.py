"""Resource amounts of nodes in float64, prepared for pods without cached scores.

Such a pod is compared with every node. Integers are slow to divide and must be checked for overflow. Below 2^45,
amounts are exact in float64 even times 100, and so are their truncated quotients (see
`_resource_scores.quotient`). So amounts are converted and checked when they change, not for every pod. The results
are exactly those of integers. If an amount is too large or negative, or a node does not offer a resource,
`float_amounts` returns None and integers are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.framework import MAX_SCORE, FloatArray
from bayplan.model import CPU, MEMORY, PODS
from bayplan.plugins.resources._few_nodes import FEW, few_evenness
from bayplan.plugins.resources._resource_scores import evenness

if TYPE_CHECKING:
    from bayplan.framework import NodeTable

#: For fewer nodes than this, out of all nodes, it does not pay off.
MANY: Final = 1024
#: Amounts from here on are too large.
_TOO_LARGE: Final = 2**45
_HALF: Final = MAX_SCORE // 2
#: Kinds of rows, each with one row per resource.
_N_KINDS: Final = 4
_SPARE, _FREE, _REQUESTED, _ALLOCATABLE = range(_N_KINDS)


class FloatAmounts:
    """Some resources on all nodes of a table."""

    __slots__ = ("_least", "_names", "_rows")

    def __init__(self, names: Sequence[str], rows: FloatArray, least: FloatArray) -> None:
        self._names = names
        #: float64, shape (n_rows, n_nodes). For each resource: allocatable minus non-zero requested, times 100;
        #: free; requested; allocatable. Then two rows: for how many pods there is room, and the evenness of usage
        #: minus 50.
        self._rows = rows
        #: For each row, a lower bound over all nodes.
        self._least = least

    def _wanted(self, requests: Mapping[str, int]) -> list[int] | None:
        """The request for each resource; None if one is too large or negative."""
        wanted = [requests.get(name, 0) for name in self._names]
        return None if min(wanted) < 0 or max(wanted) >= _TOO_LARGE else wanted

    def leave_room(self, name: str, request: int) -> bool:
        """Whether every node has that much of a resource free; False means that it is not certain."""
        if name not in self._names:
            return False
        return request <= float(self._least[_FREE * len(self._names) + self._names.index(name)])

    @property
    def leave_room_for_a_pod(self) -> bool:
        """Whether every node has room for another pod; False means that it is not certain."""
        return float(self._least[-2]) > 0

    def allocation_scores(
        self, requests: Mapping[str, int], weights: Sequence[int], *, least: bool
    ) -> NDArray[np.int32] | None:
        """LeastAllocated or MostAllocated: the weighted mean of the share of each resource that is free, or in
        use."""
        wanted = self._wanted(requests)
        if wanted is None:
            return None
        share = np.empty(self._rows.shape[1])
        totals = np.empty(0, dtype=np.int32)
        for i, amount in enumerate(wanted):
            self._share(i, amount, share, least=least)
            scores = share.astype(np.int32)
            if weights[i] != 1:
                scores *= weights[i]
            totals = np.add(totals, scores, out=totals) if i else scores
        if sum(weights) == 2:
            totals >>= 1  # the same as below, and faster
        else:
            totals //= sum(weights)
        return totals

    def _share(self, resource: int, wanted: int, share: FloatArray, *, least: bool) -> None:
        """Write to *share* the percentage of each node's resource that would be free, or in use."""
        n_resources = len(self._names)
        np.subtract(self._rows[_SPARE * n_resources + resource], float(MAX_SCORE * wanted), out=share)
        if float(self._least[_SPARE * n_resources + resource]) < MAX_SCORE * wanted:
            np.maximum(share, 0.0, out=share)
        allocatable = self._rows[_ALLOCATABLE * n_resources + resource]
        if not least:
            np.subtract(allocatable * MAX_SCORE, share, out=share)
        share /= allocatable

    def balance_scores(self, requests: Mapping[str, int]) -> NDArray[np.int32] | None:
        """By how much the pod changes the balance of each node; 75 is no change."""
        wanted = self._wanted(requests)
        if wanted is None:
            return None
        change = evenness([self._fraction(i, amount) for i, amount in enumerate(wanted)])
        change -= self._rows[-1]
        change *= 0.5
        scores = change.astype(np.int32)  # truncates towards zero, as Go's division by two
        scores += _HALF
        return scores

    def _fraction(self, resource: int, wanted: int) -> FloatArray:
        """How much of each node's resource would be in use, from 0 to 1."""
        n_resources = len(self._names)
        fraction: FloatArray = self._rows[_REQUESTED * n_resources + resource] + float(wanted)
        fraction /= self._rows[_ALLOCATABLE * n_resources + resource]
        if float(self._least[_FREE * n_resources + resource]) < wanted:
            np.minimum(fraction, 1.0, out=fraction)
        return fraction


def float_amounts(nodes: NodeTable, names: Sequence[str]) -> FloatAmounts | None:
    """The amounts of two or more resources; None if some cannot be used, or if it does not pay off."""
    if len(names) < 2 or not (nodes.is_whole or len(nodes) > MANY):
        return None
    prepared = nodes.derived(
        ("float amounts", *names),
        lambda part: _prepare(part, names),
        lambda table, position: _prepare_one(table.amounts_at(position, names)),
    )
    if isnan(prepared.least[-1]):
        return None  # then every row has NaN
    return FloatAmounts(names, prepared.columns, prepared.least)


def _prepare(nodes: NodeTable, names: Sequence[str]) -> FloatArray:
    """The rows of `FloatAmounts`; NaN in all of them for a node whose amounts cannot be used."""
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
    """The rows, from the allowed number of pods, the number of pods, and three amounts per resource."""
    nonzero, requested, allocatable = amounts[2::3], amounts[3::3], amounts[4::3]
    rows = np.concatenate(
        [
            (allocatable - nonzero) * MAX_SCORE,
            allocatable - requested,
            requested,
            allocatable,
            amounts[:1] - amounts[1:2],
            amounts[:1],  # placeholder for the last row
        ]
    )
    is_unusable = ((amounts[2:] < 0) | (amounts[2:] >= _TOO_LARGE)).any(axis=0) | (allocatable == 0).any(axis=0)
    rows[:, is_unusable] = np.nan
    n_resources = len(nonzero)
    shares = rows[_REQUESTED * n_resources : _ALLOCATABLE * n_resources] / rows[_ALLOCATABLE * n_resources : -2]
    rows[-1] = evenness(np.minimum(shares, 1.0)) - _HALF
    return rows


def _prepare_one(row: Sequence[int]) -> list[float]:
    """The same for one node, in Python numbers."""
    amounts = row[2:]
    nonzero, requested, allocatable = amounts[::3], amounts[1::3], amounts[2::3]
    if min(amounts) < 0 or max(amounts) >= _TOO_LARGE or 0 in allocatable:
        return [np.nan] * (_N_KINDS * len(nonzero) + 2)
    spare = [MAX_SCORE * (offered - nonzero[i]) for i, offered in enumerate(allocatable)]
    free = [offered - requested[i] for i, offered in enumerate(allocatable)]
    shares = [min(requested[i] / offered, 1.0) for i, offered in enumerate(allocatable)]
    return [*spare, *free, *requested, *allocatable, row[0] - row[1], few_evenness(shares) - _HALF]
