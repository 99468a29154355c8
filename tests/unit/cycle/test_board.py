"""Boards: totals and leaders that are brought up to date equal those that are worked out anew."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cycle.board import FEW, Leaders
from bayplan.framework.editions import LiveColumn
from bayplan.framework.outcomes import highest

N = FEW + 4

columns = st.lists(st.integers(0, 3), min_size=N, max_size=N)
changes = st.lists(st.dictionaries(st.integers(0, N - 1), st.integers(0, 4), min_size=1, max_size=N), max_size=15)


@given(columns, changes, st.lists(st.booleans(), min_size=15, max_size=15))
def test_leaders_are_the_highest(
    entries: list[int], sequence: list[dict[int, int]], looked_at: list[bool]
) -> None:
    """After any changes, whether somebody looked between them or not."""
    column = LiveColumn(np.array(entries))
    leaders = Leaders(column.data)
    for change, is_looked_at in zip(sequence, looked_at, strict=False):
        positions, values = np.array(list(change)), np.array(list(change.values()))
        leaders.change(positions, column.change(positions, values), values)
        if is_looked_at:
            assert list(leaders.positions()) == highest(column.data).tolist()
    assert list(leaders.positions()) == np.flatnonzero(column.data == column.data.max()).tolist()
