"""Optionals: `optional.of`, `.hasValue()`, `.value()` and the like. `or` and `orValue` are the planner's."""

from __future__ import annotations

from typing import Any

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.declarations import Library
from bayplan.cel.runtime.cel_values import NONE, Duration, OptionalValue, Timestamp
from bayplan.cel.runtime.display import display

#: The first second of the year 1, which Go takes for no time at all.
_ZERO_TIME = -62135596800 * 10**9


def _value(optional: OptionalValue) -> Any:
    if not optional.has_value:
        raise EvaluationError("optional.none() dereference")
    if type(optional.value) is EvaluationError:
        raise optional.value.with_traceback(None)
    return optional.value


def _of_non_zero(value: Any) -> OptionalValue:
    return NONE if _is_zero(value) else OptionalValue(value)


def _is_zero(value: Any) -> bool:
    if type(value) is Timestamp:
        return value.nanos == _ZERO_TIME
    if type(value) is Duration:
        return value.nanos == 0
    return isinstance(value, bool | int | float | str | bytes | list | dict | None) and not value


def _first(items: list[Any]) -> OptionalValue:
    return OptionalValue(items[0]) if items else NONE


def _last(items: list[Any]) -> OptionalValue:
    return OptionalValue(items[-1]) if items else NONE


def _unwrap(items: list[Any]) -> list[Any]:
    for item in items:
        if type(item) is not OptionalValue:
            raise EvaluationError(f"value {display(item)} is not optional")
    return [item.value for item in items if item.has_value]


def declare_optionals() -> Library:
    """The library of optional types."""
    library = Library()
    add = library.overload
    add("optional.of", "(V) -> optional(V)", "optional_of", OptionalValue)
    add("optional.ofNonZeroValue", "(V) -> optional(V)", "optional_ofNonZeroValue", _of_non_zero)
    add("optional.none", "() -> optional(V)", "optional_none", lambda: NONE)
    add("value", "optional(V).() -> V", "optional_value", _value)
    add("hasValue", "optional(V).() -> bool", "optional_hasValue", lambda optional: optional.has_value)
    add("or", "optional(V).(optional(V)) -> optional(V)", "optional_or_optional")
    add("orValue", "optional(V).(V) -> V", "optional_orValue_value")
    add("_?._", "(dyn, string) -> optional(V)", "select_optional_field")
    add("_[?_]", "(list(V), int) -> optional(V)", "list_optindex_optional_int")
    add("_[?_]", "(optional(list(V)), int) -> optional(V)", "optional_list_optindex_optional_int")
    add("_[?_]", "(map(K, V), K) -> optional(V)", "map_optindex_optional_value")
    add("_[?_]", "(optional(map(K, V)), K) -> optional(V)", "optional_map_optindex_optional_value")
    add("last", "list(V).() -> optional(V)", "list_last", _last)
    add("first", "list(V).() -> optional(V)", "list_first", _first)
    add("optional.unwrap", "(list(optional(V))) -> list(V)", "optional_unwrap", _unwrap)
    add("unwrapOpt", "list(optional(V)).() -> list(V)", "optional_unwrapOpt", _unwrap)
    return library
