"""Medians, spreads and ratios for the report."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bench.e2e.plan import Contestant
from bench.e2e.record import Phase

Figure = Callable[[Phase], float]


class Spread(NamedTuple):
    """The median, minimum and maximum of some figures."""

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """None if there are no values."""
        listed = sorted(values)
        if not listed:
            return None
        return cls(statistics.median(listed), listed[0], listed[-1], len(listed))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least this percentage of the values does not exceed."""
    ranked = sorted(values)
    return ranked[max(math.ceil(percent / 100 * len(ranked)), 1) - 1]


def spread(phases: Iterable[Phase], who: Contestant, figure: Figure) -> Spread | None:
    """The spread of a figure over the phases of one scheduler."""
    return Spread.of(figure(phase) for phase in phases if phase.step.scheduler is who)


def ratio(phases: Iterable[Phase], figure: Figure) -> Spread | None:
    """The ratio of Bayplan's figure to kube-scheduler's, over all complete pairs."""
    by_pair: dict[int, dict[Contestant, float]] = {}
    for phase in phases:
        by_pair.setdefault(phase.step.pair, {})[phase.step.scheduler] = figure(phase)
    return Spread.of(
        pair[Contestant.BAYPLAN] / pair[Contestant.KUBE]
        for pair in by_pair.values()
        if Contestant.BAYPLAN in pair and pair.get(Contestant.KUBE)
    )
