"""HTTP requests and responses, and their encodings for HTTP/1.1 and HTTP/2.

HTTP/2 headers are encoded with HPACK, without its dynamic table: the table saves bytes, but costs both sides
bookkeeping for every header. We write literals only and tell the server (`SETTINGS_HEADER_TABLE_SIZE`) not to use
a table either, so each header block can be decoded on its own. Of a success only the status is decoded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Protocol

import hpack

# Indexes of HPACK's static table.
_AUTHORITY: Final = b"\x01"
_METHOD: Final = b"\x02"
_PATH: Final = b"\x04"
_SCHEME_HTTPS: Final = b"\x87"
_STATUS_NAMES: Final = range(8, 15)  # a status without an entry uses the name of any of these entries
_STATUS_ENTRIES: Final = {0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500}
#: Enough for the status, which comes first: a change of the table's size, and three plain digits.
_STATUS_BYTES: Final = 6
#: Never indexed, not even by a proxy.
_SECRET_HEADERS: Final = {"authorization"}


class FixedHeaders:
    """The headers that all requests with the same credential share, encoded once for each protocol."""

    def __init__(self, authority: str, headers: Sequence[tuple[str, str]]) -> None:
        if any("\r" in part or "\n" in part for pair in (("", authority), *headers) for part in pair):
            raise ValueError("a header must be one line")
        self.http1_lines = "".join(f"{name}: {value}\r\n" for name, value in (("Host", authority), *headers))
        self.http2_block = b"".join(
            [_SCHEME_HTTPS, _AUTHORITY, _encode_string(authority), *[encode_header(*pair) for pair in headers]]
        )


class HttpRequest:
    """One request; *target* is the path with its query."""

    __slots__ = ("content", "content_type", "headers", "method", "target")

    def __init__(
        self,
        method: str,
        target: str,
        headers: FixedHeaders,
        content: bytes | None = None,
        content_type: str = "",
    ) -> None:
        self.method: Final = method
        self.target: Final = target
        self.headers: Final = headers
        self.content: Final = content
        self.content_type: Final = content_type


class HttpResponse:
    """A complete response, or the head of a streamed one, whose body is `Http1Connection.body`."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        self.status: Final = status
        #: Empty for a successful response over HTTP/2.
        self.headers: Final = headers
        self.body: Final = body


class RequestSlot(Protocol):
    """Carries one request at a time: an HTTP/1.1 connection, or one of the concurrent streams of an HTTP/2 one."""

    #: Set by the pool: when the response is overdue, in the event loop's time.
    deadline: float
    idle_since: float

    @property
    def is_open(self) -> bool:
        """Whether it accepts another request."""

    def send(self, request: HttpRequest) -> asyncio.Future[HttpResponse]:
        """Write a request; the future gets its response, or TransportError."""

    def cancel(self) -> None:
        """The response is no longer wanted."""

    def time_out(self, message: str) -> None:
        """The response is overdue: fail the request in flight."""

    def drain(self) -> None:
        """Accept no more requests; requests in flight continue."""

    def close(self) -> None:
        """Close the connection at once; requests in flight fail."""


def encode_http1(request: HttpRequest) -> bytes:
    """The request as HTTP/1.1 sends it."""
    content = request.content
    head = f"{request.method} {request.target} HTTP/1.1\r\n{request.headers.http1_lines}"
    if content is None:
        return f"{head}\r\n".encode("latin-1")
    head = f"{head}Content-Type: {request.content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode("latin-1") + content


def encode_http2_headers(request: HttpRequest) -> bytes:
    """The header block of the request."""
    method = _METHOD_HEADERS.get(request.method) or _METHOD + _encode_string(request.method)
    block = method + _PATH + _encode_string(request.target) + request.headers.http2_block
    content = request.content
    if content is None:
        return block
    content_type = _content_type_header(request.content_type)
    return block + content_type + _CONTENT_LENGTH + _encode_string(str(len(content)))


@lru_cache(maxsize=16)
def _content_type_header(content_type: str) -> bytes:
    return encode_header("content-type", content_type)


def encode_header(name: str, value: str) -> bytes:
    """A literal header, which is not added to a table."""
    name = name.lower()
    return (b"\x10" if name in _SECRET_HEADERS else b"\0") + _encode_string(name) + _encode_string(value)


def _encode_string(text: str) -> bytes:
    content = text.encode("latin-1")
    n_bytes = len(content)
    return (_SHORT_LENGTHS[n_bytes] if n_bytes < 0x7F else _encode_long_length(n_bytes)) + content


def _encode_long_length(number: int) -> bytes:
    """An integer with a seven-bit prefix, from 127 on."""
    number -= 0x7F
    encoded = bytearray((0x7F,))
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


_SHORT_LENGTHS: Final = [bytes((number,)) for number in range(0x7F)]
_CONTENT_LENGTH: Final = b"\0" + _encode_string("content-length")
_METHOD_HEADERS: Final = {
    method: _METHOD + _encode_string(method) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
}


def decode_status(block: bytes) -> int:
    """The status of a response, which is its first header. Raises ValueError."""
    status = _STATUS_ENTRIES.get(block[0]) if block else None
    return status if status is not None else _decode_status(bytes(block[:_STATUS_BYTES]))


@lru_cache(maxsize=256)
def _decode_status(start: bytes) -> int:
    while start and start[0] & 0xE0 == 0x20:  # a change of the table's size, to zero
        start = start[1:]
    if start and start[0] in _STATUS_ENTRIES:
        return _STATUS_ENTRIES[start[0]]
    if len(start) < 2 or start[0] & 0xA0 or start[0] & 0x0F not in _STATUS_NAMES:
        raise ValueError("a response without a status")
    field = start[: 2 + (start[1] & 0x7F)]
    return int(dict(decode_headers(field))[b":status"])


def decode_headers(block: bytes) -> list[tuple[bytes, bytes]]:
    """All headers. Raises ValueError."""
    try:
        return [(bytes(name), bytes(value)) for name, value in hpack.Decoder().decode(block, raw=True)]
    except hpack.HPACKError as error:
        raise ValueError(str(error)) from None
