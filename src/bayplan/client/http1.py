"""One HTTP/1.1 connection: one request at a time, kept open in between.

A request comes in; an `HttpResponse` or a stream of body bytes goes out. It neither opens itself nor retries. For
speed, a request is one write, a response is one future, and there is no timer per request (the pool checks
deadlines).
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from collections.abc import AsyncIterator
from typing import cast

import httptools

from bayplan.client.errors import TransportError
from bayplan.client.http_messages import HttpRequest, HttpResponse, encode_http1

READ_BUFFER_BYTES = 1 << 18
#: A stream stops reading from the socket when this much has not been consumed.
_HIGH_WATER_BYTES = 1 << 20
#: A dead peer is noticed after about a minute and a half.
_KEEP_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))


class Http1Connection(asyncio.BufferedProtocol):
    """Implements `RequestSlot`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        #: Reused: otherwise TLS allocates and frees 256 KiB for every read.
        self._buffer = memoryview(bytearray(READ_BUFFER_BYTES))
        self._pending: asyncio.Future[HttpResponse] | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        self._in_message = False
        self._in_body = False
        #: Whether the body of the response is passed on as it arrives.
        self._streaming = False
        self.body: ResponseBody | None = None
        self.deadline = math.inf
        self.idle_since = 0.0
        #: Whether an earlier request was answered on this connection.
        self._was_used = False
        self._is_closed = False

    # --- requests -----------------------------------------------------------------------------------------

    def send(self, request: HttpRequest, *, streaming: bool = False) -> asyncio.Future[HttpResponse]:
        """Write a request; the future gets its response, or TransportError."""
        transport = self._transport
        response: asyncio.Future[HttpResponse] = self._loop.create_future()
        if transport is None or self._is_closed or transport.is_closing():
            response.set_exception(TransportError("the connection was closed", sent=False, reused=True))
            return response
        self._pending = response
        self._streaming = streaming
        transport.write(encode_http1(request))
        return response

    @property
    def is_open(self) -> bool:
        return not self._is_closed and self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close at once; a request in flight fails."""
        self._abort("the connection was closed")

    #: A cancelled request ends the connection: its late response would be taken for the next one's.
    cancel = drain = close

    def time_out(self, message: str) -> None:
        """Fail the request in flight, and close the connection."""
        self._abort(message)

    def _abort(self, message: str) -> None:
        self._fail(TransportError(message, sent=True))
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, error: TransportError) -> None:
        self._is_closed = True
        response, self._pending = self._pending, None
        if response is not None and not response.done():
            response.set_exception(error)
        if self.body is not None:
            self.body.finish(error)

    # --- callbacks of asyncio -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        enable_keep_alive(transport.get_extra_info("socket"))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._pending is None and self.body is None:
            self.close()  # unsolicited: a server that is about to close may send a 408
            return
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except httptools.HttpParserError as error:
            self._abort(f"the server does not speak HTTP/1.1: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        if self._in_body and exc is None and self._ends_with_connection():
            self.on_message_complete()
        reused = self._was_used and not self._in_message
        message = f"the connection was cut{f': {exc}' if exc else ''}"
        self._fail(TransportError(message, sent=True, reused=reused))

    def _ends_with_connection(self) -> bool:
        """Whether the body has no length, so that closing the connection is its regular end."""
        lengths = (b"content-length", b"transfer-encoding")
        return not any(name.lower() in lengths for name, _ in self._headers)

    # --- callbacks of httptools ---------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._headers, self._chunks = [], []
        self._in_message, self._in_body = True, False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_body = True
        status = self._parser.get_status_code()
        if not (self._streaming and 200 <= status < 300) or self._pending is None:
            return
        self.body = ResponseBody(self._transport)
        response, self._pending = self._pending, None
        if not response.done():
            response.set_result(HttpResponse(status, self._headers, b""))

    def on_body(self, data: bytes) -> None:
        if self.body is not None:
            self.body.feed(data)
        else:
            self._chunks.append(data)

    def on_message_complete(self) -> None:
        self._in_message = self._in_body = False
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            return
        self._was_used = True
        if self.body is not None:
            self.body.finish(None)
        response, self._pending = self._pending, None
        if not self._parser.should_keep_alive():
            self._is_closed = True
        if response is not None and not response.done():
            chunks = self._chunks
            body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            response.set_result(HttpResponse(status, self._headers, body))
        if self._is_closed and self._transport is not None:
            self._transport.close()


class ResponseBody(AsyncIterator[bytes]):
    """The body of a streamed response, in chunks as they arrive. Raises TransportError if it was cut."""

    def __init__(self, transport: asyncio.Transport | None) -> None:
        self._transport = transport
        self._chunks: list[bytes] = []
        self._n_bytes = 0
        self._paused = False
        self._ended = False
        self._error: TransportError | None = None
        self._waiter: asyncio.Future[None] | None = None

    def feed(self, data: bytes) -> None:
        self._chunks.append(data)
        self._n_bytes += len(data)
        if self._n_bytes > _HIGH_WATER_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def finish(self, error: TransportError | None) -> None:
        if self._ended:
            return
        self._ended, self._error = True, error
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def __anext__(self) -> bytes:
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._n_bytes = 0
        if self._paused and self._transport is not None and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()
        return data


def enable_keep_alive(sock: socket.socket | None) -> None:
    """Have the kernel detect a dead peer."""
    if sock is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in _KEEP_ALIVE:
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
