"""One HTTP/1.1 connection to the API server: one request at a time, kept open in between.

No pool and no policy: bytes of a request go out, a `Reply` or a stream of body bytes comes back. Made for cost: a
request is one write, a reply is one future, and there is no timer per request (the pool looks after deadlines).
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
from bayplan.client.exchange import Reply, Request

#: A stream stops reading from the socket when this much is waiting to be taken.
_HIGH_WATER_BYTES = 1 << 20
BUFFER_BYTES = 1 << 18
#: A dead peer is noticed after about a minute and a half.
_KEEP_ALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))


class Connection(asyncio.BufferedProtocol):
    """See the module's text."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        #: Read into again and again: without, TLS takes and gives back 256 KiB of memory for every read.
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._reply: asyncio.Future[Reply] | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        self._in_message = False
        self._in_body = False
        #: Whether the body of the reply under way is handed out as it arrives.
        self._streaming = False
        self.body: Body | None = None
        #: Set by the pool: when the reply under way is overdue, by the loop's time.
        self.deadline = math.inf
        self.idle_since = 0.0
        #: Whether an earlier request was answered on this connection.
        self.used = False
        self.closed = False

    # --- towards the server -------------------------------------------------------------------------------

    def send(self, request: Request, *, streaming: bool = False) -> asyncio.Future[Reply]:
        """Write a request; the future has its reply, or TransportError."""
        transport = self._transport
        future: asyncio.Future[Reply] = self._loop.create_future()
        if transport is None or self.closed or transport.is_closing():
            future.set_exception(TransportError("the connection was closed", sent=False, reused=True))
            return future
        self._reply = future
        self._streaming = streaming
        transport.write(_encode(request))
        return future

    @property
    def is_open(self) -> bool:
        return not self.closed and self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close at once; a reply under way fails."""
        self.expire("the connection was closed")

    #: The reply would be taken for the next one's.
    abandon = retire = close

    def expire(self, why: str) -> None:
        """Give up the reply under way, and the connection with it."""
        self._end(TransportError(why, sent=True))
        if self._transport is not None:
            self._transport.abort()

    def _end(self, error: TransportError) -> None:
        self.closed = True
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            reply.set_exception(error)
        if self.body is not None:
            self.body.finish(error)

    # --- from the server: asyncio -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        keep_alive(transport.get_extra_info("socket"))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._reply is None and self.body is None:
            self.close()  # nobody asked: a server about to close may say so with a 408
            return
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except httptools.HttpParserError as error:
            self.expire(f"the server does not speak HTTP/1.1: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        if self._in_body and exc is None and self._ends_with_connection():
            self.on_message_complete()
        reused = self.used and not self._in_message
        why = f"the connection was cut{f': {exc}' if exc else ''}"
        self._end(TransportError(why, sent=True, reused=reused))

    def _ends_with_connection(self) -> bool:
        """Whether the body has no length, so that its end is not a cut."""
        lengths = (b"content-length", b"transfer-encoding")
        return not any(name.lower() in lengths for name, _ in self._headers)

    # --- from the server: httptools -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._headers, self._chunks = [], []
        self._in_message, self._in_body = True, False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_body = True
        status = self._parser.get_status_code()
        if not (self._streaming and 200 <= status < 300) or self._reply is None:
            return
        self.body = Body(self._transport)
        reply, self._reply = self._reply, None
        if not reply.done():
            reply.set_result(Reply(status, self._headers, b""))

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
        self.used = True
        if self.body is not None:
            self.body.finish(None)
        reply, self._reply = self._reply, None
        if not self._parser.should_keep_alive():
            self.closed = True
        if reply is not None and not reply.done():
            chunks = self._chunks
            reply.set_result(Reply(status, self._headers, chunks[0] if len(chunks) == 1 else b"".join(chunks)))
        if self.closed and self._transport is not None:
            self._transport.close()


class Body(AsyncIterator[bytes]):
    """The body of a streamed reply, in the pieces it came in. Ends with TransportError if it was cut."""

    def __init__(self, transport: asyncio.Transport | None) -> None:
        self._transport = transport
        self._waiting: list[bytes] = []
        self._size = 0
        self._paused = False
        self._ended = False
        self._error: TransportError | None = None
        self._wakeup: asyncio.Future[None] | None = None

    def feed(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        if self._size > _HIGH_WATER_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def finish(self, error: TransportError | None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    async def __anext__(self) -> bytes:
        while not self._waiting:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._wakeup = asyncio.get_running_loop().create_future()
            await self._wakeup
        data = self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        if self._paused and self._transport is not None and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()
        return data


def _encode(request: Request) -> bytes:
    content = request.content
    head = f"{request.method} {request.target} HTTP/1.1\r\n{request.headers.lines}"
    if content is None:
        return f"{head}\r\n".encode("latin-1")
    head = f"{head}Content-Type: {request.content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode("latin-1") + content


def keep_alive(sock: socket.socket | None) -> None:
    """Have the kernel notice a dead peer."""
    if sock is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in _KEEP_ALIVE:
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
