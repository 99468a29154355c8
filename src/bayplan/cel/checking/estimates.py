"""The cost that an expression may have at most, from the sizes of its inputs; API validation asks for it.

Sizes and costs are ranges of unsigned 64-bit numbers that stop at the largest. Every node gets a cost; nodes whose
size is known, because it is written out or because of where they come from, also get that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple

from bayplan.cel.checking.cel_types import CelType, Kind, unwrap_optional
from bayplan.cel.syntax.expression import (
    Call,
    Comprehension,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Select,
)
from bayplan.cel.syntax.macros import ACCUMULATOR

_MAX: Final = 2**64 - 1
_LIST_COST: Final = 10
_MAP_COST: Final = 30
_MESSAGE_COST: Final = 40
STRING_FACTOR: Final = 0.1
REGEX_FACTOR: Final = 0.25
_SCALARS: Final = (Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT)

#: A place in the inputs: a variable, then fields, `@items`, `@keys` and `@values`.
Path = tuple[str, ...]


class Range(NamedTuple):
    """From and to."""

    low: int
    high: int

    def __add__(self, other: tuple[int, ...]) -> Range:  # type: ignore[override]
        return Range(min(self.low + other[0], _MAX), min(self.high + other[1], _MAX))

    def times(self, other: Range) -> Range:
        """The product."""
        return Range(min(self.low * other.low, _MAX), min(self.high * other.high, _MAX))

    def scaled(self, factor: float) -> Range:
        """Times a factor, rounded up."""
        return Range(_scaled(self.low, factor), _scaled(self.high, factor))

    def union(self, other: Range) -> Range:
        """Both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


def _scaled(number: int, factor: float) -> int:
    product = float(number) * factor
    return _MAX if product >= 2.0**64 else min(ceil(product), _MAX)


UNKNOWN: Final = Range(0, _MAX)
NOTHING: Final = Range(0, 0)


def fixed(number: int) -> Range:
    """Exactly this."""
    return Range(number, number)


class EntrySize(NamedTuple):
    """The sizes of what is in a list or map."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: EntrySize | None) -> EntrySize | None:
        """Both, if both are known."""
        if other is None:
            return None
        return EntrySize(self.is_list, self.key.union(other.key), self.value.union(other.value))


@dataclass(slots=True)
class SizedNode:
    """A target or an argument, as the costs of functions see it."""

    path: Path
    type: CelType
    #: The size as far as the expression itself says.
    size: Range | None
    literal: Any = None


class CallEstimate(NamedTuple):
    """What a call costs, and the size of its result if that is known."""

    cost: Range
    size: Range | None = None


#: The size of a place in the inputs, or None.
SizeOfPath = Callable[[Path], Range | None]
#: Function, overload, target and arguments → its estimate, or None for that of the language.
EstimateCall = Callable[[str, str, SizedNode | None, Sequence[SizedNode], SizeOfPath], CallEstimate | None]


@dataclass(slots=True)
class _Local:
    path: Path
    size: Range | None
    entry: EntrySize | None


def estimate_cost(tree: Expression, size_of_path: SizeOfPath, estimate_call: EstimateCall) -> Range:
    """What an evaluation of a checked expression costs."""
    return _Estimator(size_of_path, estimate_call).cost(tree)


class _Estimator:
    def __init__(self, size_of_path: SizeOfPath, estimate_call: EstimateCall) -> None:
        self._size_of_path = size_of_path
        self._estimate_call = estimate_call
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, EntrySize] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, node: Expression) -> Range:
        match node:
            case Literal():
                return NOTHING
            case Identifier():
                return self._identifier_cost(node)
            case Select():
                return self._select_cost(node)
            case Call():
                return self._call_cost(node)
            case ListLiteral():
                return self._list_cost(node)
            case MapLiteral():
                return self._map_cost(node)
            case MessageLiteral():
                return self._sum(node.children()) + fixed(_MESSAGE_COST)
            case Comprehension():
                return self._bind_cost(node) if _is_bind(node) else self._fold_cost(node)
        return NOTHING

    def _sum(self, nodes: Any) -> Range:
        total = NOTHING
        for node in nodes:
            total = total + self.cost(node)
        return total

    # --- names ----------------------------------------------------------------------------------------

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _identifier_cost(self, node: Identifier) -> Range:
        local = self._local(node.name)
        self._paths[id(node)] = (node.name,) if local is None else local.path
        return fixed(1)

    def _select_cost(self, node: Select) -> Range:
        if node.resolved is not None:
            return fixed(1)
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if node.operand.type.kind in (Kind.MAP, Kind.STRUCT, Kind.PARAMETER):
            total = total + fixed(1)
        self._paths[id(node)] = (*self._path(node.operand), node.field_name)
        return total

    def _path(self, node: Expression) -> Path:
        if isinstance(node, Identifier) and (local := self._local(node.name)) is not None:
            return local.path
        return self._paths.get(id(node), ())

    # --- sizes ----------------------------------------------------------------------------------------

    def size(self, node: Expression) -> Range | None:
        """The size of a node, if it is known."""
        known = self._sizes.get(id(node)) or _written_size(node)
        if known is not None:
            return known
        path = self._path(node)
        found = self._size_of_path(path) if path else None
        if found is not None:
            self._sizes[id(node)] = found
            return found
        if _is_scalar(node.type):
            return fixed(1)
        if isinstance(node, Identifier) and (local := self._local(node.name)) is not None:
            return local.size
        return None

    def _size_or_unknown(self, node: Expression) -> Range:
        size = self.size(node)
        return UNKNOWN if size is None else size

    def _entry(self, node: Expression) -> EntrySize | None:
        found = self._entries.get(id(node))
        if found is None and isinstance(node, Identifier) and (local := self._local(node.name)) is not None:
            return local.entry
        return found

    def _copy_sizes(self, target: Expression, source: Expression) -> None:
        size, entry = self.size(source), self._entry(source)
        if size is not None:
            self._sizes[id(target)] = size
        if entry is not None:
            self._entries[id(target)] = entry

    def _sized(self, node: Expression) -> SizedNode:
        path = self._path(node)
        if path and path[0] == ACCUMULATOR:
            path = ()
        literal = node.value if isinstance(node, Literal) else None
        return SizedNode(path, node.type, self.size(node), literal)

    # --- literals -------------------------------------------------------------------------------------

    def _list_cost(self, node: ListLiteral) -> Range:
        total = self._sum(node.elements)
        sizes = [self._size_or_unknown(element) for element in node.elements]
        self._entries[id(node)] = EntrySize(True, fixed(1), _union(sizes))
        return total + fixed(_LIST_COST)

    def _map_cost(self, node: MapLiteral) -> Range:
        total = self._sum(node.children())
        keys = [self._size_or_unknown(entry.key) for entry in node.entries]
        values = [self._size_or_unknown(entry.value) for entry in node.entries]
        self._entries[id(node)] = EntrySize(False, _union(keys), _union(values))
        return total + fixed(_MAP_COST)

    # --- comprehensions -------------------------------------------------------------------------------

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _push_value(self, name: str, node: Expression) -> None:
        self._push(name, _Local(self._path(node), self.size(node), self._entry(node)))

    def _push_iteration(self, node: Comprehension) -> None:
        ranged = node.iter_range
        entry = self._entry(ranged)
        is_list = ranged.type.kind is Kind.LIST if entry is None else entry.is_list
        path = self._path(ranged)
        key = None if entry is None else entry.key
        value = None if entry is None else entry.value
        if node.iter_var2:
            self._push(node.iter_var, _Local((*path, "@indices" if is_list else "@keys"), key, None))
            self._push(node.iter_var2, _Local((*path, "@items" if is_list else "@values"), value, None))
        elif is_list:
            self._push(node.iter_var, _Local((*path, "@items"), value, None))
        else:
            self._push(node.iter_var, _Local((*path, "@keys"), key, None))

    def _fold_cost(self, node: Comprehension) -> Range:
        total = self.cost(node.iter_range) + self.cost(node.accu_init)
        self._push_value(node.accu_var, node.accu_init)
        self._push_iteration(node)
        turn = self.cost(node.condition) + self.cost(node.step)
        self._locals[node.iter_var].pop()
        if node.iter_var2:
            self._locals[node.iter_var2].pop()
        total = total + self.cost(node.result)
        self._locals[node.accu_var].pop()
        count = self._size_or_unknown(node.iter_range)
        self._set_fold_size(node, count)
        return total + count.times(turn)

    def _set_fold_size(self, node: Comprehension, count: Range) -> None:
        if isinstance(node.accu_init, Literal):
            size = self.size(node.accu_init)
            if size is not None:
                self._sizes[id(node)] = size
        elif isinstance(node.accu_init, ListLiteral | MapLiteral):
            self._sizes[id(node)] = count
            entry = self._entry(node.step)
            if entry is not None:
                self._entries[id(node)] = entry

    def _bind_cost(self, node: Comprehension) -> Range:
        total = self.cost(node.iter_range) + self.cost(node.accu_init)
        self._push_value(node.accu_var, node.accu_init)
        total = total + self.cost(node.result)
        self._locals[node.accu_var].pop()
        self._copy_sizes(node, node.result)
        return total

    # --- calls ----------------------------------------------------------------------------------------

    def _call_cost(self, node: Call) -> Range:
        if node.function == "dyn":
            total = self.cost(node.args[0]) + fixed(1)
            self._copy_sizes(node, node.args[0])
            return total
        if node.function in ("_&&_", "_||_"):
            return self._logical_cost(node.args)
        costs = [self.cost(arg) for arg in node.args]
        if not node.overloads:
            return NOTHING
        total = NOTHING if node.target is None else self.cost(node.target)
        target = None if node.target is None else self._sized(node.target)
        args = [self._sized(arg) for arg in node.args]
        call: Range | None = None
        size: Range | None = None
        for overload in node.overloads:
            estimate = self._overload_estimate(node, overload, target, args, costs)
            call = estimate.cost if call is None else call.union(estimate.cost)
            if estimate.size is not None:
                size = estimate.size if size is None else size.union(estimate.size)
            if overload in ("index_list", "index_map"):
                entry = self._entry(node.args[0])
                size = None if entry is None else entry.value
                part = "@items" if overload == "index_list" else "@values"
                self._paths[id(node)] = (*self._path(node.args[0]), part)
            if size is None:
                size = self.size(node)
        if size is not None:
            self._sizes[id(node)] = size
        return total + (NOTHING if call is None else call)

    def _logical_cost(self, args: Sequence[Expression]) -> Range:
        """The cheapest is the first alone; a chain is a balanced tree in the original."""
        costs = [self.cost(arg) for arg in args]
        return _balanced(costs)

    def _overload_estimate(
        self,
        node: Call,
        overload: str,
        target: SizedNode | None,
        args: Sequence[SizedNode],
        costs: Sequence[Range],
    ) -> CallEstimate:
        total = NOTHING
        for cost in costs:
            total = total + cost
        if overload == "conditional":
            return self._conditional_estimate(node, costs)
        special = self._estimate_call(node.function, overload, target, args, self._size_of_path)
        if special is not None:
            return CallEstimate(special.cost + total, special.size)
        if overload in ("add_string", "add_bytes", "add_list"):
            return self._sum_estimate(node, overload, total)
        sizes = [_known(arg.size) for arg in args]
        found = _LANGUAGE.get(overload)
        if found is not None:
            estimate = found(None if target is None else _known(target.size), sizes)
            return CallEstimate(estimate.cost + total, estimate.size)
        return CallEstimate(total + fixed(1))

    def _conditional_estimate(self, node: Call, costs: Sequence[Range]) -> CallEstimate:
        yes, no = node.args[1], node.args[2]
        entry = self._entry(yes)
        joined = None if entry is None else entry.union(self._entry(no))
        if joined is not None:
            self._entries[id(node)] = joined
        size = self._size_or_unknown(yes).union(self._size_or_unknown(no))
        return CallEstimate(costs[0] + costs[1].union(costs[2]), size)

    def _sum_estimate(self, node: Call, overload: str, total: Range) -> CallEstimate:
        left, right = node.args
        size = self._size_or_unknown(left) + self._size_or_unknown(right)
        entry = self._entry(left)
        joined = None if entry is None else entry.union(self._entry(right))
        if joined is not None:
            self._entries[id(node)] = joined
        own = fixed(1) if overload == "add_list" else size.scaled(STRING_FACTOR)
        return CallEstimate(own + total, size)


def _balanced(costs: Sequence[Range]) -> Range:
    if len(costs) == 1:
        return costs[0]
    middle = (len(costs) - 1) // 2 + 1
    left, right = _balanced(costs[:middle]), _balanced(costs[middle:])
    return Range(left.low, (left + right).high)


def _union(sizes: Sequence[Range]) -> Range:
    if not sizes:
        return NOTHING
    return Range(min(size.low for size in sizes), max(size.high for size in sizes))


def _known(size: Range | None) -> Range:
    return UNKNOWN if size is None else size


def _written_size(node: Expression) -> Range | None:
    """The size of what is written out."""
    if isinstance(node, Literal):
        return fixed(len(node.value) if isinstance(node.value, str | bytes) else 1)
    if isinstance(node, ListLiteral):
        return fixed(len(node.elements))
    return fixed(len(node.entries)) if isinstance(node, MapLiteral) else None


def _is_scalar(cel_type: CelType) -> bool:
    inner, is_optional = unwrap_optional(cel_type)
    return _is_scalar(inner) if is_optional and cel_type.params else cel_type.kind in _SCALARS


def _is_bind(node: Comprehension) -> bool:
    no_range = isinstance(node.iter_range, ListLiteral) and not node.iter_range.elements
    never = isinstance(node.condition, Literal) and node.condition.value is False
    return no_range and never and node.accu_var != ACCUMULATOR


# --- functions of the language ----------------------------------------------------------------------------

_Sizes = Sequence[Range]


def _of_first(target: Range | None, sizes: _Sizes) -> CallEstimate:
    return CallEstimate(sizes[0].scaled(STRING_FACTOR))


def _format(target: Range | None, sizes: _Sizes) -> CallEstimate:
    return CallEstimate(_known(target).scaled(STRING_FACTOR))


def _to_bytes(target: Range | None, sizes: _Sizes) -> CallEstimate:
    # The original lets the product overflow.
    return CallEstimate(sizes[0].scaled(STRING_FACTOR), Range(sizes[0].low, sizes[0].high * 4 & _MAX))


def _of_bytes(target: Range | None, sizes: _Sizes) -> CallEstimate:
    return CallEstimate(sizes[0].scaled(STRING_FACTOR), Range(sizes[0].low // 4, sizes[0].high))


def _quote(target: Range | None, sizes: _Sizes) -> CallEstimate:
    size = Range(sizes[0].low + 2 & _MAX, sizes[0].high * 2 + 2 & _MAX)
    return CallEstimate(sizes[0].scaled(STRING_FACTOR), size)


def _in_list(target: Range | None, sizes: _Sizes) -> CallEstimate:
    return CallEstimate(sizes[1].scaled(1))


def _matches(target: Range | None, sizes: _Sizes) -> CallEstimate:
    text = (_known(target) + fixed(1)).scaled(STRING_FACTOR)
    return CallEstimate(text.times(sizes[0].scaled(REGEX_FACTOR)))


def _contains(target: Range | None, sizes: _Sizes) -> CallEstimate:
    return CallEstimate(_known(target).scaled(STRING_FACTOR).times(sizes[0].scaled(STRING_FACTOR)))


def _comparison(target: Range | None, sizes: _Sizes) -> CallEstimate:
    high = min(sizes[0].high, sizes[1].high)
    return CallEstimate(Range(1 if high else 0, high).scaled(STRING_FACTOR))


_LANGUAGE: dict[str, Callable[[Range | None, _Sizes], CallEstimate]] = {
    "string_format": _format,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _of_bytes,
    "strings_quote": _quote,
    "starts_with_string": _of_first,
    "ends_with_string": _of_first,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    "equals": _comparison,
    "not_equals": _comparison,
    **{
        f"{operator}_{kind}": _comparison
        for operator in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}
