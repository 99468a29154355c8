"""RowCache: an entry is valid until its row changes; unknown changes drop all entries."""

from __future__ import annotations

import numpy as np

from bayplan.framework import IntArray
from bayplan.framework.row_cache import RowCache, are_same_objects


class Log:
    """A change log with one list of rows per position; None stands for unknown changes."""

    def __init__(self) -> None:
        self.entries: list[list[int] | None] = []

    @property
    def position(self) -> int:
        return len(self.entries)

    def since(self, position: int) -> IntArray | None:
        rows: list[int] = []
        for each in self.entries[position:]:
            if each is None:
                return None
            rows += each
        return np.array(rows, dtype=np.int64)


def test_changed_rows_are_dropped() -> None:
    """Entries of other rows stay, and a changed row without an entry does not matter."""
    log = Log()
    cache: RowCache[str] = RowCache(log)
    cache.current().update({1: "one", 2: "two", 3: "three"})
    assert cache.current() == {1: "one", 2: "two", 3: "three"}
    log.entries += [[2], [9, 3]]
    assert cache.current() == {1: "one"}
    cache.current()[2] = "again"
    assert cache.current() == {1: "one", 2: "again"}


def test_unknown_changes_drop_everything() -> None:
    """As when rows were renumbered."""
    log = Log()
    cache: RowCache[str] = RowCache(log)
    cache.current()[1] = "one"
    log.entries.append(None)
    assert cache.current() == {}


def test_same_objects() -> None:
    """Compared by identity and in order."""
    first, second = [1], [1]
    assert are_same_objects([first, second], [first, second])
    assert not are_same_objects([first], [second])
    assert not are_same_objects([first], [first, second])
    assert are_same_objects((), [])
