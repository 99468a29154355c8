"""Durations in Go's notation (`metav1.Duration`): `15s`, `1m30s`, `500ms`, `1.5h`."""

from __future__ import annotations

import re
from typing import Self

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")
_LARGEST = 2**63 - 1


class Duration(int):
    """A duration in nanoseconds (int64)."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse Go's notation. Raises ValueError."""
        rest, negative = text, False
        if rest[:1] in ("-", "+"):
            negative, rest = rest[0] == "-", rest[1:]
        if rest == "0":
            return cls(0)
        if not rest:
            raise ValueError(f'"{text}" is not a duration; write for example 15s, 1m30s or 500ms')
        total = 0
        while rest:
            part, rest = _read_part(text, rest)
            total += part
            if total > _LARGEST + negative:
                raise ValueError(f'"{text}" is longer than the longest duration, 292 years')
        return cls(-total if negative else total)

    @classmethod
    def seconds(cls, count: float) -> Self:
        return cls(round(count * _UNITS["s"]))

    def total_seconds(self) -> float:
        return int(self) / _UNITS["s"]

    def __str__(self) -> str:
        if self == 0:
            return "0s"
        sign, rest = ("-", -int(self)) if self < 0 else ("", int(self))
        if rest < _UNITS["s"]:
            unit = next(unit for unit in ("ms", "µs", "ns") if rest >= _UNITS[unit])
            return sign + _decimal(rest, _UNITS[unit]) + unit
        minutes, rest = divmod(rest, _UNITS["m"])
        hours, minutes = divmod(minutes, 60)
        text = _decimal(rest, _UNITS["s"]) + "s"
        if hours:
            return f"{sign}{hours}h{minutes}m{text}"
        return f"{sign}{minutes}m{text}" if minutes else sign + text

    def __repr__(self) -> str:
        return f'Duration.parse("{self}")'


def _read_part(text: str, rest: str) -> tuple[int, str]:
    """The first number with its unit, in nanoseconds, and the rest of the text."""
    match = _PART.match(rest)
    whole, fraction, unit = match.groups(default="") if match else ("", "", "")
    if not whole and fraction in ("", "."):
        raise ValueError(f'"{text}" is not a duration; write for example 15s, 1m30s or 500ms')
    if not unit:
        raise ValueError(f'"{text}" is a duration without a unit; write {text}s for {text} seconds')
    if unit not in _UNITS:
        raise ValueError(f'"{text}" has the unknown unit "{unit}"; the units are ns, us, ms, s, m and h')
    nanoseconds = int(whole or 0) * _UNITS[unit]
    if digits := fraction[1:]:
        nanoseconds += int(_go_fraction(digits, _UNITS[unit]))
    return nanoseconds, rest[match.end() if match else 0 :]


def _go_fraction(digits: str, unit: int) -> float:
    """Go keeps as many digits as fit into 63 bits and multiplies in floating point."""
    value, scale = 0, 1.0
    for digit in digits:
        if value > _LARGEST // 10 or value * 10 + int(digit) > _LARGEST + 1:
            break
        value, scale = value * 10 + int(digit), scale * 10
    return float(value) * (float(unit) / scale)


def _decimal(nanoseconds: int, unit: int) -> str:
    whole, rest = divmod(nanoseconds, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0")
