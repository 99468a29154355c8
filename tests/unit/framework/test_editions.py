"""Editions: whoever holds one sees the column of its time, whatever is written later."""

from __future__ import annotations

import gc
import weakref

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayplan.framework.editions import Edition, LiveColumn, read_column

N: int = 6

#: Where to write what; the same place twice in one change is not asked for, as rows are distinct.
changes = st.lists(st.dictionaries(st.integers(0, N - 1), st.integers(-5, 5), max_size=N), max_size=12)


@given(changes)
def test_every_edition_is_the_column_of_its_time(sequence: list[dict[int, int]]) -> None:
    """All of them are read after all changes, so that nothing can have been noted down meanwhile."""
    column = LiveColumn(np.arange(N))
    held: list[tuple[Edition, list[int]]] = [(column.edition, column.data.tolist())]
    for change in sequence:
        before = column.data.copy()
        positions = np.array(list(change), dtype=np.int64)
        overwritten = column.change(positions, np.array(list(change.values()), dtype=np.int64))
        assert overwritten.tolist() == before[positions].tolist()
        held.append((column.edition, column.data.tolist()))
    assert [edition.array().tolist() for edition, _ in held] == [then for _, then in held]


def test_array_is_nobody_elses() -> None:
    """What was read of an edition can be written to without harm."""
    column = LiveColumn(np.arange(N))
    column.edition.array()[:] = 9
    assert column.data.tolist() == read_column(column.edition).tolist() == list(range(N))


def test_nothing_is_held_for_nobody() -> None:
    """An edition that nobody holds goes at once with what was overwritten, without the garbage collector."""
    column = LiveColumn(np.arange(N))
    gc.disable()
    try:
        overwritten = weakref.ref(column.change(np.array([1]), np.array([7])))
        assert overwritten() is None
        first = column.edition
        held = weakref.ref(column.change(np.array([1]), np.array([8])))
        assert held() is not None
        assert first.array()[1] == 7
        del first
        assert held() is None
    finally:
        gc.enable()
