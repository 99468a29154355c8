"""Quantities: `quantity("40Gi")` and what can be done with it."""

from __future__ import annotations

from typing import Any

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.cel_types import QUANTITY
from bayplan.cel.checking.declarations import Library
from bayplan.cel.runtime.cel_values import MAX_INT, MIN_INT, register
from bayplan.model.quantity import DECIMAL_EXPONENT, Quantity, QuantityError


class ComputedQuantity(Quantity):
    """The result of a sum or difference. No other quantity can be compared with it by `==`; so it is upstream."""

    __slots__ = ()


register(Quantity, QUANTITY)
register(ComputedQuantity, QUANTITY, compared_with=Quantity)

_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX = "unable to parse quantity's suffix"
_NUMERIC = "unable to parse numeric part of quantity"


def _parse(text: str) -> Quantity:
    try:
        return _read(text)
    except QuantityError:
        raise EvaluationError(_complaint(text)) from None


def _read(text: str) -> Quantity:
    """As Kubernetes reads it from CEL, where white space around it is not ignored."""
    if text != text.strip():
        raise QuantityError(text, "white space")
    return Quantity.parse(text)


def _complaint(text: str) -> str:
    """What Kubernetes says about a text that is no quantity."""
    digits = text.lstrip("+-") if text[:1] in ("+", "-") else text
    number = len(digits) - len(digits.lstrip("0123456789."))
    if not text or number == 0 or digits[:number].count(".") > 1:
        return _FORMAT
    suffix = digits[number:]
    allowed = suffix.lstrip("eEinumkKMGTP").lstrip(
        "+-",
    )
    return _FORMAT if allowed.strip("0123456789") else _SUFFIX


def _is_quantity(text: str) -> bool:
    try:
        _read(text)
    except QuantityError:
        return False
    return True


def compare_quantities(first: Quantity, second: Quantity) -> int:
    """-1, 0 or 1."""
    left, right = first.unscaled, second.unscaled
    if first.scale != second.scale:
        scale = min(first.scale, second.scale)
        left *= 10 ** (first.scale - scale)
        right *= 10 ** (second.scale - scale)
    return (left > right) - (left < right)


def _is_greater(first: Quantity, second: Quantity) -> bool:
    return compare_quantities(first, second) > 0


def _is_less(first: Quantity, second: Quantity) -> bool:
    return compare_quantities(first, second) < 0


def _as_int64(quantity: Quantity) -> int | None:
    """The number if it fits; a big decimal never does, nor one that has decimals, even if they are zero."""
    if quantity.big or quantity.scale < 0:
        return None
    number = int(quantity.unscaled * 10 ** min(quantity.scale, 20)) if quantity.unscaled else 0
    return number if MIN_INT <= number <= MAX_INT else None


def _as_integer(quantity: Quantity) -> int:
    number = _as_int64(quantity)
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def _as_float(quantity: Quantity) -> float:
    if quantity.unscaled == 0:
        return 0.0
    if quantity.scale == 0:
        return float(quantity.unscaled)
    return float(quantity.unscaled) * 10.0**quantity.scale


def _of_int(number: int) -> Quantity:
    return Quantity(number, 0, DECIMAL_EXPONENT)


def _add(first: Quantity, second: Any) -> Quantity:
    return _computed(first + (second if isinstance(second, Quantity) else _of_int(second)))


def _sub(first: Quantity, second: Any) -> Quantity:
    return _computed(first - (second if isinstance(second, Quantity) else _of_int(second)))


def _computed(quantity: Quantity) -> Quantity:
    return ComputedQuantity(quantity.unscaled, quantity.scale, quantity.format, big=quantity.big)


def declare_quantities() -> Library:
    """Kubernetes' quantity library."""
    library = Library()
    add = library.overload
    add("quantity", "(string) -> quantity", "string_to_quantity", _parse)
    add("isQuantity", "(string) -> bool", "is_quantity_string", _is_quantity)
    add("sign", "(quantity) -> int", "quantity_sign", lambda quantity: quantity.sign)
    add("isGreaterThan", "quantity.(quantity) -> bool", "quantity_is_greater_than", _is_greater)
    add("isLessThan", "quantity.(quantity) -> bool", "quantity_is_less_than", _is_less)
    add("compareTo", "quantity.(quantity) -> int", "quantity_compare_to", compare_quantities)
    add("asApproximateFloat", "quantity.() -> double", "quantity_get_float", _as_float)
    add("asInteger", "quantity.() -> int", "quantity_get_int", _as_integer)
    add("isInteger", "quantity.() -> bool", "quantity_is_integer", lambda each: _as_int64(each) is not None)
    add("add", "quantity.(quantity) -> quantity", "quantity_add", _add)
    add("add", "quantity.(int) -> quantity", "quantity_add_int", _add)
    add("sub", "quantity.(quantity) -> quantity", "quantity_sub", _sub)
    add("sub", "quantity.(int) -> quantity", "quantity_sub_int", _sub)
    return library
