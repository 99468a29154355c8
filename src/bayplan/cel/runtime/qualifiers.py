"""One step into a value: `.field`, `["key"]`, `[index]`, and their optional forms."""

from __future__ import annotations

from typing import Any, Protocol

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.runtime.cel_values import MAX_INT, MIN_INT, Uint, find_in_map, type_of_value
from bayplan.cel.runtime.display import display, go_type
from bayplan.cel.runtime.frame import Frame, Run

#: What is not there.
ABSENT: Any = object()
_KEYS = frozenset((str, int, Uint, bool, float))


class Qualifier(Protocol):
    """A step. Its cost is 1 if it is taken, whether it succeeds or not."""

    optional: bool

    def qualify(self, frame: Frame, value: Any) -> Any:
        """The part of a value. Raises EvaluationError if there is none."""

    def qualify_if_present(self, frame: Frame, value: Any) -> Any:
        """The part of a value, or ABSENT, which costs nothing."""


class ConstantQualifier:
    """A key that is known when the expression is compiled."""

    __slots__ = ("key", "optional")

    def __init__(self, key: Any, *, optional: bool) -> None:
        self.key = key
        self.optional = optional

    def qualify(self, frame: Frame, value: Any) -> Any:
        frame.cost += 1
        return part_of(value, self.key)

    def qualify_if_present(self, frame: Frame, value: Any) -> Any:
        found = part_if_present(value, self.key)
        if found is not ABSENT:
            frame.cost += 1
        return found


class TestQualifier:
    """The last step of `has()`: whether the part is there."""

    __slots__ = ("key", "optional")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.optional = False

    def qualify(self, frame: Frame, value: Any) -> Any:
        frame.cost += 1
        return part_if_present(value, self.key) is not ABSENT

    def qualify_if_present(self, frame: Frame, value: Any) -> Any:
        """After an optional step: null stands for any value."""
        frame.cost += 1
        return ABSENT if part_if_present(value, self.key) is ABSENT else None


class DynamicQualifier:
    """A key that is computed."""

    __slots__ = ("_resolve", "optional")

    def __init__(self, resolve: Run, *, optional: bool) -> None:
        self._resolve = resolve
        self.optional = optional

    def qualify(self, frame: Frame, value: Any) -> Any:
        try:
            return part_of(value, _checked_key(self._resolve(frame)))
        finally:
            frame.cost += 1

    def qualify_if_present(self, frame: Frame, value: Any) -> Any:
        found = part_if_present(value, _checked_key(self._resolve(frame)))
        if found is not ABSENT:
            frame.cost += 1
        return found


def _checked_key(key: Any) -> Any:
    if type(key) not in _KEYS:
        raise EvaluationError(f"invalid qualifier type: {go_type(key)}")
    return key


def part_of(value: Any, key: Any) -> Any:
    """The part of a value under a key or index. Raises EvaluationError if there is none."""
    found = _find(value, key)
    if found is not ABSENT:
        return found
    if type(value) is list:
        raise EvaluationError(f"index out of bounds: {display(key)}")
    raise EvaluationError(f"no such key: {display(key)}")


def part_if_present(value: Any, key: Any) -> Any:
    """The part of a value under a key or index, or ABSENT."""
    return _find(value, key)


def _find(value: Any, key: Any) -> Any:
    if isinstance(value, dict):
        if type(key) is str:
            try:
                return value[key]
            except KeyError:
                return ABSENT
        found = find_in_map(value, key, ABSENT)
        # A map with a default has it for keys of any type.
        return value.default if found is ABSENT and hasattr(value, "default") else found
    if type(value) is list:
        index = _index(key)
        return value[index] if 0 <= index < len(value) else ABSENT
    return ABSENT


def _index(key: Any) -> int:
    """A key as an index of a list. Raises EvaluationError."""
    if type(key) is int:
        return key
    if type(key) is Uint and key <= MAX_INT:
        return int(key)
    if type(key) is float and key.is_integer() and MIN_INT <= key <= MAX_INT:
        return int(key)
    if type(key) in (Uint, float):
        raise EvaluationError(f"unsupported index value {display(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_of_value(key)}' in list")
