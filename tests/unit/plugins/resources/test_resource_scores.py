"""Whole division to the letter of Go, however it is computed."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bayplan.config.args.resources import ScoringStrategy
from bayplan.plugins.resources._resource_scores import ResourceUsage, Strategy, quotient, strategy_of


@st.composite
def divisions(draw: st.DrawFn) -> tuple[int, int]:
    """An amount times 100 and a capacity at least as large as the amount; or anything, as where sums wrapped."""
    capacity = draw(st.integers(1, draw(st.sampled_from([10**3, 2**45, 2**56]))))
    if draw(st.booleans()):
        return draw(st.integers(-(2**63), 2**63 - 1)), draw(st.sampled_from([capacity, 2**63 - 1, -capacity]))
    return draw(st.integers(-capacity, capacity)) * 100, capacity


@given(st.lists(divisions(), min_size=1, max_size=5))
@example([((2**45 - 2) * 100, 2**45 - 1)])
@example([((2**45 - 1) * 100, 2**45 + 1)])
@example([(2**52 - 1, 1), (2**52 - 1, 2), (2**52 - 1, 3), (1, 2**63 - 1)])
@example([(2**52, 3), (2**63 - 1, 1), (-(2**63), 7)])
@example([(-100, 3), (-300, 3)])
def test_quotients_are_cut_towards_zero(pairs: list[tuple[int, int]]) -> None:
    """Small numbers go through floating point, large ones through whole numbers: both are exact."""
    numerators, divisors = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    expected = [(abs(n) // abs(d)) * (1 if (n >= 0) == (d > 0) else -1) for n, d in pairs]
    assume(2**63 not in expected)
    assert quotient(numerators, divisors).tolist() == expected


# --- sums that wrapped around ---------------------------------------------------------------------------

LOWEST = -(2**63)


def usage(requested: int, capacity: int) -> ResourceUsage:
    column = np.array([requested], dtype=np.int64)
    return ResourceUsage(1, column, column, np.array([capacity], dtype=np.int64))


def scoring(kind: str) -> Strategy:
    shape = {"shape": [{"utilization": 0, "score": 2}, {"utilization": 100, "score": 10}]}
    more = {"requestedToCapacityRatio": shape} if kind == "RequestedToCapacityRatio" else {}
    return strategy_of(msgspec.convert({"type": kind, **more}, ScoringStrategy))


@pytest.mark.parametrize(
    ("kind", "requested", "capacity", "score"),
    [
        # Worked out by Go: (capacity - requested) * 100 / capacity, and so on, in int64.
        ("LeastAllocated", LOWEST + 209715199, 34359738368, 99),
        ("LeastAllocated", -(2**62), 2**33, 100),
        ("MostAllocated", LOWEST + 209715199, 34359738368, 0),
        ("MostAllocated", LOWEST + 2**20, 1000, 104857),
        ("RequestedToCapacityRatio", LOWEST + 2**20, 1000, 100),
        ("RequestedToCapacityRatio", -1000, 1000, 20),
        ("RequestedToCapacityRatio", 2**63 - 1, 2**62, 100),
        ("RequestedToCapacityRatio", 500, 1000, 60),
    ],
)
def test_wrapped_requests(kind: str, requested: int, capacity: int, score: int) -> None:
    """Scores follow Go's arithmetic to the end, be they out of range; a shape is level outside of its points."""
    assert scoring(kind)([usage(requested, capacity)], 1).tolist() == [score]
