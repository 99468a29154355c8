"""The order of a merged list: the elements of the patch in its order, the others between them as before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Elements:
    """A list as an order: finds the position of an element by its merge key or, for scalars, by its value."""

    def __init__(self, elements: Sequence[Any], merge_key: str = "") -> None:
        self._merge_key = merge_key
        self._positions: dict[Any, int] = {}
        for position, element in enumerate(elements):
            self._positions.setdefault(self._name(element), position)

    def position(self, element: Any) -> int:
        """Counted from 0; -1 if it is not there."""
        return self._positions.get(self._name(element), -1)

    def _name(self, element: Any) -> Any:
        return element.get(self._merge_key) if isinstance(element, dict) else element


def in_order(merged: Sequence[Any], wanted: Elements, before: Elements) -> list[Any]:
    """`merged` with the elements of `wanted` in that order, and the others placed among them as in `before`."""
    shared = sorted((e for e in merged if wanted.position(e) >= 0), key=wanted.position)
    others = sorted((e for e in merged if wanted.position(e) < 0), key=before.position)
    return _interleaved(others, shared, before)


def _interleaved(others: Sequence[Any], shared: Sequence[Any], before: Elements) -> list[Any]:
    """Each of the others goes before the first shared element that it preceded; the rest come last."""
    result: list[Any] = []
    waiting = list(others)
    for element in shared:
        place = before.position(element)
        while waiting and 0 <= before.position(waiting[0]) < place:
            result.append(waiting.pop(0))
        result.append(element)
    return result + waiting
