"""Scores of any size brought into 0 … 100: the lowest becomes 0, the highest 100."""

from __future__ import annotations

import numpy as np

from bayplan.framework import MAX_SCORE, IntArray


def stretched(scores: IntArray) -> IntArray:
    """Equal scores become 0. In 64 bits, wrapping and cutting off as Go does."""
    lowest, highest = scores.min(), scores.max()
    span = highest - lowest
    if not span:
        return np.zeros_like(scores)
    return truncated((scores - lowest) * MAX_SCORE, span)


def truncated(numerators: IntArray, divisor: int | np.int64) -> IntArray:
    """Quotients rounded towards zero."""
    quotients: IntArray = numerators // divisor
    quotients += (quotients < 0) & (numerators % divisor != 0)
    return quotients
