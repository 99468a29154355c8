"""`x in [constants]`: a lookup in a set, which costs nothing."""

from __future__ import annotations

from typing import Any

from bayplan.cel.runtime.cel_values import MAX_INT, MAX_UINT, MIN_INT, Uint
from bayplan.cel.runtime.constructors import hashable_key
from bayplan.cel.runtime.frame import Frame, Run

_PRIMITIVES = frozenset((bool, int, Uint, float, str))


def constant_membership(element: Run, items: list[Any]) -> Run | None:
    """The test as a closure, or None if the constants are of types that a set does not do for."""
    if any(type(item) not in _PRIMITIVES for item in items):
        return None
    members = frozenset(hashable_key(value) for item in items for value in _equal_values(item))
    strings = frozenset(item for item in items if type(item) is str)

    def run(frame: Frame) -> bool:
        value = element(frame)
        if type(value) is str:
            return value in strings
        return hashable_key(value) in members

    return run


def _equal_values(item: Any) -> list[Any]:
    """The constant and the numbers of other types that are taken for it."""
    if type(item) not in (int, Uint, float):
        return [item]
    values: list[Any] = [item]
    if type(item) is float:
        whole = int(item) if abs(item) < 2**64 and item.is_integer() else None
    else:
        whole = int(item)
        values.append(float(whole))
    if whole is not None:
        if MIN_INT <= whole <= MAX_INT:
            values.append(whole)
        if 0 <= whole <= MAX_UINT:
            values.append(Uint(whole))
    return values
