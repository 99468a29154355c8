"""Arithmetic, comparison, `in`, `size` and `!`, for the types that know them; overflow is an error."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from bayplan.cel.cel_errors import EvaluationError, no_such_overload
from bayplan.cel.checking.declarations import Library
from bayplan.cel.runtime.cel_values import (
    COMPARABLE,
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    Duration,
    Timestamp,
    Uint,
    compare,
    find_in_map,
    has_size,
    is_equal,
)

#: Types that answer for functions they do not know, with a shorter message.
_RECEIVERS = frozenset((str, Timestamp, Duration))
_MISSING = object()

MIN_SECONDS = -62135596800
MAX_SECONDS = 253402300799
_SECOND = 10**9


def refuse(function: str, value: Any) -> EvaluationError:
    """A first operand that does not know the operator."""
    return no_such_overload() if type(value) in _RECEIVERS else EvaluationError(f"no such overload: {function}")


# --- numbers ----------------------------------------------------------------------------------------------


def checked_int(number: int) -> int:
    """An int64. Raises EvaluationError."""
    if not MIN_INT <= number <= MAX_INT:
        raise EvaluationError("integer overflow")
    return number


def checked_uint(number: int) -> Uint:
    """A uint64. Raises EvaluationError."""
    if not 0 <= number <= MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def checked_duration(nanos: int) -> Duration:
    """A duration of int64 nanoseconds. Raises EvaluationError."""
    if not MIN_INT <= nanos <= MAX_INT:
        raise EvaluationError("integer overflow")
    return Duration(nanos)


def checked_timestamp(nanos: int, zone_seconds: int) -> Timestamp:
    """A time in the years 1 to 9999. Raises EvaluationError."""
    if not MIN_SECONDS <= nanos // _SECOND <= MAX_SECONDS:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos, zone_seconds)


def add(left: Any, right: Any) -> Any:
    """`left + right`."""
    kind = type(left)
    if kind not in (int, str, float, Uint, bytes, list, Timestamp, Duration):
        raise refuse("_+_", left)
    if kind is Duration and type(right) is Timestamp:
        return checked_timestamp(right.nanos + left.nanos, right.zone_seconds)
    if kind is Timestamp:
        if type(right) is not Duration:
            raise no_such_overload()
        return checked_timestamp(left.nanos + right.nanos, left.zone_seconds)
    if type(right) is not kind:
        raise no_such_overload()
    if kind is int:
        return checked_int(left + right)
    if kind is Uint:
        return checked_uint(int(left) + int(right))
    return checked_duration(left.nanos + right.nanos) if kind is Duration else left + right


def _subtract(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind not in (int, float, Uint, Timestamp, Duration):
        raise refuse("_-_", left)
    if kind is Timestamp and type(right) is Duration:
        return checked_timestamp(left.nanos - right.nanos, left.zone_seconds)
    if type(right) is not kind:
        raise no_such_overload()
    if kind is int:
        return checked_int(left - right)
    if kind is Uint:
        return checked_uint(int(left) - int(right))
    return left - right if kind is float else checked_duration(left.nanos - right.nanos)


def _multiply(left: Any, right: Any) -> Any:
    kind = _number_kind("_*_", left, right)
    if kind is float:
        return left * right
    return checked_int(left * right) if kind is int else checked_uint(int(left) * int(right))


def _divide(left: Any, right: Any) -> Any:
    kind = _number_kind("_/_", left, right)
    if kind is float:
        return _divided(left, right)
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(int(left)) // abs(int(right))
    quotient = -quotient if (left < 0) is not (right < 0) else quotient
    return checked_int(quotient) if kind is int else Uint(quotient)


def _divided(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or left != left:
        return float("nan")
    negative = (left < 0) is not str(right).startswith("-")
    return float("-inf") if negative else float("inf")


def _modulo(left: Any, right: Any) -> Any:
    kind = _number_kind("_%_", left, right, (int, Uint))
    if right == 0:
        raise EvaluationError("modulus by zero")
    if kind is int and left == MIN_INT and right == -1:
        raise EvaluationError("integer overflow")
    rest = abs(int(left)) % abs(int(right))
    return kind(-rest if left < 0 else rest)


def _number_kind(function: str, left: Any, right: Any, kinds: Collection[type] = (int, Uint, float)) -> type:
    if type(left) not in kinds:
        raise refuse(function, left)
    if type(right) is not type(left):
        raise no_such_overload()
    return type(left)


def _negate(value: Any) -> Any:
    if type(value) is int:
        return checked_int(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return checked_duration(-value.nanos)
    raise no_such_overload() if type(value) is bool else refuse("-_", value)


# --- the rest ---------------------------------------------------------------------------------------------


def _not(value: Any) -> bool:
    if type(value) is not bool:
        raise no_such_overload()
    return not value


def _ordering(function: str, holds: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    def operator(left: Any, right: Any) -> bool:
        if type(left) is int and type(right) is int:
            return holds(left - right)
        if type(left) not in COMPARABLE:
            raise refuse(function, left)
        return holds(compare(left, right))

    return operator


def contains(element: Any, items: Any) -> bool:
    """`element in items`."""
    if type(items) is list:
        return any(is_equal(element, item) for item in items)
    if isinstance(items, dict):
        return find_in_map(items, element, _MISSING) is not _MISSING
    raise no_such_overload()


def _size(value: Any) -> int:
    if not has_size(value):
        raise refuse("size", value)
    return len(value)


_NUMBERS = ("int64", "int"), ("uint64", "uint"), ("double", "double")


def _declare_orderings(library: Library) -> None:
    tests: dict[str, tuple[str, Callable[[int], bool]]] = {
        "_<_": ("less", lambda order: order < 0),
        "_<=_": ("less_equals", lambda order: order <= 0),
        "_>_": ("greater", lambda order: order > 0),
        "_>=_": ("greater_equals", lambda order: order >= 0),
    }
    for function, (name, holds) in tests.items():
        signatures = {f"{name}_bool": "(bool, bool) -> bool"}
        for left, first in _NUMBERS:
            signatures[f"{name}_{left}"] = f"({first}, {first}) -> bool"
            for right, second in reversed(_NUMBERS):
                if right != left:
                    signatures[f"{name}_{left}_{right}"] = f"({first}, {second}) -> bool"
        for kind in ("string", "bytes", "timestamp", "duration"):
            signatures[f"{name}_{kind}"] = f"({kind}, {kind}) -> bool"
        library.singleton(function, _ordering(function, holds), **signatures)


def _same(kinds: Collection[str], prefix: str) -> dict[str, str]:
    names = {"int": "int64", "uint": "uint64"}
    return {f"{prefix}_{names.get(kind, kind)}": f"({kind}, {kind}) -> {kind}" for kind in kinds}


def declare_operators() -> Library:
    """All operators, and `size`."""
    library = Library()
    library.singleton("_?_:_", _unused, conditional="(bool, A, A) -> A")
    library.singleton("_&&_", _unused, logical_and="(bool, bool) -> bool")
    library.singleton("_||_", _unused, logical_or="(bool, bool) -> bool")
    library.singleton("_==_", _unused, equals="(A, A) -> bool")
    library.singleton("_!=_", _unused, not_equals="(A, A) -> bool")
    library.singleton("!_", _not, logical_not="(bool) -> bool")
    library.overload("@not_strictly_false", "(bool) -> bool", "not_strictly_false", _unused)
    library.singleton(
        "_+_",
        add,
        **_same(("bytes", "double"), "add"),
        add_duration_duration="(duration, duration) -> duration",
        add_duration_timestamp="(duration, timestamp) -> timestamp",
        add_timestamp_duration="(timestamp, duration) -> timestamp",
        add_int64="(int, int) -> int",
        add_list="(list(A), list(A)) -> list(A)",
        add_string="(string, string) -> string",
        add_uint64="(uint, uint) -> uint",
    )
    library.singleton("_/_", _divide, **_same(("double", "int", "uint"), "divide"))
    library.singleton("_%_", _modulo, **_same(("int", "uint"), "modulo"))
    library.singleton("_*_", _multiply, **_same(("double", "int", "uint"), "multiply"))
    library.singleton("-_", _negate, negate_double="(double) -> double", negate_int64="(int) -> int")
    library.singleton(
        "_-_",
        _subtract,
        subtract_double="(double, double) -> double",
        subtract_duration_duration="(duration, duration) -> duration",
        subtract_int64="(int, int) -> int",
        subtract_timestamp_duration="(timestamp, duration) -> timestamp",
        subtract_timestamp_timestamp="(timestamp, timestamp) -> duration",
        subtract_uint64="(uint, uint) -> uint",
    )
    _declare_orderings(library)
    library.singleton(
        "_[_]", _unused, index_list="(list(A), int) -> A", index_map="(map(A, B), A) -> B",
        optional_list_index_int="(optional(list(V)), int) -> optional(V)",
        optional_map_index_value="(optional(map(K, V)), K) -> optional(V)",
    )  # fmt: skip
    library.singleton("@in", contains, in_list="(A, list(A)) -> bool", in_map="(A, map(A, B)) -> bool")
    sized = ("bytes", "list(A)", "map(A, B)", "string")
    names = [kind.partition("(")[0] for kind in sized]
    library.singleton(
        "size",
        _size,
        **{f"size_{name}": f"({kind}) -> int" for name, kind in zip(names, sized, strict=True)},
        **{f"{name}_size": f"{kind}.() -> int" for name, kind in zip(names, sized, strict=True)},
    )
    return library


def _unused(*args: Any) -> Any:
    raise no_such_overload()
