"""Single values as Go reads and writes them: numbers, quantities, times, int-or-strings, bytes.

Each function takes a decoded JSON value (never null) and gives what Go would write for it, or raises
`MalformedValueError`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from bayplan.apiserver.codec.mismatch import MalformedValueError, MismatchError
from bayplan.model.quantity import Quantity, QuantityError

_QUANTITY_RULE: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_SECONDS_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_SECONDS: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MICRO: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})(Z|[+-]\d\d:\d\d)", re.ASCII)
_ZERO_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)
#: From here on Go writes a float with an exponent.
_EXPONENT_FROM: Final = 1e21


def text(value: Any, go_type: str = "string") -> str:
    if value.__class__ is not str:
        raise MismatchError(value, go_type)
    return value


def boolean(value: Any) -> bool:
    if value.__class__ is not bool:
        raise MismatchError(value, "bool")
    return value


def _integer(bits: int) -> Callable[[Any], int]:
    low, high, name = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, f"int{bits}"

    def integer(value: Any) -> int:
        if value.__class__ is not int or not low <= value <= high:
            raise MismatchError(value, name)
        return value

    return integer


int32: Final = _integer(32)
int64: Final = _integer(64)


def number(value: Any) -> float:
    if value.__class__ is float:
        # Go writes 1.0 as 1.
        return int(value) if value.is_integer() and abs(value) < _EXPONENT_FROM else value
    if value.__class__ is not int:
        raise MismatchError(value, "float64")
    return value


def int_or_string(value: Any) -> int | str:
    return value if value.__class__ is str else int32(value)


def quantity(value: Any) -> str:
    """The canonical form: `1000m` becomes `1`, 0.5 becomes `500m`."""
    if value.__class__ is str or value.__class__ is int or value.__class__ is float:
        return _canonical(value)
    raise MalformedValueError(_QUANTITY_RULE)


@lru_cache(maxsize=65536, typed=True)
def _canonical(value: str | int | float) -> str:
    try:
        return str(Quantity.parse(value))
    except QuantityError:
        raise MalformedValueError(_QUANTITY_RULE) from None


def time(value: Any) -> str | None:
    """RFC 3339 in UTC, in whole seconds; Go's zero time is null."""
    return _in_utc(text(value), _SECONDS, "seconds", _SECONDS_LAYOUT)


def micro_time(value: Any) -> str | None:
    """RFC 3339 in UTC, with exactly six digits of a second."""
    return _in_utc(text(value), _MICRO, "microseconds", _MICRO_LAYOUT)


@lru_cache(maxsize=4096)
def _in_utc(value: str, pattern: re.Pattern[str], precision: str, layout: str) -> str | None:
    found = pattern.fullmatch(value)
    try:
        moment = datetime.fromisoformat("".join(found.groups()) if found else "").astimezone(UTC)
    except (ValueError, OverflowError):
        raise MalformedValueError(
            f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
        ) from None
    return None if moment == _ZERO_TIME else moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def octets(value: Any) -> str:
    """Standard base64; Go ignores line ends when it decodes."""
    plain = text(value, "[]uint8").replace("\r", "").replace("\n", "")
    try:
        return base64.b64encode(base64.b64decode(plain, validate=True)).decode()
    except (binascii.Error, ValueError):
        raise MalformedValueError("illegal base64 data at input byte 0") from None
