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
from bayplan.framework import CountClasses

if TYPE_CHECKING:
    from bayplan.framework import Domains, IntArray
    from bayplan.model import Node


class CountColumn(Column):
    """How many there are in each row: int64."""

    __slots__ = ("_classes", "_sums", "total")

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, np.int64)
        #: How many were added by `change`.
        self.total = 0
        #: Domains, what the rows of each have together, and the same array read-only.
        self._sums: list[tuple[Domains, IntArray, IntArray]] = []
        self._classes: list[_Classes] = []

    def change(self, row: int, by: int) -> None:
        self.data[row] += by
        self.total += by
        for domains, sums, _ in self._sums:
            sums[domains.of_node[row]] += by
        for classes in self._classes:
            classes.change(row, by)

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

    def classes(self, domains: Domains) -> CountClasses:
        """What `CountClasses.of` makes of the column now. *domains* are those of all rows."""
        for known in self._classes:
            if known.domains is domains:
                return known.shown()
        made = _Classes(domains, self.data[: len(domains.of_node)])
        self._classes.append(made)
        return made.shown()

    def forget_domains(self) -> None:
        """Rows may be in other domains now."""
        self._sums.clear()
        self._classes.clear()


class _Classes:
    """Rows by count and domain, kept as counts are."""

    __slots__ = ("_now", "domains")

    def __init__(self, domains: Domains, counts: IntArray) -> None:
        self.domains = domains
        self._now = CountClasses.of(counts, domains)

    def change(self, row: int, by: int) -> None:
        classes, sizes = self._now
        before = int(classes[row])
        after = before + by * self.domains.n_entries
        if after >= len(sizes):
            sizes = np.append(sizes, np.zeros(after - len(sizes) + 1, dtype=np.int64))
            self._now = CountClasses(classes, sizes)
        classes[row] = after
        sizes[before] -= 1
        sizes[after] += 1

    def shown(self) -> CountClasses:
        """As it is now, for those who hold on to it."""
        return CountClasses(self._now.classes.copy(), self._now.sizes.copy())


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
