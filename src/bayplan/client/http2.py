"""One HTTP/2 connection to the API server: many requests at a time, each on a lane.

What is sent within one turn of the event loop goes out in one write, and one read brings many replies: with TLS
and the kernel between us and the server, that is most of what a request costs. Watches are not spoken here: each
has an HTTP/1.1 connection of its own, which can be held back when we do not keep up.

As RFC 9113 has it, less what a client without pushes, priorities and header tables does not need.
"""

from __future__ import annotations

import asyncio
import math
import struct
from collections import deque
from typing import Final

from bayplan.client import header_block
from bayplan.client.errors import TransportError
from bayplan.client.exchange import Reply, Request

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Kinds of frames, their flags, settings and codes of errors.
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
_FRAME: Final = struct.Struct(">HBBBL")  # 24 bits of length, in two parts
_SETTING: Final = struct.Struct(">HL")
_NUMBER: Final = struct.Struct(">L")
_FRAME_BYTES: Final = 9
_STREAM_ID: Final = 0x7FFF_FFFF
_DEFAULT_WINDOW: Final = 65_535
#: The server is never held back: a reply is read whole.
_WINDOW: Final = 0x7FFF_FFFF
_TOP_UP: Final = _WINDOW // 2
_DEFAULT_FRAME_SIZE: Final = 16_384


class Http2Connection:
    """See the module's text. Bytes come from an `Http2Protocol`."""

    def __init__(self, max_lanes: int) -> None:
        self.loop = asyncio.get_running_loop()
        self._max_lanes = max_lanes
        #: Has the lanes as soon as the server has said how many there may be.
        self.lanes: asyncio.Future[list[Http2Lane]] = self.loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._outgoing: list[bytes] = []
        self._next_id = 1
        #: The lanes that wait for a reply, by stream.
        self._streams: dict[int, Http2Lane] = {}
        #: Those whose content is not all sent, because the server has not allowed it yet.
        self._held_back: deque[Http2Lane] = deque()
        self._window = self._initial_window = _DEFAULT_WINDOW
        self._frame_size = _DEFAULT_FRAME_SIZE
        self._n_received = 0
        #: A header block in several frames, and what its first one said.
        self._block: tuple[int, int, bytes] | None = None
        self.heard_at = self.idle_since = self.loop.time()
        #: Whether an earlier request was answered on this connection.
        self._used = False
        self.is_open = True
        self._closed = False

    # --- lanes --------------------------------------------------------------------------------------------

    def start(self, lane: Http2Lane, request: Request) -> int:
        """Send a request; the number of its stream."""
        stream_id, self._next_id = self._next_id, self._next_id + 2
        if self._next_id > _STREAM_ID:
            self.is_open = False  # numbers are not used again
        content = request.content
        block = header_block.request_block(
            request.method,
            request.target,
            request.headers.block,
            request.content_type,
            None if content is None else len(content),
        )
        self._streams[stream_id] = lane
        self._write_headers(stream_id, block, _END_STREAM if not content else 0)
        if content:
            lane.window, lane.unsent = self._initial_window, content
            self._write_content(stream_id, lane)
        return stream_id

    def forget(self, stream_id: int) -> None:
        """Nobody wants the reply any more."""
        if self._streams.pop(stream_id, None) is not None:
            self._write_frame(_RST_STREAM, 0, stream_id, _NUMBER.pack(_CANCEL))
            self._close_if_done()

    def retire(self) -> None:
        """Take no more requests, and close when those under way are answered."""
        self.is_open = False
        self._close_if_done()

    def fail(self, error: TransportError) -> None:
        """Close at once; what is under way fails."""
        self.is_open, self._closed = False, True
        if not self.lanes.done():
            self.lanes.set_exception(error)
        streams, self._streams = self._streams, {}
        for lane in streams.values():
            lane.fail(error)
        if self._transport is not None:
            self._transport.abort()

    def _close_if_done(self) -> None:
        if not self.is_open and not self._streams and self._transport is not None:
            self._transport.abort()  # a goodbye would have to be waited for

    # --- towards the server -------------------------------------------------------------------------------

    def _write_headers(self, stream_id: int, block: bytes, flags: int) -> None:
        size = self._frame_size
        if len(block) <= size:
            self._write_frame(_HEADERS, flags | _END_HEADERS, stream_id, block)
            return
        parts = [block[i : i + size] for i in range(0, len(block), size)]
        self._write_frame(_HEADERS, flags, stream_id, parts[0])
        for part in parts[1:-1]:
            self._write_frame(_CONTINUATION, 0, stream_id, part)
        self._write_frame(_CONTINUATION, _END_HEADERS, stream_id, parts[-1])

    def _write_content(self, stream_id: int, lane: Http2Lane) -> None:
        """As much as the server allows."""
        while lane.unsent:
            n_bytes = min(len(lane.unsent), self._window, lane.window, self._frame_size)
            if n_bytes <= 0:
                self._held_back.append(lane)
                return
            part, lane.unsent = lane.unsent[:n_bytes], lane.unsent[n_bytes:]
            self._window -= n_bytes
            lane.window -= n_bytes
            self._write_frame(_DATA, 0 if lane.unsent else _END_STREAM, stream_id, part)

    def _write_held_back(self) -> None:
        for _ in range(len(self._held_back)):
            lane = self._held_back.popleft()
            if self._streams.get(lane.stream_id) is lane:
                self._write_content(lane.stream_id, lane)

    def _write_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if not self._outgoing:
            self.loop.call_soon(self._flush)
        size = len(payload)
        self._outgoing.append(_FRAME.pack(size >> 8, size & 0xFF, kind, flags, stream_id) + payload)

    def _flush(self) -> None:
        """What was written since the last time, at once."""
        outgoing, self._outgoing = self._outgoing, []
        if outgoing and self._transport is not None and not self._closed:
            self._transport.write(b"".join(outgoing))

    # --- from the server: bytes ---------------------------------------------------------------------------

    def open(self, transport: asyncio.Transport) -> None:
        """The connection is made."""
        self._transport = transport
        ours = {_HEADER_TABLE_SIZE: 0, _ENABLE_PUSH: 0, _INITIAL_WINDOW_SIZE: _WINDOW}
        self._outgoing.append(_PREFACE)
        self._write_frame(_SETTINGS, 0, 0, b"".join([_SETTING.pack(*each) for each in ours.items()]))
        self._write_frame(_WINDOW_UPDATE, 0, 0, _NUMBER.pack(_WINDOW - _DEFAULT_WINDOW))
        self._flush()

    def take(self, received: memoryview) -> None:
        """What has come; it is not looked at later."""
        self.heard_at = self.loop.time()
        data = self._rest + received
        start, end = 0, len(data)
        try:
            while end - start >= _FRAME_BYTES:
                high, low, kind, flags, stream_id = _FRAME.unpack_from(data, start)
                size = high << 8 | low
                if size > _DEFAULT_FRAME_SIZE:
                    raise ValueError(f"a frame of {size} bytes")
                stop = start + _FRAME_BYTES + size
                if stop > end:
                    break
                self._take(kind, flags, stream_id & _STREAM_ID, data[start + _FRAME_BYTES : stop])
                start = stop
        except (ValueError, struct.error, IndexError) as error:
            self.fail(TransportError(f"the server does not speak HTTP/2: {error}", sent=True))
        self._rest = data[start:]

    def cut(self, cause: Exception | None) -> None:
        """The connection is lost."""
        why = f"the connection was cut{f': {cause}' if cause else ''}"
        self.is_open, self._closed = False, True
        if not self.lanes.done():
            self.lanes.set_exception(TransportError(why, sent=False))
        streams, self._streams = self._streams, {}
        for lane in streams.values():
            lane.fail(TransportError(why, sent=True, reused=self._used and not lane.is_answering))

    # --- from the server: frames --------------------------------------------------------------------------

    def _take(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if kind == _DATA:
            self._take_data(flags, stream_id, payload)
        elif kind == _HEADERS:
            self._take_headers(flags, stream_id, _without_padding(flags, payload))
        elif kind == _CONTINUATION and self._block is not None:
            first_flags, first_id, block = self._block
            self._take_headers(flags & _END_HEADERS | first_flags & _END_STREAM, first_id, block + payload)
        elif kind == _SETTINGS and not flags & _ACK:
            self._take_settings(payload)
        elif kind == _WINDOW_UPDATE:
            self._take_window(stream_id, *_NUMBER.unpack(payload))
        elif kind == _PING and not flags & _ACK:
            self._write_frame(_PING, _ACK, 0, payload)
        elif kind == _RST_STREAM:
            self._take_reset(stream_id, *_NUMBER.unpack(payload))
        elif kind == _GOAWAY:
            self._take_goaway(_NUMBER.unpack_from(payload)[0] & _STREAM_ID)

    def _take_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._n_received += len(payload)
        if self._n_received > _TOP_UP:
            self._write_frame(_WINDOW_UPDATE, 0, 0, _NUMBER.pack(self._n_received))
            self._n_received = 0
        lane = self._streams.get(stream_id)
        if lane is None:
            return  # given up meanwhile
        lane.chunks.append(_without_padding(flags & ~_PRIORITY, payload))
        if flags & _END_STREAM:
            self._finish(stream_id, lane)

    def _take_headers(self, flags: int, stream_id: int, block: bytes) -> None:
        if not flags & _END_HEADERS:
            self._block = (flags, stream_id, block)
            return
        self._block = None
        lane = self._streams.get(stream_id)
        if lane is None:
            return
        if not lane.is_answering:  # else these are trailers
            lane.take_head(block)
        if flags & _END_STREAM:
            self._finish(stream_id, lane)

    def _finish(self, stream_id: int, lane: Http2Lane) -> None:
        del self._streams[stream_id]
        self._used = True
        if lane.unsent:
            # The server has made up its mind before it has read everything.
            self._write_frame(_RST_STREAM, 0, stream_id, _NUMBER.pack(_CANCEL))
        lane.finish()
        if not self.is_open:
            self._close_if_done()

    def _take_reset(self, stream_id: int, code: int) -> None:
        lane = self._streams.pop(stream_id, None)
        if lane is not None:
            was_refused = code == _REFUSED_STREAM
            lane.fail(TransportError(f"the server gave up the request (code {code})", sent=not was_refused))
            self._close_if_done()

    def _take_goaway(self, last_id: int) -> None:
        """The server takes no more requests here; those after *last_id* it has not looked at."""
        self.is_open = False
        for stream_id in [each for each in self._streams if each > last_id]:
            self._streams.pop(stream_id).fail(TransportError("the server closes the connection", sent=False))
        self._close_if_done()

    def _take_settings(self, payload: bytes) -> None:
        settings = dict(_SETTING.iter_unpack(payload))
        self._frame_size = settings.get(_MAX_FRAME_SIZE, self._frame_size)
        window = settings.get(_INITIAL_WINDOW_SIZE, self._initial_window)
        for lane in self._streams.values():
            lane.window += window - self._initial_window
        self._initial_window = window
        self._write_frame(_SETTINGS, _ACK, 0, b"")
        self._write_held_back()
        if not self.lanes.done():
            n_lanes = min(self._max_lanes, settings.get(_MAX_CONCURRENT_STREAMS, self._max_lanes))
            self.lanes.set_result([Http2Lane(self) for _ in range(max(n_lanes, 1))])

    def _take_window(self, stream_id: int, increment: int) -> None:
        increment &= _STREAM_ID
        if stream_id == 0:
            self._window += increment
        elif (lane := self._streams.get(stream_id)) is not None:
            lane.window += increment
        if self._held_back:
            self._write_held_back()


class Http2Lane:
    """One exchange at a time on a connection that has others."""

    __slots__ = (
        "_block",
        "_connection",
        "_reply",
        "_sent_at",
        "_status",
        "chunks",
        "deadline",
        "stream_id",
        "unsent",
        "window",
    )

    def __init__(self, connection: Http2Connection) -> None:
        self._connection = connection
        self._reply: asyncio.Future[Reply] | None = None
        self.stream_id = 0
        self._sent_at = 0.0
        self._status = 0
        self._block = b""
        self.chunks: list[bytes] = []
        #: What is still to be sent, and how much of it the server allows.
        self.unsent = b""
        self.window = 0
        self.deadline = math.inf

    @property
    def is_open(self) -> bool:
        return self._connection.is_open

    @property
    def idle_since(self) -> float:
        """Lanes are idle together: what counts is the connection."""
        return self._connection.idle_since

    @idle_since.setter
    def idle_since(self, time: float) -> None:
        self._connection.idle_since = time

    @property
    def is_answering(self) -> bool:
        return self._status > 0

    def send(self, request: Request) -> asyncio.Future[Reply]:
        connection = self._connection
        reply: asyncio.Future[Reply] = connection.loop.create_future()
        if not connection.is_open:
            reply.set_exception(TransportError("the connection was closed", sent=False, reused=True))
            return reply
        self._reply, self._status, self.chunks = reply, 0, []
        self._sent_at = connection.heard_at
        self.stream_id = connection.start(self, request)
        return reply

    def abandon(self) -> None:
        self._reply = None
        self._connection.forget(self.stream_id)

    def expire(self, why: str) -> None:
        """If the connection has been silent since, it is given up with all that is on it."""
        error = TransportError(why, sent=True)
        if self._connection.heard_at == self._sent_at:
            self._connection.fail(error)
        self.fail(error)
        self._connection.forget(self.stream_id)

    def retire(self) -> None:
        self._connection.retire()

    def close(self) -> None:
        self._connection.fail(TransportError("the connection was closed", sent=True))

    # --- from the connection ------------------------------------------------------------------------------

    def take_head(self, block: bytes) -> None:
        status = header_block.status_of(block)
        if status >= 200:  # others announce the one to come
            self._status, self._block = status, block

    def finish(self) -> None:
        self.unsent = b""
        reply, self._reply = self._reply, None
        if reply is None or reply.done():
            return
        if not self.is_answering:
            reply.set_exception(TransportError("the server does not speak HTTP/2: no status", sent=True))
            return
        chunks, is_success = self.chunks, 200 <= self._status < 300
        headers = () if is_success else header_block.decode(self._block)
        reply.set_result(Reply(self._status, headers, chunks[0] if len(chunks) == 1 else b"".join(chunks)))

    def fail(self, error: TransportError) -> None:
        self.unsent = b""
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            reply.set_exception(error)


def _without_padding(flags: int, payload: bytes) -> bytes:
    """The content of a DATA or HEADERS frame."""
    start, end = 0, len(payload)
    if flags & _PADDED:
        start, end = 1, end - payload[0]
    if flags & _PRIORITY:
        start += 5
    if start > end:
        raise ValueError("more padding than payload")
    return payload[start:end]
