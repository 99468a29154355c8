"""The change log: which rows changed since somebody last looked.

Kept answers (see `cycle.kept`) and derived columns are refreshed for the rows that changed, and not worked out
anew. Three logs, because most answers depend on the node object alone, pods come and go far more often than nodes
change, and every pod that came is shown again by the watch, which changes no amount.
"""

from __future__ import annotations

import numpy as np

from bayplan.framework import IntArray

#: A reader further behind than this gets "everything changed"; so the log stays short.
MAX_LENGTH = 8192
#: When more than this share of the rows changed, working out all of them is cheaper.
REFRESH_SHARE = 0.25


class ChangeLog:
    """Rows in the order in which they changed; a position in it is what a reader remembers."""

    __slots__ = ("_answer", "_asked", "_rows", "_start", "position")

    def __init__(self) -> None:
        self._rows: list[int] = []
        #: The position of the first entry still there.
        self._start = 0
        #: Where the log ends now.
        self.position = 0
        self._asked = (-1, -1)
        self._answer: IntArray = np.empty(0, dtype=np.int64)

    def note(self, row: int) -> None:
        self._rows.append(row)
        self.position += 1
        if len(self._rows) > MAX_LENGTH:
            half = MAX_LENGTH // 2
            del self._rows[:half]
            self._start += half

    def forget(self) -> None:
        """Rows were renumbered: every reader starts over."""
        self.position += 1
        self._start = self.position
        self._rows.clear()

    def since(self, position: int) -> IntArray | None:
        """The distinct rows noted since *position*, in no order; None if that is too far back."""
        if position < self._start:
            return None
        if self._asked != (position, self.position):
            # Several answers are refreshed from the same position in one cycle.
            tail = set(self._rows[position - self._start :])
            self._asked = position, self.position
            self._answer = np.fromiter(tail, dtype=np.int64, count=len(tail))
        return self._answer

    def only_since(self, position: int) -> int:
        """The row, if a single one was noted since *position*; −1 if it was another number of them."""
        is_single = position == self.position - 1 and position >= self._start
        return self._rows[-1] if is_single else -1

    def few_since(self, position: int, n_rows: int) -> IntArray | None:
        """The same where it pays to refresh them alone; None if all of the *n_rows* are to be worked out."""
        rows = self.since(position)
        return rows if rows is not None and len(rows) <= n_rows * REFRESH_SHARE else None
