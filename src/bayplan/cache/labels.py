"""Labels as numbers: a key that some selector mentions becomes a column of value numbers.

Selectors are evaluated over all nodes at once, by a table of value numbers that match, and the masks are kept
by selector until some node's labels change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.cache.part import Column, Part
from bayplan.framework import BoolArray, Domains
from bayplan.model import NodeTerm, Requirement, Selector

if TYPE_CHECKING:
    from bayplan.model import LazyErrorNodeSelector, Node

#: More selectors than this at a time are not kept; the oldest goes.
MAX_MASKS = 4096


class LabelValues:
    """One label key: the number of every value seen, and the column of numbers (−1: absent)."""

    __slots__ = ("_numbers", "column", "values")

    def __init__(self, capacity: int) -> None:
        self.values: list[str] = []
        self._numbers: dict[str, int] = {}
        self.column = Column(capacity, np.int32, fill=-1)

    def number(self, value: str) -> int:
        """The number of *value*; −2, which no node has, if it was never seen."""
        return self._numbers.get(value, -2)

    def set(self, row: int, value: str | None) -> None:
        if value is None:
            self.column.data[row] = -1
            return
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        self.column.data[row] = number

    def domains(self, n_nodes: int) -> Domains:
        """The nodes grouped by value; values that no node has any more get no number."""
        codes: NDArray[np.int32] = self.column.data[:n_nodes]
        sizes = np.bincount(codes + 1, minlength=len(self.values) + 1)
        n_domains = int(np.count_nonzero(sizes[1:]))
        if n_domains == n_nodes:
            return Domains(np.arange(n_nodes), n_domains, is_node=True)
        numbers = np.append(np.cumsum(sizes[1:] > 0) - 1, n_domains)  # −1, absent, picks the last entry
        return Domains(numbers[codes], n_domains, codes < 0 if sizes[0] else None)

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


class LabelPart(Part):
    """Columns for the keys asked for, and masks for the selectors asked for."""

    def __init__(self, capacity: int, nodes: Sequence[Node], row_of: Callable[[str], int | None]) -> None:
        self._capacity = capacity
        self._nodes = nodes
        self._row_of = row_of
        self._by_key: dict[str, LabelValues] = {}
        self._masks: dict[Selector | NodeTerm | LazyErrorNodeSelector, BoolArray] = {}
        self._domains: dict[str, Domains] = {}
        #: Changes whenever any node's labels, or which nodes there are, did.
        self.generation = 0

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for values in self._by_key.values():
            values.column.grow(capacity)

    def set_node(self, row: int, node: Node, old: Node | None) -> None:
        if old is not None and old.labels == node.labels and old.name == node.name:
            return
        for key, values in self._by_key.items():
            values.set(row, node.labels.get(key))
        self._forget_masks()

    def clear_node(self, row: int, node: Node) -> None:
        for values in self._by_key.values():
            values.set(row, None)
        self._forget_masks()

    def move_row(self, source: int, target: int) -> None:
        for values in self._by_key.values():
            values.column.move(source, target)

    def _forget_masks(self) -> None:
        self._masks.clear()
        self._domains.clear()
        self.generation += 1

    def key(self, key: str) -> LabelValues:
        """The column of *key*, made when first asked for."""
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
