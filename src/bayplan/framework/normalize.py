"""Normalising scores the way most plugins do."""

from __future__ import annotations

import numpy as np

from bayplan.framework.answers import MAX_SCORE
from bayplan.framework.verdict import IntArray


def default_normalize(scores: IntArray, *, reverse: bool = False) -> IntArray:
    """Stretch *scores* so that the highest becomes 100; with *reverse*, the highest becomes 0.

    Scores are whole numbers of 0 or more; all zeros stay zeros (100 with *reverse*).
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_SCORE) if reverse else scores
    stretched = MAX_SCORE * scores // highest
    return MAX_SCORE - stretched if reverse else stretched
