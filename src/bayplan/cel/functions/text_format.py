"""`"%s has %d".format([a, b])`: the clauses, what they take and how they print it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.cel_types import CelType
from bayplan.cel.functions.conversions import string_of_duration
from bayplan.cel.functions.quoting import go_quote
from bayplan.cel.functions.time_text import rfc3339
from bayplan.cel.runtime.cel_values import Duration, Timestamp, Uint, map_keys, type_of_value
from bayplan.cel.runtime.display import go_float

_DEFAULT_PRECISION = 6
_SPECIAL_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
#: Clause → what is said to an argument of another type.
COMPLAINTS = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
    "durations, and timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
_PRECISION = re.compile(r"\.([0-9]*)")


class FormatError(ValueError):
    """A text that is no format."""


class Clause(NamedTuple):
    """A `%d` of a format, and the text before it; the last text has no clause."""

    text: str
    letter: str = ""
    precision: int | None = None


def read_format(text: str) -> Iterator[Clause]:
    """The clauses of a format. Raises FormatError at the one that is wrong."""
    at = 0
    literal = ""
    while (percent := text.find("%", at)) >= 0:
        literal += text[at:percent]
        if text[percent + 1 : percent + 2] == "%":
            literal += "%"
            at = percent + 2
            continue
        yield Clause(literal, "%")
        if percent + 1 >= len(text):
            raise FormatError("unexpected end of string")
        letter, precision, at = _read_clause(text, percent + 1)
        yield Clause("", letter, precision)
        literal = ""
    yield Clause(literal + text[at:])


def _read_clause(text: str, at: int) -> tuple[str, int | None, int]:
    prefix = "could not parse formatting clause"
    precision = None
    found = _PRECISION.match(text, at)
    if found is not None:
        at = found.end()
        if at >= len(text):
            raise FormatError(
                f"{prefix}: error while parsing precision: could not find end of precision specifier"
            )
        if not found[1]:
            raise FormatError(
                f"{prefix}: error while parsing precision: error while converting precision to integer: "
                'strconv.Atoi: parsing "": invalid syntax'
            )
        precision = int(found[1])
    letter = text[at]
    if letter.lower() not in COMPLAINTS or letter in "SDFEBO":
        first_byte = chr(letter.encode(errors="replace")[0])
        raise FormatError(f'{prefix}: unrecognized formatting clause "{first_byte}"')
    return letter, precision, at + 1


def format_text(text: str, args: list[Any]) -> str:
    """The text with its clauses replaced. Raises EvaluationError."""
    parts: list[str] = []
    taken = 0
    try:
        for clause in read_format(text):
            parts.append(clause.text)
            if clause.letter == "%":
                if taken >= len(args):
                    raise FormatError(f"index {taken} out of range")
            elif clause.letter:
                parts.append(_format(clause, args[taken]))
                taken += 1
    except FormatError as error:
        raise EvaluationError(str(error)) from None
    return "".join(parts)


def _format(clause: Clause, value: Any) -> str:
    try:
        return _FORMATTERS[clause.letter.lower()](clause, value)
    except _Unsuitable:
        complaint = COMPLAINTS[clause.letter.lower()]
        message = f"error during formatting: {complaint}, was given {type_of_value(value).name}"
        raise FormatError(message) from None


class _Unsuitable(Exception):
    pass


def _string(clause: Clause, value: Any) -> str:
    return string_clause(value)


def string_clause(value: Any) -> str:
    """A value as `%s` prints it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return go_float(value)
        case str():
            return value
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                message = 'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string'
                raise FormatError(f"error during formatting: {message}") from None
        case list():
            return f"[{', '.join(map(_nested, value))}]"
        case dict():
            return _map_text(value)
        case Timestamp():
            return rfc3339(value)
        case Duration():
            return string_of_duration(value)
        case CelType():
            return value.name
    raise _Unsuitable


def _map_text(value: dict[Any, Any]) -> str:
    entries = []
    for key, item in zip(map_keys(value), value.values(), strict=True):
        if not isinstance(key, str | int):
            name = type_of_value(key).name
            raise FormatError(f"error during formatting: no formatting function for map key of type {name}")
        entries.append((_nested(key), _nested(item)))
    return f"{{{', '.join(f'{key}:{item}' for key, item in sorted(entries, key=lambda entry: entry[0]))}}}"


def _nested(value: Any) -> str:
    """A value inside a list or map, as a literal of CEL."""
    match value:
        case str():
            return go_quote(value)
        case bytes():
            return f"b{go_quote(string_clause(value))}"
        case float():
            special = value != value or abs(value) == float("inf")
            return go_quote(go_float(value)) if special else f"{value:.6f}"
        case Timestamp():
            return f"timestamp({go_quote(rfc3339(value))})"
        case Duration():
            return f"duration({go_quote(string_of_duration(value))})"
    try:
        return string_clause(value)
    except _Unsuitable:
        name = type_of_value(value).name
        raise FormatError(f"error during formatting: no formatting function for {name}") from None


def _decimal(clause: Clause, value: Any) -> str:
    if type(value) not in (int, Uint):
        raise _Unsuitable
    return str(int(value))


def _number(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in _SPECIAL_NUMBERS:
        return _SPECIAL_NUMBERS[value]
    raise _Unsuitable


def _fixed(clause: Clause, value: Any) -> str:
    number = _number(value)
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    return _special(number) or f"{number:,.{precision}f}"


def _scientific(clause: Clause, value: Any) -> str:
    """In the way of American English: 1.5 × 10⁰³."""
    number = _number(value)
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    special = _special(number)
    if special:
        return special
    mantissa, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
    digits = exponent.translate(str.maketrans("+-0123456789", "⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹")).removeprefix("⁺")
    return f"{mantissa}×10{digits}".rjust(precision)


def _special(number: float) -> str:
    if number != number:
        return "NaN"
    if abs(number) == float("inf"):
        return "∞" if number > 0 else "-∞"
    return ""


def _binary(clause: Clause, value: Any) -> str:
    if type(value) is bool:
        return "1" if value else "0"
    return _in_base(value, "b")


def _octal(clause: Clause, value: Any) -> str:
    return _in_base(value, "o")


def _hexadecimal(clause: Clause, value: Any) -> str:
    if type(value) is str:
        value = value.encode(errors="surrogatepass")
    text = value.hex() if type(value) is bytes else _in_base(value, "x")
    return text.upper() if clause.letter == "X" else text


def _in_base(value: Any, base: str) -> str:
    if type(value) not in (int, Uint):
        raise _Unsuitable
    return format(int(value), base)


_FORMATTERS: dict[str, Callable[[Clause, Any], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hexadecimal,
    "o": _octal,
}
