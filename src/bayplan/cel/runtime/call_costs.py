"""What a call costs, from its arguments and its result, in cel-go's units.

An argument or result may be an error, which counts as something of size 1. Almost all calls cost 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, Final

from bayplan.cel.cel_errors import CancelledError, EvaluationError
from bayplan.cel.checking.cel_types import CIDR, FORMAT, IP, QUANTITY, SEMVER, URL
from bayplan.cel.runtime.cel_values import Duration, Timestamp, Uint, map_keys, size_of, type_of_value
from bayplan.cel.runtime.display import go_type

#: From the arguments and the result to the cost of a call.
CallCost = Callable[[Sequence[Any], Any], int]

STRING_FACTOR: Final = 0.1
REGEX_FACTOR: Final = 0.25
LIST_COST: Final = 10
_WITH_ADDITION: Final = frozenset((int, Uint, float, str, bytes, Timestamp, Duration))
#: Equal or not in one step, however large they are.
_UNIT_EQUALITY: Final = frozenset(cel_type.name for cel_type in (QUANTITY, IP, CIDR, FORMAT, URL, SEMVER))


def traversal_cost(size: int) -> int:
    """Of going through a string once."""
    return ceil(size * STRING_FACTOR)


def equality_cost(first: Any, second: Any, *, negate: bool) -> int:
    """Of `==` and `!=`."""
    if not negate and type(first) is not EvaluationError and type_of_value(first).name in _UNIT_EQUALITY:
        return 1
    return traversal_cost(min(size_of(first), size_of(second)))


def _cheap(args: Sequence[Any], result: Any) -> int:
    return 1


def _traversal(args: Sequence[Any], result: Any) -> int:
    return traversal_cost(size_of(args[0]))


def _traversal_and_copy(args: Sequence[Any], result: Any) -> int:
    return ceil(size_of(args[0]) * 2 * STRING_FACTOR)


def _join(args: Sequence[Any], result: Any) -> int:
    return ceil(size_of(result) * 2 * STRING_FACTOR)


def _whole_tree(args: Sequence[Any], result: Any) -> int:
    return _tree_cost(args[0])


def _tree_cost(value: Any) -> int:
    if isinstance(value, str):
        return int(len(value.encode(errors="surrogatepass")) * STRING_FACTOR)
    if isinstance(value, bytes):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list):
        return sum(map(_tree_cost, value))
    if isinstance(value, dict):
        return sum(map(_tree_cost, map_keys(value))) + sum(map(_tree_cost, value.values()))
    return 1


def _regex(args: Sequence[Any], result: Any) -> int:
    return ceil((1 + size_of(args[0])) * STRING_FACTOR) * ceil(size_of(args[1]) * REGEX_FACTOR)


def _validation(args: Sequence[Any], result: Any) -> int:
    regex_size: int | None = getattr(args[0], "max_regex_size", None)
    if regex_size is None:
        return 1
    return ceil((1 + size_of(args[1])) * STRING_FACTOR) * ceil(regex_size * REGEX_FACTOR)


def _membership(args: Sequence[Any], result: Any) -> int:
    return size_of(args[1])


def _comparison(args: Sequence[Any], result: Any) -> int:
    return traversal_cost(min(size_of(args[0]), size_of(args[1])))


def _concatenation(args: Sequence[Any], result: Any) -> int:
    return traversal_cost(size_of(args[0]) + size_of(args[1]))


def _substring_search(args: Sequence[Any], result: Any) -> int:
    return traversal_cost(size_of(args[0])) * traversal_cost(size_of(args[1]))


# --- networks ---------------------------------------------------------------------------------------------


def _contains_ip(args: Sequence[Any], result: Any) -> int:
    return ceil(size_of(args[0]) * 2 * STRING_FACTOR)


def _contains_ip_text(args: Sequence[Any], result: Any) -> int:
    return _contains_ip(args, result) + traversal_cost(size_of(args[1]))


def _contains_cidr(args: Sequence[Any], result: Any) -> int:
    return _contains_ip(args, result) + traversal_cost(size_of(args[0])) + 1


def _contains_cidr_text(args: Sequence[Any], result: Any) -> int:
    return _contains_cidr(args, result) + traversal_cost(size_of(args[1]))


# --- lists and sets ---------------------------------------------------------------------------------------


def _new_list(args: Sequence[Any], result: Any) -> int:
    return _list_call(1, size_of(result))


def _flatten(args: Sequence[Any], result: Any) -> int:
    depth = 1
    if len(args) == 2:
        if type(args[1]) is not int:
            raise CancelledError("internal error: interface conversion: ref.Val is *types.Err, not types.Int")
        depth = args[1]
    return _list_call(depth, size_of(args[0]))


def _self_comparison(position: int) -> CallCost:
    def cost(args: Sequence[Any], result: Any) -> int:
        items = args[position]
        if not isinstance(items, list):
            raise CancelledError(f"internal error: interface conversion: {_no_list(items)}")
        is_text = bool(items) and isinstance(items[0], str | bytes)
        return _list_call(2.0 + STRING_FACTOR if is_text else 2.0, len(items) ** 2)

    return cost


def _no_list(value: Any) -> str:
    """The panic of the original, which asks for the size of something that is no list."""
    name = "*types.Err" if isinstance(value, EvaluationError) else go_type(value)
    method = "Contains" if type(value) in _WITH_ADDITION else "Add"
    return f"{name} is not traits.Lister: missing method {method}"


def _list_call(factor: float, size: int) -> int:
    return int(size * factor) + 1 + LIST_COST


def _set_comparison(factor: int) -> CallCost:
    def cost(args: Sequence[Any], result: Any) -> int:
        return 1 + size_of(args[0]) * size_of(args[1]) * factor

    return cost


#: A call that costs 1 whatever its arguments.
CHEAP: Final[CallCost] = _cheap

_BY_OVERLOAD: dict[str, CallCost] = {
    "list_slice": _new_list,
    "lists_range": _new_list,
    "list_reverse": _new_list,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _self_comparison(0),
    "list_sets_contains_list": _set_comparison(1),
    "list_sets_intersects_list": _set_comparison(1),
    "list_sets_equivalent_list": _set_comparison(2),
    "cidr_ip": _cheap,
    "cidr_contains_ip_string": _contains_ip_text,
    "cidr_contains_cidr_string": _contains_cidr_text,
    "starts_with_string": _traversal,
    "ends_with_string": _traversal,
    "string_to_bytes": _traversal,
    "bytes_to_string": _traversal,
    "strings_quote": _traversal,
    "string_format": _traversal,
    "in_list": _membership,
    "add_string": _concatenation,
    "add_bytes": _concatenation,
    "matches_string": _regex,
    "contains_string": _substring_search,
}
for _type in ("string", "bytes"):
    for _operator in ("less", "less_equals", "greater", "greater_equals"):
        _BY_OVERLOAD[f"{_operator}_{_type}"] = _comparison
for _type in ("bool", "bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int", "string",
              "uint"):  # fmt: skip
    _BY_OVERLOAD[f"list_{_type}_sort"] = _self_comparison(0)
    _BY_OVERLOAD[f"list_{_type}_sortByAssociatedKeys"] = _self_comparison(1)

_BY_FUNCTION: dict[str, CallCost] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _whole_tree),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _traversal),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _traversal),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip"), _traversal),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _traversal_and_copy),
    **dict.fromkeys(("find", "findAll"), _regex),
    "join": _join,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validation,
}


def call_cost(function: str, overload: str) -> CallCost:
    """How a call is paid for. The overload is empty where the values decide which one it is."""
    return _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(function) or CHEAP
