"""The values of CEL as Python objects.

| CEL | Python |
| --- | --- |
| bool, int, double, string, bytes, null | bool, int, float, str, bytes, None |
| uint | Uint, an int of its own type |
| list, map | list, dict; keys of the dict are those of `map_key` |
| timestamp, duration | Timestamp, Duration: nanoseconds |
| type | CelType |
| optional | OptionalValue |
| quantity, semver, url, ip, cidr, format | classes of their own |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.cel_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    LIST,
    MAP,
    NULL,
    OPTIONAL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
)

MAX_INT: Final = 2**63 - 1
MIN_INT: Final = -(2**63)
MAX_UINT: Final = 2**64 - 1


class Uint(int):
    """An unsigned integer."""

    __slots__ = ()


class Duration:
    """A span of time."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return type(other) is Duration and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash((Duration, self.nanos))


class Timestamp:
    """A point in time since 1970, with the offset of the zone that it was written in."""

    __slots__ = ("nanos", "zone_seconds")

    def __init__(self, nanos: int, zone_seconds: int = 0) -> None:
        self.nanos = nanos
        self.zone_seconds = zone_seconds

    def __eq__(self, other: object) -> bool:
        return type(other) is Timestamp and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash((Timestamp, self.nanos))


class OptionalValue:
    """A value or none."""

    __slots__ = ("has_value", "value")

    def __init__(self, value: Any, *, has_value: bool = True) -> None:
        self.value = value
        self.has_value = has_value


NONE: Final = OptionalValue(None, has_value=False)

_TYPES: dict[type, CelType] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    list: LIST,
    dict: MAP,
    Duration: DURATION,
    Timestamp: TIMESTAMP,
    OptionalValue: OPTIONAL,
    CelType: TYPE,
}


#: Class of Kubernetes' own → the class that its values can be compared with.
_COMPARED_WITH: dict[type, type] = {}


def register(python_type: type, cel_type: CelType, compared_with: type | None = None) -> None:
    """Make a class the values of a type. To compare them with values of another class is an error."""
    _TYPES[python_type] = cel_type
    _COMPARED_WITH[python_type] = compared_with or python_type


def classes_of(cel_type: CelType) -> frozenset[type]:
    """The Python classes of the values of a type."""
    return frozenset(python_type for python_type, each in _TYPES.items() if each.name == cel_type.name)


def type_of_value(value: Any) -> CelType:
    """The type of a value, without what its elements are."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    own = getattr(value, "cel_type", None)
    return own if own is not None else MAP


# --- maps -------------------------------------------------------------------------------------------------


class ObjectKey:
    """A list or map as a key: it is equal to itself alone."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getitem__(self, index: int) -> Any:
        """The key, where a pair has it."""
        return self._value


def map_key(key: Any) -> Any:
    """A key as it is kept in a dict: Python takes 1, 1.0 and True for the same."""
    if type(key) is str:
        return key
    return ObjectKey(key) if isinstance(key, list | dict) else (type(key), key)


def map_keys(mapping: dict[Any, Any]) -> Iterator[Any]:
    """The keys as CEL values."""
    return (key if type(key) is str else key[1] for key in mapping)


_MISSING: Final = object()


def find_in_map(mapping: dict[Any, Any], key: Any, default: Any = _MISSING) -> Any:
    """The value of a key, or the default; a number is found under an equal one of the other integer type."""
    found = mapping.get(map_key(key), default)
    if found is default and type(key) in (int, Uint, float):
        for other in _equal_keys(key):
            found = mapping.get((type(other), other), default)
            if found is not default:
                return found
    return found


def _equal_keys(key: int | float) -> Iterator[int]:
    """The integers that equal a number and are of another type."""
    if type(key) is float:
        if not key.is_integer():
            return
        key = int(key)
        if MIN_INT <= key <= MAX_INT:
            yield key
    if type(key) is not Uint and 0 <= key <= MAX_UINT:
        yield Uint(key)
    elif type(key) is Uint and key <= MAX_INT:
        yield int(key)


# --- comparing --------------------------------------------------------------------------------------------

_NUMBERS = frozenset((int, Uint, float))


def equals(first: Any, second: Any) -> bool:
    """`first == second`; values of different types are not equal, but for numbers. Raises EvaluationError."""
    kind = type(first)
    other = type(second)
    if kind in _COMPARED_WITH and second is not None:
        if other is not _COMPARED_WITH[kind]:
            raise EvaluationError("no such overload")
        return bool(first == second)
    if kind is other:
        if kind is list:
            return len(first) == len(second) and all(map(_may_be_equal, first, second))
        if kind is OptionalValue:
            if first.has_value and second.has_value:
                return equals(first.value, second.value)
            return first.has_value is second.has_value
        if kind is CelType:
            return bool(first.name == second.name)
        if not isinstance(first, dict):
            return bool(first == second)
    if kind in _NUMBERS and other in _NUMBERS:
        return _compare_numbers(first, second) == 0
    if isinstance(first, dict) and isinstance(second, dict):
        return _equal_maps(first, second)
    return False


def _may_be_equal(first: Any, second: Any) -> bool:
    """Elements that cannot be compared do not make their lists or maps different."""
    try:
        return equals(first, second)
    except EvaluationError:
        return True


def is_equal(first: Any, second: Any) -> bool:
    """Whether two values are equal for sure."""
    try:
        return equals(first, second)
    except EvaluationError:
        return False


def _equal_maps(first: dict[Any, Any], second: dict[Any, Any]) -> bool:
    if len(first) != len(second):
        return False
    for key, value in first.items():
        plain = key if type(key) is str else key[1]
        other = find_in_map(second, plain)
        if other is _MISSING or not _may_be_equal(value, other):
            return False
    return True


def _compare_numbers(first: int | float, second: int | float) -> int:
    """-1, 0 or 1, and 2 if there is no order. An integer that meets a double becomes one."""
    if type(first) is float or type(second) is float:
        if first != first or second != second:
            return 2
        bounded = _outside(first, second)
        if bounded:
            return bounded
        first, second = float(first), float(second)
    return (first > second) - (first < second)


def _outside(first: int | float, second: int | float) -> int:
    """-1 or 1 if one is a double beyond the range of the integer type of the other."""
    if type(first) is float and type(second) is not float:
        low, high = (0, MAX_UINT) if type(second) is Uint else (MIN_INT, MAX_INT)
        return -1 if first < low else 1 if first > high else 0
    if type(second) is float and type(first) is not float:
        return -_outside(second, first)
    return 0


def compare(first: Any, second: Any) -> int:
    """-1, 0 or 1. Raises EvaluationError where there is no order."""
    kind = type(first)
    other = type(second)
    if kind in _NUMBERS and other in _NUMBERS:
        order = _compare_numbers(first, second)
        if order == 2:
            raise EvaluationError("NaN values cannot be ordered")
        return order
    if kind is float and first != first:
        raise EvaluationError("NaN values cannot be ordered")
    if kind is not other:
        raise EvaluationError("no such overload")
    if kind is str:
        # Go compares the UTF-8, which has the order of the code points.
        return int((first > second) - (first < second))
    if kind is bytes or kind is bool:
        return int((first > second) - (first < second))
    if kind is Timestamp or kind is Duration:
        return int((first.nanos > second.nanos) - (first.nanos < second.nanos))
    raise EvaluationError("no such overload")


COMPARABLE: Final = frozenset((bool, int, Uint, float, str, bytes, Timestamp, Duration))


def size_of(value: Any) -> int:
    """The number of elements, code points or bytes; 1 for what has none of these."""
    if isinstance(value, str | list | dict | bytes):
        return len(value)
    if type(value) is OptionalValue and value.has_value:
        return size_of(value.value)
    return int(getattr(value, "cel_size", 1))


def has_size(value: Any) -> bool:
    """Whether `size()` knows it."""
    return isinstance(value, str | list | dict | bytes)
