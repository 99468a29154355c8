"""Scales plugin scores from 0..100 to an extender's 0..10, and describes the loss.

A scheduler multiplies an extender's score by ten again, so steps in between are lost: nodes whose scores differ by
less than ten points may become equal, but never change order.
"""

from __future__ import annotations

from bayplan.framework import MAX_SCORE, IntArray
from bayplan.framework.extenders import MAX_EXTENDER_SCORE


def scaled(totals: IntArray, *, highest: int, top: int = MAX_EXTENDER_SCORE) -> IntArray:
    """*totals*, at most *highest*, scaled to 0..*top*; halves are rounded up."""
    if highest <= 0:
        return totals * 0
    return (2 * totals * top + highest) // (2 * highest)


def describe_loss(*, top: int = MAX_EXTENDER_SCORE) -> str:
    """A warning for the user who starts the extender."""
    if top >= MAX_SCORE:
        return f"scores go out as 0..{top}, nothing is lost; a scheduler counts each point {MAX_SCORE // 10} times"
    step = MAX_SCORE // top
    half = step // 2
    return (
        f"scores 0..{MAX_SCORE} go out as 0..{top}: 0..{half - 1} become 0, {half}..{half + step - 1} become 1, "
        f"and so on; nodes less than {step} points apart can come out equal, never in another order"
    )
