"""Types with a JSON form of their own: times, quantities, int-or-strings, raw JSON."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from bayplan.model.times import format_micro_time, format_time
from bayplan.model.wire_format import WireFormatError, fields_of, signed

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _instant(data: bytes) -> datetime | None:
    """Seconds and nanoseconds since the epoch; with neither there is no time."""
    numbers = dict(fields_of(data))
    if not numbers:
        return None
    seconds, nanos = (_number(numbers.get(number, 0)) for number in (1, 2))
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise WireFormatError("a time beyond the calendar") from None


def _time(data: bytes) -> str | None:
    instant = _instant(data)
    return format_time(instant) if instant is not None else None


def _micro_time(data: bytes) -> str | None:
    instant = _instant(data)
    return format_micro_time(instant) if instant is not None else None


def _text(data: bytes) -> str:
    value = dict(fields_of(data)).get(1, b"")
    return value.decode() if isinstance(value, bytes) else str(value)


def _int_or_string(data: bytes) -> int | str:
    fields = dict(fields_of(data))
    if fields.get(1):
        text = fields.get(3, b"")
        return text.decode() if isinstance(text, bytes) else str(text)
    return _number(fields.get(2, 0))


def _raw_json(data: bytes) -> Any:
    raw = dict(fields_of(data)).get(1, b"")
    try:
        return msgspec.json.decode(raw) if isinstance(raw, bytes) and raw else None
    except msgspec.DecodeError as error:
        raise WireFormatError(str(error)) from None


def _number(raw: int | bytes) -> int:
    if isinstance(raw, int):
        return signed(raw)
    raise WireFormatError("proto: wrong wireType")


SPECIAL: Final[dict[str, Callable[[bytes], Any]]] = {
    "meta.v1.Time": _time,
    "meta.v1.MicroTime": _micro_time,
    "meta.v1.FieldsV1": _raw_json,
    "api.resource.Quantity": _text,
    "util.intstr.IntOrString": _int_or_string,
    "pkg.runtime.RawExtension": _raw_json,
    "apiextensions.v1.JSON": _raw_json,
}
