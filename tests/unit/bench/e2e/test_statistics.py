"""Medians, percentiles, and ratios of pairs."""

from __future__ import annotations

import pytest
from bench.e2e import aims
from bench.e2e.plan import Contestant
from bench.e2e.statistics import Spread, percentile, ratio, spread
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.bench.e2e.builders import BAYPLAN, KUBE, make_phase


def test_spread_is_median_and_range() -> None:
    """The median of an even number of values is the middle of the two middle ones."""
    assert Spread.of([4, 1, 3, 2]) == Spread(2.5, 1, 4, 4)
    assert Spread.of([]) is None


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(50, 5), (99, 10), (100, 10), (10, 1), (1, 1)],
    ids=["the middle", "nearly all", "all", "a tenth", "less than one value"],
)
def test_percentile_is_nearest_rank(percent: float, expected: float) -> None:
    """The smallest value that so many percent do not exceed, of 1 to 10."""
    assert percentile(list(range(10, 0, -1)), percent) == expected


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.1, 100))
def test_enough_values_are_within_the_percentile(values: list[float], percent: float) -> None:
    """So many percent of the values are no larger than their percentile, and it is one of them."""
    found = percentile(values, percent)

    assert found in values
    assert sum(value <= found for value in values) >= percent / 100 * len(values) - 1e-9


def test_spread_is_of_one_scheduler() -> None:
    """The figures of the others do not count."""
    phases = [make_phase(KUBE, 0, peak_mb=10), make_phase(KUBE, 1, peak_mb=30), make_phase(BAYPLAN, 0, peak_mb=99)]

    assert spread(phases, KUBE, aims.memory) == Spread(20, 10, 30, 2)
    assert spread(phases, Contestant.NULL, aims.memory) is None


def test_ratio_is_median_of_pairs() -> None:
    """Each Bayplan is compared with the kube-scheduler beside it, not with the median of all of them."""
    figures = {0: (1.0, 4.0), 1: (2.0, 4.0), 2: (9.0, 10.0)}
    phases = [
        make_phase(who, pair, scheduler_ms=value)
        for pair, (ours, theirs) in figures.items()
        for who, value in ((BAYPLAN, ours), (KUBE, theirs))
    ]

    assert ratio(phases, aims.scheduler_cpu) == Spread(0.5, 0.25, 0.9, 3)


@pytest.mark.parametrize(
    "phases",
    [
        pytest.param([make_phase(BAYPLAN, 0), make_phase(KUBE, 1)], id="nobody in the same pair"),
        pytest.param([make_phase(BAYPLAN, 0), make_phase(KUBE, 0)], id="nothing measured of the other"),
    ],
)
def test_incomplete_pairs_have_no_ratio(phases: list[object]) -> None:
    """A run that was interrupted is reported without them."""
    assert ratio(phases, aims.scheduler_cpu) is None  # type: ignore[arg-type]
