"""Boards: totals and leaders that are brought up to date equal those that are worked out anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cycle.board import FEW, SMALL, Board, EvenScores, FixedScores, KeptScores, Leaders, Level
from bayplan.framework.editions import LiveColumn
from bayplan.framework.outcomes import FreshScores, highest
from bayplan.testing import Harness, make_node

N = FEW + 4
NODES = Harness(nodes=[make_node(f"n{i}") for i in range(N)]).scheduler.cache.snapshot().nodes

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


@given(columns, st.lists(st.booleans(), min_size=N, max_size=N).filter(any))
def test_best_of_some_nodes(entries: list[int], chosen: list[bool]) -> None:
    """The highest totals among the nodes that count, in order, be the highest of all among them or not."""
    scores, mask = np.array(entries), np.array(chosen)
    board = Board(NODES, [FixedScores("key", FreshScores(scores, scores, scores, weight=1))])
    highest_chosen = max(entry for entry, is_chosen in zip(entries, chosen, strict=True) if is_chosen)
    expected = [i for i in range(N) if chosen[i] and entries[i] == highest_chosen]
    assert board.best_of(mask).tolist() == expected


@pytest.mark.parametrize(
    ("even", "has_column", "level"),
    [
        ([100, 0, 300], False, 400),
        ([100], True, None),
        ([SMALL - 2, 1], False, SMALL - 1),
        ([SMALL - 1, 1], False, None),
        ([2**60], False, None),
    ],
    ids=["all the same", "one that differs", "just small enough", "too large", "far too large"],
)
def test_level_of_all_totals(even: list[int], has_column: bool, level: int | None) -> None:
    """Known where all scores are the same for all nodes, and where 32 bits leave room for others on top."""
    column = np.arange(N)
    scores: list[KeptScores] = [EvenScores(i, Level(1, 1, weighted, 1), N) for i, weighted in enumerate(even)]
    if has_column:
        scores.append(FixedScores("key", FreshScores(column, column, column, weight=1)))
    board = Board(NODES, scores)
    assert board.level == level
    assert board.totals.data.tolist() == [sum(even) + i * has_column for i in range(N)]
    assert level is None or (board.totals.data.astype(np.int32) == level).all()
