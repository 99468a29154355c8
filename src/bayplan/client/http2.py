"""One HTTP/2 connection to the API server: many concurrent requests, each in a slot.

What is sent during one iteration of the event loop goes out in one write, and one read brings many responses: with
TLS and the kernel in between, reads and writes are most of what a request costs. Watches do not use HTTP/2: each
has an HTTP/1.1 connection of its own, which can stop reading when we do not keep up.

Implements RFC 9113, except what a client without pushes, priorities and header tables does not need.
"""

from __future__ import annotations

import asyncio
import math
import struct
from collections import deque
from typing import Final

from bayplan.client.errors import TransportError
from bayplan.client.http_messages import (
    HttpRequest,
    HttpResponse,
    decode_headers,
    decode_status,
    encode_http2_headers,
)

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Frame types, flags, settings and error codes, as the RFC names them.
_DATA: Final = 0
_HEADERS: Final = 1
_RST_STREAM: Final = 3
_SETTINGS: Final = 4
_PING: Final = 6
_GOAWAY: Final = 7
_WINDOW_UPDATE: Final = 8
_CONTINUATION: Final = 9
_END_STREAM: Final = 0x1
_ACK: Final = 0x1
_END_HEADERS: Final = 0x4
_PADDED: Final = 0x8
_PRIORITY: Final = 0x20
_HEADER_TABLE_SIZE, _ENABLE_PUSH, _MAX_CONCURRENT_STREAMS, _INITIAL_WINDOW_SIZE, _MAX_FRAME_SIZE = 1, 2, 3, 4, 5
_REFUSED_STREAM, _CANCEL = 7, 8
_FRAME_HEADER: Final = struct.Struct(">HBBBL")  # the 24 bits of the length in two parts
_SETTING: Final = struct.Struct(">HL")
_UINT32: Final = struct.Struct(">L")
_FRAME_HEADER_BYTES: Final = 9
_STREAM_ID_MASK: Final = 0x7FFF_FFFF
_DEFAULT_WINDOW: Final = 65_535
#: As large as possible, so that the server never has to wait: we read every response completely.
_RECEIVE_WINDOW: Final = 0x7FFF_FFFF
_WINDOW_UPDATE_THRESHOLD: Final = _RECEIVE_WINDOW // 2
_DEFAULT_FRAME_SIZE: Final = 16_384


class Http2Connection:
    """The protocol's state machine; `transport.AlpnProtocol` connects it to the event loop."""

    def __init__(self, max_slots: int) -> None:
        self.loop = asyncio.get_running_loop()
        self._max_slots = max_slots
        #: Resolved when the server has announced how many concurrent streams it allows.
        self.slots: asyncio.Future[list[Http2Slot]] = self.loop.create_future()
        self._transport: asyncio.Transport | None = None
        #: The beginning of a frame that has not arrived completely.
        self._partial_frame = b""
        #: Frames to be written at the end of this iteration of the event loop.
        self._outgoing: list[bytes] = []
        self._next_stream_id = 1
        #: Stream id → the slot that waits for its response.
        self._streams: dict[int, Http2Slot] = {}
        #: Slots whose content waits for the server to enlarge a flow-control window.
        self._blocked: deque[Http2Slot] = deque()
        self._send_window = self._initial_window = _DEFAULT_WINDOW
        self._max_frame_size = _DEFAULT_FRAME_SIZE
        #: Bytes received since the last WINDOW_UPDATE.
        self._n_received = 0
        #: Flags, stream id and block of a HEADERS frame that CONTINUATION frames follow.
        self._partial_headers: tuple[int, int, bytes] | None = None
        self.last_received_at = self.idle_since = self.loop.time()
        #: Whether an earlier request was answered on this connection.
        self._was_used = False
        #: Whether it accepts requests.
        self.is_open = True
        self._is_closed = False

    # --- called by slots ----------------------------------------------------------------------------------

    def start_stream(self, slot: Http2Slot, request: HttpRequest) -> int:
        """Send a request; the id of its stream."""
        stream_id, self._next_stream_id = self._next_stream_id, self._next_stream_id + 2
        if self._next_stream_id > _STREAM_ID_MASK:
            self.is_open = False  # ids are never reused
        self._streams[stream_id] = slot
        content = request.content
        flags, block = 0 if content else _END_STREAM, encode_http2_headers(request)
        if len(block) <= self._max_frame_size:
            self._write_frame(_HEADERS, flags | _END_HEADERS, stream_id, block)
        else:
            self._write_long_headers(stream_id, block, flags)
        if content:
            slot.send_window, slot.unsent = self._initial_window, content
            self._write_content(stream_id, slot)
        return stream_id

    def cancel_stream(self, stream_id: int) -> None:
        """The response is no longer wanted."""
        if self._streams.pop(stream_id, None) is not None:
            self._write_frame(_RST_STREAM, 0, stream_id, _UINT32.pack(_CANCEL))
            self._close_if_drained()

    def drain(self) -> None:
        """Accept no more requests, and close when all requests in flight are answered."""
        self.is_open = False
        self._close_if_drained()

    def fail(self, error: TransportError) -> None:
        """Close at once; requests in flight fail."""
        self.is_open, self._is_closed = False, True
        if not self.slots.done():
            self.slots.set_exception(error)
        streams, self._streams = self._streams, {}
        for slot in streams.values():
            slot.fail(error)
        if self._transport is not None:
            self._transport.abort()

    def _close_if_drained(self) -> None:
        if not self.is_open and not self._streams and self._transport is not None:
            self._transport.abort()  # an orderly TLS shutdown would have to be waited for

    # --- writing ------------------------------------------------------------------------------------------

    def _write_long_headers(self, stream_id: int, block: bytes, flags: int) -> None:
        size = self._max_frame_size
        parts = [block[i : i + size] for i in range(0, len(block), size)]
        self._write_frame(_HEADERS, flags, stream_id, parts[0])
        for part in parts[1:-1]:
            self._write_frame(_CONTINUATION, 0, stream_id, part)
        self._write_frame(_CONTINUATION, _END_HEADERS, stream_id, parts[-1])

    def _write_content(self, stream_id: int, slot: Http2Slot) -> None:
        """As much as the flow-control windows allow."""
        while slot.unsent:
            n_bytes = min(len(slot.unsent), self._send_window, slot.send_window, self._max_frame_size)
            if n_bytes <= 0:
                self._blocked.append(slot)
                return
            part, slot.unsent = slot.unsent[:n_bytes], slot.unsent[n_bytes:]
            self._send_window -= n_bytes
            slot.send_window -= n_bytes
            self._write_frame(_DATA, 0 if slot.unsent else _END_STREAM, stream_id, part)

    def _write_blocked(self) -> None:
        for _ in range(len(self._blocked)):
            slot = self._blocked.popleft()
            if self._streams.get(slot.stream_id) is slot:
                self._write_content(slot.stream_id, slot)

    def _write_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if not self._outgoing:
            self.loop.call_soon(self._flush)
        size = len(payload)
        self._outgoing.append(_FRAME_HEADER.pack(size >> 8, size & 0xFF, kind, flags, stream_id) + payload)

    def _flush(self) -> None:
        """Write all frames since the last flush at once."""
        outgoing, self._outgoing = self._outgoing, []
        if outgoing and self._transport is not None and not self._is_closed:
            self._transport.write(b"".join(outgoing))

    # --- called by the event loop -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        settings = {_HEADER_TABLE_SIZE: 0, _ENABLE_PUSH: 0, _INITIAL_WINDOW_SIZE: _RECEIVE_WINDOW}
        self._outgoing.append(_PREFACE)
        self._write_frame(_SETTINGS, 0, 0, b"".join([_SETTING.pack(*each) for each in settings.items()]))
        self._write_frame(_WINDOW_UPDATE, 0, 0, _UINT32.pack(_RECEIVE_WINDOW - _DEFAULT_WINDOW))
        self._flush()

    def data_received(self, received: memoryview) -> None:
        """Handle all complete frames; *received* is not referenced afterwards."""
        self.last_received_at = self.loop.time()
        data = self._partial_frame + received
        start, end = 0, len(data)
        try:
            while end - start >= _FRAME_HEADER_BYTES:
                size_high, size_low, kind, flags, stream_id = _FRAME_HEADER.unpack_from(data, start)
                size = size_high << 8 | size_low
                if size > _DEFAULT_FRAME_SIZE:
                    raise ValueError(f"a frame of {size} bytes")
                stop = start + _FRAME_HEADER_BYTES + size
                if stop > end:
                    break
                payload = data[start + _FRAME_HEADER_BYTES : stop]
                self._on_frame(kind, flags, stream_id & _STREAM_ID_MASK, payload)
                start = stop
        except (ValueError, struct.error, IndexError) as error:
            self.fail(TransportError(f"the server does not speak HTTP/2: {error}", sent=True))
        self._partial_frame = data[start:]

    def connection_lost(self, cause: Exception | None) -> None:
        message = f"the connection was cut{f': {cause}' if cause else ''}"
        self.is_open, self._is_closed = False, True
        if not self.slots.done():
            self.slots.set_exception(TransportError(message, sent=False))
        streams, self._streams = self._streams, {}
        for slot in streams.values():
            reused = self._was_used and not slot.has_response_started
            slot.fail(TransportError(message, sent=True, reused=reused))

    # --- frames -------------------------------------------------------------------------------------------

    def _on_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if kind == _DATA:
            self._on_data(flags, stream_id, payload)
        elif kind == _HEADERS:
            self._on_headers(flags, stream_id, _strip_padding(flags, payload))
        elif kind == _CONTINUATION and self._partial_headers is not None:
            first_flags, first_id, block = self._partial_headers
            self._on_headers(flags & _END_HEADERS | first_flags & _END_STREAM, first_id, block + payload)
        elif kind == _SETTINGS and not flags & _ACK:
            self._on_settings(payload)
        elif kind == _WINDOW_UPDATE:
            self._on_window_update(stream_id, *_UINT32.unpack(payload))
        elif kind == _PING and not flags & _ACK:
            self._write_frame(_PING, _ACK, 0, payload)
        elif kind == _RST_STREAM:
            self._on_reset(stream_id, *_UINT32.unpack(payload))
        elif kind == _GOAWAY:
            self._on_goaway(_UINT32.unpack_from(payload)[0] & _STREAM_ID_MASK)

    def _on_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._n_received += len(payload)
        if self._n_received > _WINDOW_UPDATE_THRESHOLD:
            self._write_frame(_WINDOW_UPDATE, 0, 0, _UINT32.pack(self._n_received))
            self._n_received = 0
        slot = self._streams.get(stream_id)
        if slot is None:
            return  # cancelled
        slot.chunks.append(_strip_padding(flags & ~_PRIORITY, payload))
        if flags & _END_STREAM:
            self._end_stream(stream_id, slot)

    def _on_headers(self, flags: int, stream_id: int, block: bytes) -> None:
        if not flags & _END_HEADERS:
            self._partial_headers = (flags, stream_id, block)
            return
        self._partial_headers = None
        slot = self._streams.get(stream_id)
        if slot is None:
            return
        if not slot.has_response_started:  # otherwise these are trailers
            slot.headers_received(block)
        if flags & _END_STREAM:
            self._end_stream(stream_id, slot)

    def _end_stream(self, stream_id: int, slot: Http2Slot) -> None:
        del self._streams[stream_id]
        self._was_used = True
        if slot.unsent:
            # The server has answered before it has read the whole request.
            self._write_frame(_RST_STREAM, 0, stream_id, _UINT32.pack(_CANCEL))
        slot.finish()
        if not self.is_open:
            self._close_if_drained()

    def _on_reset(self, stream_id: int, code: int) -> None:
        slot = self._streams.pop(stream_id, None)
        if slot is not None:
            was_refused = code == _REFUSED_STREAM
            slot.fail(TransportError(f"the server gave up the request (code {code})", sent=not was_refused))
            self._close_if_drained()

    def _on_goaway(self, last_id: int) -> None:
        """The server accepts no more requests here; it has not processed streams after *last_id*."""
        self.is_open = False
        for stream_id in [each for each in self._streams if each > last_id]:
            self._streams.pop(stream_id).fail(TransportError("the server closes the connection", sent=False))
        self._close_if_drained()

    def _on_settings(self, payload: bytes) -> None:
        settings = dict(_SETTING.iter_unpack(payload))
        self._max_frame_size = settings.get(_MAX_FRAME_SIZE, self._max_frame_size)
        window = settings.get(_INITIAL_WINDOW_SIZE, self._initial_window)
        for slot in self._streams.values():
            slot.send_window += window - self._initial_window
        self._initial_window = window
        self._write_frame(_SETTINGS, _ACK, 0, b"")
        self._write_blocked()
        if not self.slots.done():
            n_slots = min(self._max_slots, settings.get(_MAX_CONCURRENT_STREAMS, self._max_slots))
            self.slots.set_result([Http2Slot(self) for _ in range(max(n_slots, 1))])

    def _on_window_update(self, stream_id: int, increment: int) -> None:
        increment &= _STREAM_ID_MASK
        if stream_id == 0:
            self._send_window += increment
        elif (slot := self._streams.get(stream_id)) is not None:
            slot.send_window += increment
        if self._blocked:
            self._write_blocked()


class Http2Slot:
    """Implements `RequestSlot`: one of the concurrent requests of a connection."""

    __slots__ = (
        "_connection",
        "_header_block",
        "_pending",
        "_sent_at",
        "_status",
        "chunks",
        "deadline",
        "send_window",
        "stream_id",
        "unsent",
    )

    def __init__(self, connection: Http2Connection) -> None:
        self._connection = connection
        self._pending: asyncio.Future[HttpResponse] | None = None
        self.stream_id = 0
        #: `last_received_at` of the connection when the request was sent.
        self._sent_at = 0.0
        #: 0 until the response has started.
        self._status = 0
        self._header_block = b""
        self.chunks: list[bytes] = []
        #: The content that is still to be sent, and how many bytes of it the server allows.
        self.unsent = b""
        self.send_window = 0
        self.deadline = math.inf

    @property
    def is_open(self) -> bool:
        return self._connection.is_open

    @property
    def idle_since(self) -> float:
        """Idle time is that of the connection, which all its slots share."""
        return self._connection.idle_since

    @idle_since.setter
    def idle_since(self, time: float) -> None:
        self._connection.idle_since = time

    @property
    def has_response_started(self) -> bool:
        return self._status > 0

    def send(self, request: HttpRequest) -> asyncio.Future[HttpResponse]:
        connection = self._connection
        response: asyncio.Future[HttpResponse] = connection.loop.create_future()
        if not connection.is_open:
            response.set_exception(TransportError("the connection was closed", sent=False, reused=True))
            return response
        self._pending, self._status, self.chunks = response, 0, []
        self._sent_at = connection.last_received_at
        self.stream_id = connection.start_stream(self, request)
        return response

    def cancel(self) -> None:
        self._pending = None
        self._connection.cancel_stream(self.stream_id)

    def time_out(self, message: str) -> None:
        """A connection on which nothing has arrived since the request was sent is closed as a whole."""
        error = TransportError(message, sent=True)
        if self._connection.last_received_at == self._sent_at:
            self._connection.fail(error)
        self.fail(error)
        self._connection.cancel_stream(self.stream_id)

    def drain(self) -> None:
        self._connection.drain()

    def close(self) -> None:
        self._connection.fail(TransportError("the connection was closed", sent=True))

    # --- called by the connection -------------------------------------------------------------------------

    def headers_received(self, block: bytes) -> None:
        status = decode_status(block)
        if status >= 200:  # 1xx only announce the response
            self._status, self._header_block = status, block

    def finish(self) -> None:
        self.unsent = b""
        response, self._pending = self._pending, None
        if response is None or response.done():
            return
        if not self.has_response_started:
            response.set_exception(TransportError("the server does not speak HTTP/2: no status", sent=True))
            return
        chunks, is_success = self.chunks, 200 <= self._status < 300
        headers = () if is_success else decode_headers(self._header_block)
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        response.set_result(HttpResponse(self._status, headers, body))

    def fail(self, error: TransportError) -> None:
        self.unsent = b""
        response, self._pending = self._pending, None
        if response is not None and not response.done():
            response.set_exception(error)


def _strip_padding(flags: int, payload: bytes) -> bytes:
    """The content of a DATA or HEADERS frame."""
    start, end = 0, len(payload)
    if flags & _PADDED:
        start, end = 1, end - payload[0]
    if flags & _PRIORITY:
        start += 5
    if start > end:
        raise ValueError("more padding than payload")
    return payload[start:end]
