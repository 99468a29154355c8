"""What the functions of Kubernetes and of the extensions cost at most; see `checking.estimates`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Final

from bayplan.cel.checking.cel_types import CIDR, FORMAT, IP, QUANTITY, SEMVER, STRING, URL, CelType, Kind
from bayplan.cel.checking.estimates import (
    NOTHING,
    REGEX_FACTOR,
    STRING_FACTOR,
    UNKNOWN,
    CallEstimate,
    Path,
    Range,
    SizedNode,
    SizeOfPath,
    fixed,
)

_MAX: Final = 2**64 - 1
_MAX_NAME_REGEX: Final = 128
_MAX_FORMAT: Final = 64
_ADDRESS: Final = Range(4, 16)


class _Operands:
    """Target and arguments of a call, whose sizes can be asked for."""

    def __init__(self, target: SizedNode | None, args: Sequence[SizedNode], size_of_path: SizeOfPath) -> None:
        self.target = target
        self.args = args
        self._size_of_path = size_of_path

    def size(self, node: SizedNode) -> Range:
        if node.size is not None:
            return node.size
        return self.size_at(node.path)

    def size_at(self, path: Path) -> Range:
        found = self._size_of_path(path) if path else None
        return UNKNOWN if found is None else found

    def target_size(self) -> Range:
        return NOTHING if self.target is None else self.size(self.target)

    def element(self) -> tuple[CelType, Range] | None:
        """The type and size of the elements of a list."""
        if self.target is None or not self.target.type.params:
            return None
        path = (*self.target.path, "@items") if self.target.path else ()
        return self.target.type.params[0], self.size_at(path)


_Estimate = Callable[[_Operands, str], CallEstimate | None]


def estimate_call(
    function: str, overload: str, target: SizedNode | None, args: Sequence[SizedNode], size_of_path: SizeOfPath
) -> CallEstimate | None:
    """The estimate of a call, or None for that of the language."""
    operands = _Operands(target, args, size_of_path)
    estimate = _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(function)
    return None if estimate is None else estimate(operands, overload)


def _cheap(operands: _Operands, overload: str) -> CallEstimate:
    return CallEstimate(fixed(1))


def _parse(operands: _Operands, overload: str) -> CallEstimate:
    return CallEstimate(operands.size(operands.args[0]).scaled(STRING_FACTOR))


def _parse_sized(operands: _Operands, overload: str) -> CallEstimate:
    size = operands.size(operands.args[0])
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _parse_twice(operands: _Operands, overload: str) -> CallEstimate:
    return CallEstimate(operands.size(operands.args[0]).scaled(2 * STRING_FACTOR))


def _traverse(operands: _Operands, overload: str) -> CallEstimate:
    size = operands.target_size()
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _over_elements(operands: _Operands, overload: str) -> CallEstimate | None:
    element = operands.element()
    if element is None:
        return CallEstimate(operands.target_size().scaled(STRING_FACTOR))
    cel_type, size = element
    each = fixed(1)
    if cel_type.kind in (Kind.STRING, Kind.BYTES):
        each = each + size.scaled(STRING_FACTOR)
    return CallEstimate(operands.target_size().times(each))


def _replace(operands: _Operands, overload: str) -> CallEstimate:
    size = operands.target_size()
    old, new = (operands.size(arg) for arg in operands.args[:2])
    high_count, high_kept = _replaced(size.high, old.low, longer=new.high > old.low)
    low_count, low_kept = _replaced(size.low, old.high, longer=old.high > new.low)
    result = Range(low_count, high_count).times(new) + Range(low_kept, high_kept)
    return CallEstimate(size.scaled(2 * STRING_FACTOR), result)


def _replaced(size: int, old: int, *, longer: bool) -> tuple[int, int]:
    """How often a part is replaced, and how much is kept, at the end of a range."""
    if old == 0:
        return min(size + 1, _MAX), size
    return (min(ceil(float(size) / float(old)), _MAX), 0) if longer else (0, size)


def _split(operands: _Operands, overload: str) -> CallEstimate:
    size = operands.target_size()
    high = size.high
    if len(operands.args) > 1 and type(operands.args[1].literal) is int:
        high = operands.args[1].literal & _MAX
    return CallEstimate(size.scaled(2 * STRING_FACTOR), Range(0, high))


def _join(operands: _Operands, overload: str) -> CallEstimate:
    count = operands.target_size()
    element = operands.element()
    size = NOTHING if element is None else count.times(element[1])
    if operands.args:
        gaps = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size + operands.size(operands.args[0]).times(gaps)
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _find(operands: _Operands, overload: str) -> CallEstimate:
    size = operands.target_size()
    text = (size + fixed(1)).scaled(STRING_FACTOR)
    regex = operands.size(operands.args[0]).scaled(REGEX_FACTOR)
    return CallEstimate(text.times(regex), Range(0, size.high))


def _contains_ip(operands: _Operands, overload: str) -> CallEstimate:
    cost = (_ADDRESS + _ADDRESS).scaled(STRING_FACTOR)
    if overload == "cidr_contains_ip_string":
        cost = cost + operands.size(operands.args[0]).scaled(STRING_FACTOR)
    return CallEstimate(cost)


def _contains_cidr(operands: _Operands, overload: str) -> CallEstimate:
    cost = (_ADDRESS + _ADDRESS).scaled(STRING_FACTOR) + _ADDRESS.scaled(STRING_FACTOR) + fixed(1)
    if overload == "cidr_contains_cidr_string":
        cost = cost + operands.size(operands.args[0]).scaled(STRING_FACTOR)
    return CallEstimate(cost)


def _validate(operands: _Operands, overload: str) -> CallEstimate:
    size = operands.size(operands.args[0])
    return CallEstimate(size.scaled(STRING_FACTOR).scaled(_MAX_NAME_REGEX * REGEX_FACTOR))


def _equality(operands: _Operands, overload: str) -> CallEstimate | None:
    first, second = operands.args
    if first.type != second.type:
        return None
    if first.type in (IP, CIDR, QUANTITY, SEMVER):
        return CallEstimate(fixed(1))
    if first.type == FORMAT:
        return CallEstimate(Range(1, _MAX_FORMAT).scaled(STRING_FACTOR))
    if first.type == URL:
        # Only the right side counts upstream.
        high = 1 if second.size is None else second.size.high
        return CallEstimate(Range(1, high).scaled(STRING_FACTOR))
    return None


# --- lists and sets ---------------------------------------------------------------------------------------


def _new_list(factor: float, size: Range) -> CallEstimate:
    return CallEstimate(size.scaled(factor) + fixed(11), size)


def _number(node: SizedNode, default: int) -> int:
    """The value of a literal that is no less than zero."""
    return max(node.literal, 0) if type(node.literal) is int else default


def _slice(operands: _Operands, overload: str) -> CallEstimate:
    size = operands.target_size()
    start, end = _number(operands.args[0], 0), _number(operands.args[1], size.high)
    return _new_list(1, fixed((end - start) & _MAX))


def _range(operands: _Operands, overload: str) -> CallEstimate:
    return _new_list(1, fixed(_number(operands.args[0], _MAX)))


def _reverse(operands: _Operands, overload: str) -> CallEstimate:
    return _new_list(1, operands.target_size())


def _flatten(operands: _Operands, overload: str) -> CallEstimate:
    depth = _number(operands.args[0], _MAX) if operands.args else 1
    return _new_list(float(depth), operands.target_size())


def _distinct(operands: _Operands, overload: str) -> CallEstimate:
    size = operands.target_size()
    return _new_list(2.0, size.times(size))


def _sort(kind: str) -> _Estimate:
    factor = 2.0 + STRING_FACTOR if kind in ("string", "bytes") else 2.0

    def estimate(operands: _Operands, overload: str) -> CallEstimate:
        node = operands.args[0] if operands.args else operands.target
        size = NOTHING if node is None else operands.size(node)
        return _new_list(factor, size.times(size))

    return estimate


def _sets(factor: float) -> _Estimate:
    def estimate(operands: _Operands, overload: str) -> CallEstimate:
        first, second = (operands.size(arg) for arg in operands.args)
        return CallEstimate(first.times(second).scaled(factor) + fixed(1))

    return estimate


_BY_OVERLOAD: dict[str, _Estimate] = {
    "cidr_ip": _cheap,
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _distinct,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **{
        f"list_{kind}_{name}": _sort(kind)
        for kind in ("bool", "bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int",
                     STRING.name, "uint")
        for name in ("sort", "sortByAssociatedKeys")
    },
}  # fmt: skip

_BY_FUNCTION: dict[str, _Estimate] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_elements),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _traverse),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"), _parse),
    "url": _parse_sized,
    "ip.isCanonical": _parse_twice,
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "_==_": _equality,
}
