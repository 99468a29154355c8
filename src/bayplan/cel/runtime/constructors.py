"""Lists and maps as closures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bayplan.cel.cel_errors import CancelledError, EvaluationError
from bayplan.cel.runtime.cel_values import OptionalValue, map_key
from bayplan.cel.runtime.display import display, go_type
from bayplan.cel.runtime.frame import Frame, Run

_LIST_COST = 10
_MAP_COST = 30
_UNHASHABLE = frozenset(("types.Bytes", "cel.Semver", "cel.Format"))


def list_constructor(elements: Sequence[Run], optional: Collection[int]) -> Run:
    """`[a, ?b]`."""

    def run(frame: Frame) -> list[Any]:
        items = []
        try:
            for index, element in enumerate(elements):
                value = element(frame)
                if index in optional:
                    if type(value) is not OptionalValue:
                        raise EvaluationError(
                            f"cannot initialize optional list element from non-optional value {display(value)}"
                        )
                    if not value.has_value:
                        continue
                    value = value.value
                items.append(value)
        finally:
            frame.cost += _LIST_COST
        return items

    return run


def map_constructor(keys: Sequence[Run], values: Sequence[Run], optional: Sequence[bool]) -> Run:
    """`{key: value, ?other: value}`."""

    def run(frame: Frame) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        try:
            for key, value, is_optional in zip(keys, values, optional, strict=True):
                _add_entry(entries, key(frame), value(frame), optional=is_optional)
        finally:
            frame.cost += _MAP_COST
        return entries

    return run


def _add_entry(entries: dict[Any, Any], key: Any, value: Any, *, optional: bool) -> None:
    hashed = hashable_key(key)
    if optional:
        if type(value) is not OptionalValue:
            raise EvaluationError(
                f"cannot initialize optional entry '{display(key)}' from non-optional value {display(value)}"
            )
        if not value.has_value:
            entries.pop(hashed, None)
            return
        value = value.value
    entries[hashed] = value


def hashable_key(key: Any) -> Any:
    """A key as it is kept in a map. Some values end the evaluation, as they do in the original."""
    name = go_type(key)
    if name in _UNHASHABLE:
        raise CancelledError(f"internal error: runtime error: hash of unhashable type {name}")
    return map_key(key)
