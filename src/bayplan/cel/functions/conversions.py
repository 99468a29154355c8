"""Conversions between types: `int("5")`, `string(1.5)`, `type(x)`, `dyn(x)`."""

from __future__ import annotations

import re
from typing import Any

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.cel_types import BOOL, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, CelType
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.operators import MAX_SECONDS, MIN_SECONDS, checked_int, checked_uint
from bayplan.cel.functions.time_text import parse_duration, parse_timestamp, rfc3339
from bayplan.cel.runtime.cel_values import MAX_INT, MAX_UINT, MIN_INT, Duration, Timestamp, Uint, type_of_value
from bayplan.cel.runtime.display import go_fixed, go_float

_INT = re.compile(r"[+-]?[0-9]+")
_UINT = re.compile(r"[0-9]+")
_HEX = r"0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
_DIGITS = "[0-9]+(?:_[0-9]+)*"
_DECIMAL = rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
_DOUBLE = re.compile(rf"[+-]?(?:{_DECIMAL}|{_HEX}|inf(?:inity)?|nan)", re.IGNORECASE)
_BOOLS = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)
_NANOS = 10**9
_MAX_DIGITS = 40


def _failure(source: CelType, target: CelType) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def _bool_of_string(text: str) -> bool:
    if text not in _BOOLS:
        raise _failure(STRING, BOOL)
    return _BOOLS[text]


def _bytes_of_string(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _string_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _double_of_string(text: str) -> float:
    if not _DOUBLE.fullmatch(text) or (text[0] in "+-" and text[1:].lower() == "nan"):
        raise _failure(STRING, DOUBLE)
    try:
        number = float.fromhex(text) if "x" in text.lower() else float(text)
    except OverflowError:
        raise _failure(STRING, DOUBLE) from None
    if number in (float("inf"), float("-inf")) and "inf" not in text.lower():
        raise _failure(STRING, DOUBLE)
    return number


def _int_of_string(text: str) -> int:
    if not _INT.fullmatch(text) or len(text) > _MAX_DIGITS or not MIN_INT <= int(text) <= MAX_INT:
        raise _failure(STRING, INT)
    return int(text)


def _uint_of_string(text: str) -> Uint:
    if not _UINT.fullmatch(text) or len(text) > _MAX_DIGITS or int(text) > MAX_UINT:
        raise _failure(STRING, UINT)
    return Uint(text)


def _int_of_double(number: float) -> int:
    if number != number or not MIN_INT < number < MAX_INT:
        raise EvaluationError("integer overflow")
    return int(number)


def _uint_of_double(number: float) -> Uint:
    if number != number or not 0 <= number < MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _duration_of_string(text: str) -> Duration:
    nanos = parse_duration(text)
    if nanos is None:
        raise _failure(STRING, DURATION)
    return Duration(nanos)


def _timestamp_of_string(text: str) -> Timestamp:
    time = parse_timestamp(text)
    if time is None:
        raise _failure(STRING, TIMESTAMP)
    return _checked(time)


def _timestamp_of_int(seconds: int) -> Timestamp:
    return _checked(Timestamp(seconds * _NANOS))


def _checked(time: Timestamp) -> Timestamp:
    if not MIN_SECONDS <= time.nanos // _NANOS <= MAX_SECONDS:
        raise EvaluationError("timestamp overflow")
    return time


def string_of_duration(duration: Duration) -> str:
    """A duration in seconds, as `string()` gives it."""
    whole, rest = divmod(abs(duration.nanos), _NANOS)
    seconds = whole + rest / 1e9
    return go_fixed(-seconds if duration.nanos < 0 else seconds) + "s"


def _identity(value: Any) -> Any:
    return value


def declare_conversions() -> Library:
    """All conversions."""
    library = Library()
    add = library.overload
    library.singleton("type", type_of_value, type="(A) -> type(A)")
    library.singleton("dyn", _identity, to_dyn="(A) -> dyn")
    add("bool", "(bool) -> bool", "bool_to_bool", _identity)
    add("bool", "(string) -> bool", "string_to_bool", _bool_of_string)
    add("bytes", "(bytes) -> bytes", "bytes_to_bytes", _identity)
    add("bytes", "(string) -> bytes", "string_to_bytes", _bytes_of_string)
    add("double", "(double) -> double", "double_to_double", _identity)
    add("double", "(int) -> double", "int64_to_double", float)
    add("double", "(string) -> double", "string_to_double", _double_of_string)
    add("double", "(uint) -> double", "uint64_to_double", float)
    add("duration", "(duration) -> duration", "duration_to_duration", _identity)
    add("duration", "(int) -> duration", "int64_to_duration", _duration_of_int)
    add("duration", "(string) -> duration", "string_to_duration", _duration_of_string)
    add("int", "(int) -> int", "int64_to_int64", _identity)
    add("int", "(double) -> int", "double_to_int64", _int_of_double)
    add("int", "(duration) -> int", "duration_to_int64", lambda duration: duration.nanos)
    add("int", "(string) -> int", "string_to_int64", _int_of_string)
    add("int", "(timestamp) -> int", "timestamp_to_int64", lambda time: time.nanos // _NANOS)
    add("int", "(uint) -> int", "uint64_to_int64", lambda number: checked_int(int(number)))
    add("string", "(string) -> string", "string_to_string", _identity)
    add("string", "(bool) -> string", "bool_to_string", lambda value: "true" if value else "false")
    add("string", "(bytes) -> string", "bytes_to_string", _string_of_bytes)
    add("string", "(double) -> string", "double_to_string", go_float)
    add("string", "(duration) -> string", "duration_to_string", string_of_duration)
    add("string", "(int) -> string", "int64_to_string", str)
    add("string", "(timestamp) -> string", "timestamp_to_string", rfc3339)
    add("string", "(uint) -> string", "uint64_to_string", lambda number: str(int(number)))
    add("timestamp", "(timestamp) -> timestamp", "timestamp_to_timestamp", _identity)
    add("timestamp", "(int) -> timestamp", "int64_to_timestamp", _timestamp_of_int)
    add("timestamp", "(string) -> timestamp", "string_to_timestamp", _timestamp_of_string)
    add("uint", "(uint) -> uint", "uint64_to_uint64", _identity)
    add("uint", "(double) -> uint", "double_to_uint64", _uint_of_double)
    add("uint", "(int) -> uint", "int64_to_uint64", checked_uint)
    add("uint", "(string) -> uint", "string_to_uint64", _uint_of_string)
    return library


def _duration_of_int(number: int) -> Any:
    raise _failure(INT, DURATION)
