"""Scores by storage capacity: how much of the volumes, or of the storage pools, the claims of a pod would use.

Volumes that are there are scored by how well they fit. Where there are none, the pools that new volumes come from
are scored by how full they get, as far as their drivers report it. Every storage class counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayplan.config.args.resources import DEFAULT_CAPACITY_SHAPE, UtilizationShapePoint
from bayplan.framework import BoolArray, IntArray
from bayplan.model import QuantityText, parse_value
from bayplan.plugins._utilization_shape import MAX_UTILIZATION, scores_by_utilization

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayplan.plugins.volumes._volume_finder import VolumeSearchResult
    from bayplan.plugins.volumes._volume_matching import Match


class _ClassUsage:
    """The storage of one class on every node; int64, shape (n_nodes,) each."""

    def __init__(self, n_nodes: int) -> None:
        self.requested = np.zeros(n_nodes, dtype=np.int64)
        self.capacity = np.zeros(n_nodes, dtype=np.int64)
        #: Where the class counts.
        self.counts = np.zeros(n_nodes, dtype=np.bool_)


class CapacityScorer:
    """Scores with one shape."""

    def __init__(self, shape: Sequence[UtilizationShapePoint] | None) -> None:
        self._scores = scores_by_utilization(shape or DEFAULT_CAPACITY_SHAPE)

    def scores(self, found: VolumeSearchResult, n_nodes: int) -> IntArray:
        """For nodes on which all claims were found."""
        usage: dict[str, _ClassUsage] = {}
        has_volumes = np.zeros(n_nodes, dtype=np.bool_)
        for match in found.matches:
            has_volumes |= match.found
            _add_volumes(usage, match, n_nodes)
        for claim, where, capacity in found.provisions_by_capacity:
            own = usage.setdefault(claim.storage_class_name, _ClassUsage(n_nodes))
            here = where & (capacity >= 0) & ~has_volumes
            own.requested[here] += _storage(claim.spec.resources.requests)
            own.capacity[here] = capacity[here]
            own.counts |= here
        return self._mean(list(usage.values()), n_nodes)

    def _mean(self, usages: Sequence[_ClassUsage], n_nodes: int) -> IntArray:
        totals = np.zeros(n_nodes, dtype=np.int64)
        n_classes = np.zeros(n_nodes, dtype=np.int64)
        for usage in usages:
            totals += np.where(usage.counts, self._scores[_utilization(usage)], 0)
            n_classes += usage.counts
        counted = np.maximum(n_classes, 1)
        # Rounded, half up; where nothing counts the total is 0.
        rounded: IntArray = (2 * totals + counted) // (2 * counted)
        return rounded


def _add_volumes(usage: dict[str, _ClassUsage], match: Match, n_nodes: int) -> None:
    requested = _storage(match.claim.spec.resources.requests)
    for i in np.unique(match.chosen[match.found]).tolist():
        volume, here = match.volumes[i], match.chosen == i
        own = usage.setdefault(volume.spec.storage_class_name, _ClassUsage(n_nodes))
        own.requested[here] += requested
        own.capacity[here] += _storage(volume.spec.capacity)
        own.counts |= here


def _utilization(usage: _ClassUsage) -> IntArray:
    is_full: BoolArray = (usage.capacity == 0) | (usage.requested > usage.capacity)
    capacity = np.where(usage.capacity == 0, 1, usage.capacity)
    return np.where(is_full, MAX_UTILIZATION, usage.requested * MAX_UTILIZATION // capacity)


def _storage(amounts: Mapping[str, QuantityText]) -> int:
    return parse_value(amounts.get("storage", "0"))
