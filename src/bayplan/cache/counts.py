"""Counts by row that are kept by ±1, together with what they add up to in topology domains.

Adding up 5,000 rows for every pod costs more than all else that is done with the sum, and a pod changes the sum of
one domain by one. So a sum that was asked for once is changed with the column from then on, until the labels of a
node change and domains with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cache.part import Column, Part

if TYPE_CHECKING:
    from bayplan.framework import Domains, IntArray
    from bayplan.model import Node


class CountColumn(Column):
    """How many there are in each row: int64."""

    __slots__ = ("_sums", "total")

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, np.int64)
        #: How many were added by `change`.
        self.total = 0
        #: Domains, what the rows of each have together, and the same array read-only.
        self._sums: list[tuple[Domains, IntArray, IntArray]] = []

    def change(self, row: int, by: int) -> None:
        self.data[row] += by
        self.total += by
        for domains, sums, _ in self._sums:
            sums[domains.of_node[row]] += by

    def in_domains(self, domains: Domains) -> IntArray:
        """What `domains.totals` makes of the column, read-only; it shows later changes. *domains* are those of all
        rows."""
        if domains.is_node:
            return self.view(len(domains.of_node))
        for known, _, shown in self._sums:
            if known is domains:
                return shown
        sums = domains.totals(self.data[: len(domains.of_node)])
        shown = sums.view()
        shown.flags.writeable = False
        self._sums.append((domains, sums, shown))
        return shown

    def forget_domains(self) -> None:
        """Rows may be in other domains now."""
        self._sums.clear()


class CountingPart(Part):
    """A part made of such columns."""

    def _counts(self) -> Iterable[CountColumn]:
        """All of them."""
        raise NotImplementedError

    def grow(self, capacity: int) -> None:
        for column in self._counts():
            column.grow(capacity)

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        if old is None or old.labels != node.labels:
            self._forget_domains()

    def clear_node(self, row: int, node: Node) -> None:
        self._forget_domains()

    def _forget_domains(self) -> None:
        for column in self._counts():
            column.forget_domains()

    def move_row(self, source: int, target: int) -> None:
        for column in self._counts():
            column.move(source, target)
