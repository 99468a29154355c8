"""Lists and sets: Kubernetes' functions, and those of the lists, sets and two-variable extensions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key, partial
from typing import Any

from bayplan.cel.cel_errors import EvaluationError, no_such_overload
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.operators import add as add_values
from bayplan.cel.functions.operators import contains, refuse
from bayplan.cel.runtime.cel_values import (
    COMPARABLE,
    Duration,
    Uint,
    compare,
    find_in_map,
    is_equal,
    map_key,
    map_keys,
    type_of_value,
)
from bayplan.cel.runtime.display import display

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_RUNTIME_NAMES = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}
_ZEROS: dict[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_MISSING = object()
#: A range that is longer costs more than any limit.
_MAX_RANGE = 20_000_000


def _check_comparable(items: list[Any]) -> None:
    if any(type(item) not in COMPARABLE for item in items):
        raise no_such_overload()


def _order(first: Any, second: Any) -> int | None:
    """-1, 0 or 1, or None where there is no order, which counts as being in order."""
    try:
        return compare(first, second)
    except EvaluationError:
        return None


def _is_sorted(items: list[Any]) -> bool:
    for index, item in enumerate(items):
        if type(item) not in COMPARABLE:
            raise no_such_overload()
        if index and _order(items[index - 1], item) == 1:
            return False
    return True


def _sum(zero: Any, items: list[Any]) -> Any:
    total = zero
    for item in items:
        total = add_values(total, item)
    return total


def _extreme(name: str, replaced_if: int, items: list[Any]) -> Any:
    if not items:
        raise EvaluationError(f"{name} called on empty list")
    _check_comparable(items)
    best = items[0]
    for item in items[1:]:
        if _order(best, item) == replaced_if:
            best = item
    return best


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if is_equal(item, wanted)), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index in reversed(range(len(items))) if is_equal(items[index], wanted)), -1)


# --- the lists extension ----------------------------------------------------------------------------------


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: Any, *depths: Any) -> list[Any]:
    if type(items) is not list or any(type(depth) is not int for depth in depths):
        names = ", ".join(type_of_value(depth).name for depth in depths)
        raise EvaluationError(f"no such overload: {type_of_value(items).name}.flatten({names})")
    depth = depths[0] if depths else 1
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        if type(item) is list and depth > 0:
            flat.extend(_flatten(item, depth - 1))
        else:
            flat.append(item)
    return flat


def _sort(items: Any) -> list[Any]:
    if type(items) is not list:
        raise refuse("sort", items)
    return _sort_by_keys(items, items)


def _sort_by_keys(items: list[Any], keys: list[Any]) -> list[Any]:
    if len(items) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(items)} and {len(keys)} elements respectively"
        )
    if not items:
        return items
    if type(keys[0]) not in COMPARABLE:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")

    def by_key(i: int, j: int) -> int:
        return _order(keys[i], keys[j]) or 0

    return [items[index] for index in sorted(range(len(items)), key=cmp_to_key(by_key))]


def _distinct(items: list[Any]) -> list[Any]:
    unique: list[Any] = []
    for item in items:
        if not any(is_equal(item, other) for other in unique):
            unique.append(item)
    return unique


def _range(count: int) -> list[Any]:
    return list(range(min(count, _MAX_RANGE)))


# --- sets and maps ----------------------------------------------------------------------------------------


def _contains_all(items: list[Any], others: list[Any]) -> bool:
    return all(contains(other, items) for other in others)


def _equivalent(first: list[Any], second: list[Any]) -> bool:
    return _contains_all(first, second) and _contains_all(second, first)


def _intersects(first: list[Any], second: list[Any]) -> bool:
    return any(contains(item, second) for item in first)


def _insert(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if find_in_map(mapping, key, _MISSING) is not _MISSING:
        raise EvaluationError(f"insert failed: key {display(key)} already exists")
    return {**mapping, map_key(key): value}


def _insert_all(mapping: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in zip(map_keys(other), other.values(), strict=True):
        mapping = _insert(mapping, key, value)
    return mapping


def declare_list_functions() -> Library:
    """Functions on lists, sets and maps."""
    library = Library()
    _declare_kubernetes_lists(library)
    _declare_extension(library)
    add = library.overload
    add("sets.contains", "(list(T), list(T)) -> bool", "list_sets_contains_list", _contains_all)
    add("sets.equivalent", "(list(T), list(T)) -> bool", "list_sets_equivalent_list", _equivalent)
    add("sets.intersects", "(list(T), list(T)) -> bool", "list_sets_intersects_list", _intersects)
    add("cel.@mapInsert", "(map(K, V), K, V) -> map(K, V)", "@mapInsert_map_key_value", _insert)
    add("cel.@mapInsert", "(map(K, V), map(K, V)) -> map(K, V)", "@mapInsert_map_map", _insert_all)
    return library


def _declare_kubernetes_lists(library: Library) -> None:
    add = library.overload
    for kind in _COMPARABLE:
        add("isSorted", f"list({kind}).() -> bool", f"list_{kind}_is_sorted_bool", _is_sorted)
        for name, replaced_if in (("max", -1), ("min", 1)):
            extreme: Callable[[list[Any]], Any] = partial(_extreme, name, replaced_if)
            add(name, f"list({kind}).() -> {kind}", f"list_{kind}_{name}_{kind}", extreme)
    for kind, zero in _ZEROS.items():
        add("sum", f"list({kind}).() -> {kind}", f"list_{kind}_sum_{kind}", partial(_sum, zero))
    add("indexOf", "list(A).(A) -> int", "list_a_index_of_int", _index_of)
    add("lastIndexOf", "list(A).(A) -> int", "list_a_last_index_of_int", _last_index_of)


def _declare_extension(library: Library) -> None:
    add = library.overload
    add("slice", "list(T).(int, int) -> list(T)", "list_slice", _slice)
    add("flatten", "list(list(T)).() -> list(T)", "list_flatten", _flatten)
    add("flatten", "list(dyn).(int) -> list(dyn)", "list_flatten_int", _flatten)
    library.functions["flatten"].unguarded = True
    names = {kind: _RUNTIME_NAMES.get(kind, kind) for kind in _COMPARABLE}
    library.singleton(
        "sort", _sort, **{f"list_{name}_sort": f"list({kind}).() -> list({kind})" for kind, name in names.items()}
    )
    library.singleton(
        "@sortByAssociatedKeys",
        _sort_by_keys,
        **{
            f"list_{name}_sortByAssociatedKeys": f"list(T).(list({kind})) -> list(T)"
            for kind, name in names.items()
        },
    )
    add("lists.range", "(int) -> list(int)", "lists_range", _range)
    add("reverse", "list(T).() -> list(T)", "list_reverse", lambda items: items[::-1])
    add("distinct", "list(T).() -> list(T)", "list_distinct", _distinct)
