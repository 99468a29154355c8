"""Whole division to the letter of Go, however it is computed."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from bayplan.plugins._resource_scores import quotient


@st.composite
def divisions(draw: st.DrawFn) -> tuple[int, int]:
    """An amount times 100 and a capacity at least as large as the amount, of any size that does not overflow."""
    capacity = draw(st.integers(1, draw(st.sampled_from([10**3, 2**45, 2**56]))))
    return draw(st.integers(-capacity, capacity)) * 100, capacity


@given(st.lists(divisions(), min_size=1, max_size=5))
@example([((2**45 - 2) * 100, 2**45 - 1)])
@example([((2**45 - 1) * 100, 2**45 + 1)])
@example([(-100, 3), (-300, 3)])
def test_quotients_are_cut_towards_zero(pairs: list[tuple[int, int]]) -> None:
    """Small capacities go through floating point, large ones through whole numbers: both are exact."""
    numerators, divisors = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    expected = [(abs(n) // d) * (1 if n >= 0 else -1) for n, d in pairs]
    assert quotient(numerators, divisors).tolist() == expected
