"""Whether a value of one type may stand where another is wanted; type variables are bound on the way.

The bindings grow as an expression is checked. A failed attempt must leave none behind, so attempts work on a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.cel.checking.cel_types import DYN, CelType, Kind

_NULLABLE = (Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP)
_COMPOSED = (Kind.OPAQUE, Kind.LIST, Kind.MAP)


class TypeBindings:
    """Type variable → its type, as far as known."""

    def __init__(self) -> None:
        self._bound: dict[str, CelType] = {}

    def assign(self, wanted: CelType, given: CelType) -> bool:
        """Whether the types agree; binds variables if they do."""
        return self.assign_all((wanted,), (given,))

    def assign_all(self, wanted: Sequence[CelType], given: Sequence[CelType]) -> bool:
        """The same for arguments, all of which must agree."""
        before = self._bound
        self._bound = dict(before)
        if self._agree_all(wanted, given):
            return True
        self._bound = before
        return False

    def bind(self, variable: CelType, cel_type: CelType) -> None:
        """Say what a variable is."""
        self._bound[variable.text] = cel_type

    def resolve(self, cel_type: CelType, *, free_is_dyn: bool = False) -> CelType:
        """The type with its variables replaced, as far as they are bound."""
        bound = self._bound.get(cel_type.text)
        if bound is not None:
            return self.resolve(bound, free_is_dyn=free_is_dyn)
        if cel_type.kind is Kind.PARAMETER:
            return DYN if free_is_dyn else cel_type
        if not cel_type.params:
            return cel_type
        params = (self.resolve(param, free_is_dyn=free_is_dyn) for param in cel_type.params)
        return CelType(cel_type.kind, cel_type.name, *params)

    def _agree_all(self, first: Sequence[CelType], second: Sequence[CelType]) -> bool:
        return len(first) == len(second) and all(map(self._agree, first, second))

    def _agree(self, first: CelType, second: CelType) -> bool:
        if second.kind is Kind.PARAMETER:
            valid, was_bound = self._substitute(first, second)
            if valid or was_bound:
                return valid
        if first.kind is Kind.PARAMETER:
            return self._substitute(second, first)[0]
        if first.is_dyn_or_error or second.is_dyn_or_error:
            return True
        if first.kind is Kind.NULL or second.kind is Kind.NULL:
            other = second if first.kind is Kind.NULL else first
            return other.kind in _NULLABLE or other.kind is Kind.NULL
        if first.kind is Kind.TYPE:
            return second.kind is Kind.TYPE
        if first.kind in _COMPOSED:
            same = first.kind is second.kind and first.name == second.name
            return same and self._agree_all(first.params, second.params)
        return first == second

    def _substitute(self, cel_type: CelType, variable: CelType) -> tuple[bool, bool]:
        """Whether a type may be what a variable is, and whether the variable was bound before."""
        if cel_type == variable:
            return True, True
        bound = self._bound.get(variable.text)
        if bound is None:
            if self._occurs(variable, cel_type):
                return False, False
            self.bind(variable, cel_type)
            return True, False
        if cel_type == bound:
            return True, True
        if not self._agree(cel_type, bound):
            return False, True
        general = most_general(cel_type, bound)
        if not self._occurs(variable, general):
            self.bind(variable, general)
        return True, True

    def _occurs(self, variable: CelType, cel_type: CelType) -> bool:
        """Whether a variable is part of a type, which would make it infinite."""
        if variable == cel_type:
            return True
        if cel_type.kind is Kind.PARAMETER:
            bound = self._bound.get(cel_type.text)
            return bound is not None and self._occurs(variable, bound)
        return any(self._occurs(variable, param) for param in cel_type.params)


def most_general(first: CelType, second: CelType) -> CelType:
    """The less specific one of two types that agree."""
    return first if _is_general(first, second) else second


def _is_general(first: CelType, second: CelType) -> bool:
    """Whether the first is the same as the second, or less specific."""
    if first.is_dyn or first.kind is Kind.PARAMETER:
        return True
    if second.is_dyn or second.kind is Kind.PARAMETER:
        return False
    if first.kind is not second.kind:
        return False
    if first.kind is Kind.TYPE:
        return True
    if first.kind in _COMPOSED:
        if first.name != second.name or len(first.params) != len(second.params):
            return False
        return all(map(_is_general, first.params, second.params))
    return first == second
