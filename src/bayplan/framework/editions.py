"""Columns that change in place while everybody who holds one goes on seeing what it was.

Between two pods a handful of a column's entries change, and every attempt keeps its scores for those who ask about
them later, which few do. So there is one array; whoever holds an `Edition` of it holds what was overwritten since.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from bayplan.framework.nodes import NodeTable
from bayplan.framework.verdict import IntArray, ScoreArray


class Edition:
    """A column as it was at one time."""

    __slots__ = ("_data", "_later", "_overwritten")

    def __init__(self, data: IntArray) -> None:
        #: The column itself as long as this is its latest edition; what follows belongs to the others.
        self._data: IntArray | None = data
        self._later: Edition | None = None
        #: Where the next edition differs, and what had been there.
        self._overwritten: tuple[IntArray, IntArray] | None = None

    def replace(self, later: Edition, positions: IntArray, overwritten: IntArray) -> None:
        """*later* is the latest edition from now on."""
        self._data, self._later, self._overwritten = None, later, (positions, overwritten)

    def array(self) -> IntArray:
        """The entries of that time; a new array."""
        changes = []
        edition = self
        while edition._overwritten is not None and edition._later is not None:
            changes.append(edition._overwritten)
            edition = edition._later
        assert edition._data is not None  # noqa: S101  the latest one has it
        data = edition._data.copy()
        for positions, overwritten in reversed(changes):
            data[positions] = overwritten
        return data


class LiveColumn:
    """A column that changes in place."""

    __slots__ = ("data", "edition")

    def __init__(self, data: IntArray) -> None:
        """*data* is nobody else's from now on."""
        #: As it is now; not to be held.
        self.data = data
        #: The latest; to be held by those who want the column as it is now.
        self.edition = Edition(data)

    def change(self, positions: IntArray, values: IntArray) -> IntArray:
        """Write *values* at *positions*, which nobody changes any more; gives what had been there."""
        overwritten: IntArray = self.data[positions]
        edition = Edition(self.data)
        self.edition.replace(edition, positions, overwritten)
        self.edition = edition
        self.data[positions] = values
        return overwritten


class SelectedEdition:
    """A column of a whole table as it was at one time, for some of its nodes."""

    __slots__ = ("_edition", "_nodes")

    def __init__(self, edition: Edition, nodes: NodeTable) -> None:
        self._edition = edition
        self._nodes = nodes

    def array(self) -> IntArray:
        return self._edition.array()[self._nodes.rows]


#: A column that takes no room of its own.
LightColumn: TypeAlias = Edition | SelectedEdition


def read_column(column: ScoreArray | LightColumn) -> ScoreArray:
    """A column, whichever form it is held in."""
    return column if isinstance(column, np.ndarray) else column.array()
