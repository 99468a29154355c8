"""Resolves plain YAML scalars as kube-scheduler's YAML parser does.

That is YAML 1.1 with Go's number syntax: `yes`, `on` and `n` are booleans, `010` is eight, `0x10` is
sixteen, `1_0` is ten, `4.0` and `1e1` are whole numbers; base-60 numbers and dates stay strings.
"""

from __future__ import annotations

import re

from bayplan.config.tree import ScalarValue

_WORDS: dict[str, ScalarValue] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_GO_INT = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))\Z")
_BASES = (16, 8, 2, 10)
_LARGEST_UINT64 = 2**64 - 1
_SMALLEST_INT64 = -(2**63)
#: From here on Go's JSON encoder writes a float with an exponent, which integer fields do not accept.
_EXPONENT_FROM = 1e21


def resolve(text: str) -> ScalarValue:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if text[0] == ".":
        return _resolve_float(text, text)
    digits = text.replace("_", "")
    number = _resolve_int(digits)
    return number if number is not None else _resolve_float(digits, text)


def _resolve_int(digits: str) -> int | None:
    match = _GO_INT.match(digits)
    if not match:
        return None
    sign, *bodies = match.groups()
    value = next(int(body, base) for body, base in zip(bodies, _BASES, strict=True) if body is not None)
    value = -value if sign == "-" else value
    if sign == "+" and value > 2**63 - 1:
        return None  # Go reads unsigned 64-bit numbers without a sign only
    return value if _SMALLEST_INT64 <= value <= _LARGEST_UINT64 else None


def _resolve_float(digits: str, text: str) -> ScalarValue:
    if not _FLOAT.match(digits):
        return text
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        return text  # out of range for a float64: Go leaves the string
    return int(value) if value.is_integer() and abs(value) < _EXPONENT_FROM else value
