"""Min-max normalization: scales scores of any size so that the lowest is 0 and the highest 100."""

from __future__ import annotations

import numpy as np

from bayplan.framework import MAX_SCORE, IntArray


def min_max_normalize(scores: IntArray) -> IntArray:
    """Equal scores become 0. 64-bit arithmetic, with wrap-around and truncation as in Go."""
    lowest, highest = scores.min(), scores.max()
    span = highest - lowest
    if not span:
        return np.zeros_like(scores)
    return truncated_quotients((scores - lowest) * MAX_SCORE, span)


def truncated_quotients(numerators: IntArray, divisor: int | np.int64) -> IntArray:
    """Quotients rounded towards zero."""
    quotients: IntArray = numerators // divisor
    quotients += (quotients < 0) & (numerators % divisor != 0)
    return quotients
