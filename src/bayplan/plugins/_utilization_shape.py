"""Scores by a configured shape: points of utilization and score, with straight lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import MAX_SCORE, IntArray

if TYPE_CHECKING:
    from bayplan.config.args.resources import UtilizationShapePoint

MAX_UTILIZATION: Final = 100
#: Shape points score up to 10, nodes up to 100.
_SHAPE_SCALE: Final = MAX_SCORE // 10


def scores_by_utilization(shape: Sequence[UtilizationShapePoint]) -> IntArray:
    """The score at every percent: linear between the points, constant outside, truncated to integers."""
    scores = []
    for percent in range(MAX_UTILIZATION + 1):
        after = next((i for i, point in enumerate(shape) if percent <= point.utilization), len(shape))
        if after in (0, len(shape)):
            scores.append(shape[max(0, after - 1)].score * _SHAPE_SCALE)
            continue
        left, right = shape[after - 1], shape[after]
        rise = (right.score - left.score) * _SHAPE_SCALE * (percent - left.utilization)
        scores.append(left.score * _SHAPE_SCALE + int(rise / (right.utilization - left.utilization)))
    return np.array(scores, dtype=np.int64)
