"""RunningTotals: updated totals and maxima equal those that are computed from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.core.running_totals import (
    FEW,
    SMALL,
    CachedScores,
    ConstantScore,
    ConstantScores,
    MaxTracker,
    NodeScores,
    RunningTotals,
)
from bayplan.framework.evaluator import FreshScores, VersionedColumn, highest
from bayplan.testing import Harness, make_node

N = FEW + 4
NODES = Harness(nodes=[make_node(f"n{i}") for i in range(N)]).core.cache.snapshot().nodes

columns = st.lists(st.integers(0, 3), min_size=N, max_size=N)
changes = st.lists(st.dictionaries(st.integers(0, N - 1), st.integers(0, 4), min_size=1, max_size=N), max_size=15)


@given(columns, changes, st.lists(st.booleans(), min_size=15, max_size=15))
def test_tracked_are_the_highest(
    entries: list[int], sequence: list[dict[int, int]], looked_at: list[bool]
) -> None:
    """After any changes, whether the positions are read between them or not."""
    column = VersionedColumn(np.array(entries))
    tracker = MaxTracker(column.data)
    for change, is_looked_at in zip(sequence, looked_at, strict=False):
        positions, values = np.array(list(change)), np.array(list(change.values()))
        tracker.change(positions, column.change(positions, values), values)
        if is_looked_at:
            assert list(tracker.positions()) == highest(column.data).tolist()
    assert list(tracker.positions()) == np.flatnonzero(column.data == column.data.max()).tolist()


@given(columns, st.lists(st.booleans(), min_size=N, max_size=N).filter(any))
def test_best_of_some_nodes(entries: list[int], chosen: list[bool]) -> None:
    """The highest totals among the nodes of a mask, in order, whether or not they include the highest of all."""
    scores, mask = np.array(entries), np.array(chosen)
    running = RunningTotals(NODES, [NodeScores("key", FreshScores(scores, scores, scores, weight=1))])
    highest_chosen = max(entry for entry, is_chosen in zip(entries, chosen, strict=True) if is_chosen)
    expected = [i for i in range(N) if chosen[i] and entries[i] == highest_chosen]
    assert running.best_of(mask).tolist() == expected


@pytest.mark.parametrize(
    ("constants", "has_column", "constant"),
    [
        ([100, 0, 300], False, 400),
        ([100], True, None),
        ([SMALL - 2, 1], False, SMALL - 1),
        ([SMALL - 1, 1], False, None),
        ([2**60], False, None),
    ],
    ids=["all the same", "one that differs", "just small enough", "too large", "far too large"],
)
def test_constant_of_all_totals(constants: list[int], has_column: bool, constant: int | None) -> None:
    """Known if all scores are the same for all nodes, and if other scores can be added in 32 bits."""
    column = np.arange(N)
    scores: list[CachedScores] = [
        ConstantScores(i, ConstantScore(1, 1, weighted, 1), N) for i, weighted in enumerate(constants)
    ]
    if has_column:
        scores.append(NodeScores("key", FreshScores(column, column, column, weight=1)))
    running = RunningTotals(NODES, scores)
    assert running.constant == constant
    assert running.totals.data.tolist() == [sum(constants) + i * has_column for i in range(N)]
    assert constant is None or (running.totals.data.astype(np.int32) == constant).all()
