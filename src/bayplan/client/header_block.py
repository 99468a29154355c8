"""Headers in HTTP/2: HPACK without its table.

A table of headers that were sent before saves bytes, and costs both sides bookkeeping for every header. We write
literals only and tell the server (`SETTINGS_HEADER_TABLE_SIZE`) that it may not use a table either, so a block
stands for itself: of an answer that is a success nothing but the status is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import hpack

_STATIC_STATUS: Final = {0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500}
_SCHEME_HTTPS: Final = b"\x87"
_AUTHORITY: Final = 1
_METHOD: Final = 2
_PATH: Final = 4
_STATUS: Final = range(8, 15)  # a status that has no entry of its own borrows the name of any that has
#: So many bytes can tell the status: a change of the table's size, and three digits as they are.
_STATUS_BYTES: Final = 6
_SECRET: Final = {"authorization"}


def shared(authority: str, pairs: Sequence[tuple[str, str]]) -> bytes:
    """The part of a block that does not depend on the request."""
    return _SCHEME_HTTPS + _indexed(_AUTHORITY, authority) + b"".join(literal(*pair) for pair in pairs)


def request_block(method: str, target: str, rest: bytes, content_type: str, n_bytes: int | None) -> bytes:
    """The whole block; *n_bytes* is None where there is no content."""
    head = _method(method) + _indexed(_PATH, target) + rest
    if n_bytes is None:
        return head
    return head + _content_type(content_type) + _CONTENT_LENGTH + _string(str(n_bytes))


@lru_cache(maxsize=16)
def _method(method: str) -> bytes:
    return _indexed(_METHOD, method)


@lru_cache(maxsize=16)
def _content_type(content_type: str) -> bytes:
    return literal("content-type", content_type)


def literal(name: str, value: str) -> bytes:
    """A header that no table is to remember; what is secret, nobody on the way either."""
    name = name.lower()
    return (b"\x10" if name in _SECRET else b"\0") + _string(name) + _string(value)


def _indexed(name: int, value: str) -> bytes:
    """A header whose name is in the static table, below 15."""
    return bytes((name,)) + _string(value)


def _string(text: str) -> bytes:
    content = text.encode("latin-1")
    return _length(len(content)) + content


def _length(number: int) -> bytes:
    """An integer with a prefix of seven bits."""
    if number < 0x7F:
        return _SHORT_LENGTHS[number]
    number -= 0x7F
    parts = bytearray((0x7F,))
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


_SHORT_LENGTHS: Final = [bytes((number,)) for number in range(0x7F)]
_CONTENT_LENGTH: Final = b"\0" + _string("content-length")


def status_of(block: bytes) -> int:
    """The status, which comes first. Raises ValueError."""
    known = _STATIC_STATUS.get(block[0]) if block else None
    return known if known is not None else _status(bytes(block[:_STATUS_BYTES]))


@lru_cache(maxsize=256)
def _status(start: bytes) -> int:
    """What the first bytes of a block say; they are few in all."""
    while start and start[0] & 0xE0 == 0x20:  # the size of the table: none
        start = start[1:]
    if start and start[0] in _STATIC_STATUS:
        return _STATIC_STATUS[start[0]]
    if len(start) < 2 or start[0] & 0xA0 or start[0] & 0x0F not in _STATUS:
        raise ValueError("an answer without a status")
    field = start[: 2 + (start[1] & 0x7F)]
    return int(dict(decode(field))[b":status"])


def decode(block: bytes) -> list[tuple[bytes, bytes]]:
    """All headers. Raises ValueError."""
    try:
        return [(bytes(name), bytes(value)) for name, value in hpack.Decoder().decode(block, raw=True)]
    except hpack.HPACKError as error:
        raise ValueError(str(error)) from None
