"""Node labels as columns: for each label key in use, a column of value numbers.

In: the nodes by row. Out: columns of labels, topology domains, and masks of the nodes that a selector matches.
Selectors are evaluated over all nodes at once; the masks are cached until the labels of a node change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cache.columns import Column, ColumnGroup
from bayplan.framework import BoolArray, Domains
from bayplan.model import NodeTerm, Requirement, Selector
from bayplan.model.read_only import ReadOnlyList

if TYPE_CHECKING:
    from bayplan.model import LazyErrorNodeSelector, Node

#: So many masks are cached; beyond that the oldest one is dropped.
MAX_MASKS: Final = 4096


class LabelValues:
    """One label key: a number for every value seen, and the column of these numbers (−1: absent)."""

    __slots__ = ("_numbers", "column", "values")

    def __init__(self, capacity: int) -> None:
        #: Plugins see it, and must not write to it.
        self.values: list[str] = ReadOnlyList()
        self._numbers: dict[str, int] = {}
        self.column = Column(capacity, np.int32, fill=-1)

    def set(self, row: int, value: str | None) -> None:
        if value is None:
            self.column.data[row] = -1
            return
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            list.append(self.values, value)
        self.column.data[row] = number

    def domains(self, n_nodes: int) -> Domains:
        """The nodes grouped by value. Values that no node has any more are not numbered."""
        codes: NDArray[np.int32] = self.column.data[:n_nodes]
        sizes = np.bincount(codes + 1, minlength=len(self.values) + 1)
        n_domains = int(np.count_nonzero(sizes[1:]))
        is_node = n_domains == n_nodes
        numbers = np.append(np.cumsum(sizes[1:] > 0) - 1, n_domains)  # −1, absent, picks the last entry
        of_node = np.arange(n_nodes) if is_node else numbers[codes]
        missing = codes < 0 if sizes[0] and not is_node else None
        for shown in (of_node, missing):
            if shown is not None:
                shown.flags.writeable = False
        return Domains(of_node, n_domains, missing, is_node=is_node)

    def accepted_by(self, requirement: Requirement) -> BoolArray:
        """Which value numbers meet *requirement*; the last entry is for an absent label."""
        accepted = np.zeros(len(self.values) + 1, dtype=np.bool_)
        if requirement.operator in ("In", "NotIn"):
            known = [self._numbers[value] for value in requirement.values if value in self._numbers]
            accepted[known] = True
            if requirement.operator == "NotIn":
                accepted = ~accepted
        elif requirement.operator == "Exists":
            accepted[:-1] = True
        elif requirement.operator == "DoesNotExist":
            accepted[-1] = True
        else:
            key = requirement.key
            accepted[:-1] = [requirement.matches({key: value}) for value in self.values]
        return accepted


class LabelColumns(ColumnGroup):
    """Columns for the keys, and masks for the selectors, that were requested."""

    def __init__(self, capacity: int, nodes: Sequence[Node], row_of: Callable[[str], int | None]) -> None:
        self._capacity = capacity
        self._nodes = nodes
        self._row_of = row_of
        self._by_key: dict[str, LabelValues] = {}
        self._masks: dict[Selector | NodeTerm | LazyErrorNodeSelector, BoolArray] = {}
        self._domains: dict[str, Domains] = {}
        #: Changes when a node's labels change, and when a node is added or removed.
        self.version = 0

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for values in self._by_key.values():
            values.column.grow(capacity)

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        if old is not None and old.labels == node.labels and old.name == node.name:
            return
        for key, values in self._by_key.items():
            values.set(row, node.labels.get(key))
        self._invalidate()

    def clear_node(self, row: int, node: Node) -> None:
        for values in self._by_key.values():
            values.set(row, None)
        self._invalidate()

    def move_row(self, source: int, target: int) -> None:
        for values in self._by_key.values():
            values.column.move(source, target)

    def _invalidate(self) -> None:
        self._masks.clear()
        self._domains.clear()
        self.version += 1

    def key(self, key: str) -> LabelValues:
        """The column of *key*, built on first use."""
        values = self._by_key.get(key)
        if values is None:
            values = self._by_key[key] = LabelValues(self._capacity)
            for row, node in enumerate(self._nodes):
                values.set(row, node.labels.get(key))
        return values

    def domains(self, key: str) -> Domains:
        """The nodes grouped by their value of *key*."""
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = self.key(key).domains(len(self._nodes))
        return domains

    def mask(self, selector: Selector | NodeTerm | LazyErrorNodeSelector) -> BoolArray:
        """Which nodes *selector* accepts; read-only, shape (n_nodes,)."""
        mask = self._masks.get(selector)
        if mask is None:
            mask = self._evaluate(selector)
            mask.flags.writeable = False
            if len(self._masks) >= MAX_MASKS:
                del self._masks[next(iter(self._masks))]
            self._masks[selector] = mask
        return mask

    def _evaluate(self, selector: Selector | NodeTerm | LazyErrorNodeSelector) -> BoolArray:
        if isinstance(selector, Selector):
            return self._evaluate_labels(selector)
        if isinstance(selector, NodeTerm):
            return self._evaluate_term(selector)
        mask = np.zeros(len(self._nodes), dtype=np.bool_)
        for term in selector.terms:
            mask |= self.mask(term)
        return mask

    def _evaluate_labels(self, selector: Selector) -> BoolArray:
        n_nodes = len(self._nodes)
        if selector.requirements is None:
            return np.zeros(n_nodes, dtype=np.bool_)
        mask = np.ones(n_nodes, dtype=np.bool_)
        for requirement in selector.requirements:
            values = self.key(requirement.key)
            numbers: NDArray[np.int32] = values.column.data[:n_nodes]
            mask &= values.accepted_by(requirement)[numbers]  # −1, absent, picks the last entry
        return mask

    def _evaluate_term(self, term: NodeTerm) -> BoolArray:
        n_nodes = len(self._nodes)
        if term.errors:
            return np.zeros(n_nodes, dtype=np.bool_)
        mask = self._evaluate_labels(term.labels)
        for requirement in term.fields:
            mask &= self._evaluate_field(requirement, n_nodes)
        return mask

    def _evaluate_field(self, requirement: Requirement, n_nodes: int) -> BoolArray:
        named = np.zeros(n_nodes, dtype=np.bool_)
        if requirement.key == "metadata.name":
            rows = [row for name in requirement.values if (row := self._row_of(name)) is not None]
            named[rows] = True
        elif "" in requirement.values:
            named[:] = True  # any other field of a node reads as the empty string
        return named if requirement.operator == "In" else ~named
