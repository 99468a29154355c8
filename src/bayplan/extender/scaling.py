"""Scores of plugins, 0 to 100, as an extender gives them: 0 to 10, and what is lost on the way.

A scheduler multiplies an extender's score by ten again, so the steps between are gone: nodes that a plugin tells
apart by less than ten points may come out equal, and never the other way round.
"""

from __future__ import annotations

from typing import Final

from bayplan.framework import MAX_SCORE, IntArray
from bayplan.framework.extenders import MAX_EXTENDER_SCORE

#: A scheduler takes any number, so the whole range can be given; each point then counts ten times as much.
FULL_RANGE: Final = MAX_SCORE


def scaled(totals: IntArray, *, highest: int, top: int = MAX_EXTENDER_SCORE) -> IntArray:
    """*totals*, of which none is above *highest*, in 0 … *top*; halves are rounded up."""
    if highest <= 0:
        return totals * 0
    return (2 * totals * top + highest) // (2 * highest)


def describe_loss(*, top: int = MAX_EXTENDER_SCORE) -> str:
    """For whoever starts the extender."""
    if top >= MAX_SCORE:
        return f"scores go out as 0..{top}, nothing is lost; a scheduler counts each point {MAX_SCORE // 10} times"
    step = MAX_SCORE // top
    half = step // 2
    return (
        f"scores 0..{MAX_SCORE} go out as 0..{top}: 0..{half - 1} become 0, {half}..{half + step - 1} become 1, "
        f"and so on; nodes less than {step} points apart can come out equal, never in another order"
    )
