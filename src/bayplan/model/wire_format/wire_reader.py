"""Reads the wire format: field numbers and raw values."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any, Final

_VARINT: Final = 0
_FIXED64: Final = 1
_LENGTH: Final = 2
_FIXED32: Final = 5
_MAX_VARINT_BYTES: Final = 10


class WireFormatError(ValueError):
    """Bytes that are not valid protobuf."""


def fields_of(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in order: number and raw value."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == _LENGTH:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise WireFormatError(f"proto: illegal wireType {kind}")
        if at + size > len(data):
            raise WireFormatError("unexpected EOF")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i in range(_MAX_VARINT_BYTES):
        if at + i >= len(data):
            raise WireFormatError("unexpected EOF")
        byte = data[at + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, at + i + 1
    raise WireFormatError("proto: integer overflow")


def signed(value: int) -> int:
    """Negative numbers are written as if they had 64 bits."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def scalar(type_: str, raw: int | bytes) -> Any:
    """The value of a scalar field."""
    if isinstance(raw, int):
        if type_ == "i":
            return signed(raw)
        if type_ == "b":
            return bool(raw)
    elif type_ == "s":
        return raw.decode()
    elif type_ == "y":
        return base64.b64encode(raw).decode()
    elif type_ == "d" and len(raw) == 8:
        return struct.unpack("<d", raw)[0]
    raise WireFormatError("proto: wrong wireType")
