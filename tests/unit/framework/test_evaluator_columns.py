"""ColumnVersion: reads as the column was at its time, whatever is written later."""

from __future__ import annotations

import gc
import weakref

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayplan.framework.evaluator import ColumnVersion, VersionedColumn

N: int = 6

#: Position → new entry; the positions of one change are distinct, as rows are.
changes = st.lists(st.dictionaries(st.integers(0, N - 1), st.integers(-5, 5), max_size=N), max_size=12)


@given(changes)
def test_every_version_is_the_column_of_its_time(sequence: list[dict[int, int]]) -> None:
    """All versions are read after all changes."""
    column = VersionedColumn(np.arange(N))
    held: list[tuple[ColumnVersion, list[int]]] = [(column.version, column.data.tolist())]
    for change in sequence:
        before = column.data.copy()
        positions = np.array(list(change), dtype=np.int64)
        overwritten = column.change(positions, np.array(list(change.values()), dtype=np.int64))
        assert overwritten.tolist() == before[positions].tolist()
        held.append((column.version, column.data.tolist()))
    assert [version.array().tolist() for version, _ in held] == [then for _, then in held]


def test_array_is_a_copy() -> None:
    """Writing to the array of a version changes nothing else."""
    column = VersionedColumn(np.arange(N))
    column.version.array()[:] = 9
    assert column.data.tolist() == column.version.array().tolist() == list(range(N))


def test_unused_versions_are_freed() -> None:
    """A version without references is freed at once with its entries, without the garbage collector."""
    column = VersionedColumn(np.arange(N))
    gc.disable()
    try:
        overwritten = weakref.ref(column.change(np.array([1]), np.array([7])))
        assert overwritten() is None
        first = column.version
        held = weakref.ref(column.change(np.array([1]), np.array([8])))
        assert held() is not None
        assert first.array()[1] == 7
        del first
        assert held() is None
    finally:
        gc.enable()
