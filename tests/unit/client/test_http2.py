"""The HTTP/2 connection without a network; `tests/integration/test_http2.py` verifies it with another library."""

from __future__ import annotations

import asyncio

import hpack
import pytest
from tests.unit.client.doubles import SocketTransport

from bayplan.client.errors import TransportError
from bayplan.client.http2 import Http2Connection, Http2Slot
from bayplan.client.http_messages import FixedHeaders, HttpRequest, HttpResponse

pytestmark = pytest.mark.asyncio

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS = FixedHeaders("host", [])
DATA, HEADER, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS = 4, 3


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream_id.to_bytes(4, "big") + payload


def frames(data: bytes) -> list[tuple[int, int, int, bytes]]:
    found = []
    while data:
        size = int.from_bytes(data[:3], "big")
        found.append((data[3], data[4], int.from_bytes(data[5:9], "big"), data[9 : 9 + size]))
        data = data[9 + size :]
    return found


def setting(name: int, value: int) -> bytes:
    return name.to_bytes(2, "big") + value.to_bytes(4, "big")


class Connected:
    """A connection whose server has sent its settings."""

    def __init__(self, settings: bytes = b"", *, max_slots: int = 8) -> None:
        self.connection = Http2Connection(max_slots)
        self.socket = SocketTransport()
        self.connection.connection_made(self.socket)
        self.receive(frame(SETTINGS, 0, 0, settings))
        self.slots: list[Http2Slot] = self.connection.slots.result()

    def receive(self, data: bytes) -> None:
        self.connection.data_received(memoryview(data))

    async def sent(self) -> list[tuple[int, int, int, bytes]]:
        """The frames since the last call."""
        await asyncio.sleep(0)
        data, self.socket.written = self.socket.written, b""
        return frames(data.removeprefix(PREFACE))

    def post(self, content: bytes = b"{}", slot: int = 0) -> asyncio.Future[HttpResponse]:
        return self.slots[slot].send(HttpRequest("POST", "/x", HEADERS, content, "application/json"))

    def answer(self, stream_id: int, status: int = 200, body: bytes = b"") -> None:
        block = hpack.Encoder().encode([(":status", str(status))])
        self.receive(frame(HEADER, END_HEADERS, stream_id, block) + frame(DATA, END_STREAM, stream_id, body))


async def test_preface_and_settings_come_first() -> None:
    connection, socket = Http2Connection(8), SocketTransport()
    connection.connection_made(socket)
    assert socket.written.startswith(PREFACE)
    assert [kind for kind, *_ in frames(socket.written.removeprefix(PREFACE))] == [SETTINGS, WINDOW]


@pytest.mark.parametrize(("allowed", "expected"), [(3, 3), (100, 8), (0, 1)], ids=["fewer", "more", "none"])
async def test_slots_are_as_many_as_both_sides_allow(allowed: int, expected: int) -> None:
    assert len(Connected(setting(MAX_CONCURRENT_STREAMS, allowed)).slots) == expected


async def test_requests_of_one_iteration_are_one_write() -> None:
    """Stream ids are odd and go up; content follows its headers."""
    server = Connected()
    await server.sent()
    responses = [server.post(b"a"), server.post(b"b", slot=1)]
    assert server.socket.written == b""
    assert [(kind, flags, stream_id) for kind, flags, stream_id, _ in await server.sent()] == [
        (HEADER, END_HEADERS, 1),
        (DATA, END_STREAM, 1),
        (HEADER, END_HEADERS, 3),
        (DATA, END_STREAM, 3),
    ]
    server.answer(3, 201, b"second")
    server.answer(1, 200, b"first")
    assert [each.result().body for each in responses] == [b"first", b"second"]


async def test_frames_may_arrive_in_any_pieces() -> None:
    server = Connected()
    response = server.post()
    block = hpack.Encoder().encode([(":status", "200")])
    data = frame(HEADER, END_HEADERS, 1, block) + frame(DATA, END_STREAM, 1, b"body")
    for i in range(len(data)):
        server.receive(data[i : i + 1])
    assert response.result().body == b"body"


async def test_content_waits_for_the_flow_control_window() -> None:
    server = Connected(setting(INITIAL_WINDOW_SIZE, 3))
    await server.sent()
    server.post(b"abcdef")
    assert (await server.sent())[1:] == [(DATA, 0, 1, b"abc")]
    server.receive(frame(WINDOW, 0, 1, (2).to_bytes(4, "big")))
    assert await server.sent() == [(DATA, 0, 1, b"de")]
    server.receive(frame(WINDOW, 0, 1, (9).to_bytes(4, "big")))
    assert await server.sent() == [(DATA, END_STREAM, 1, b"f")]


async def test_cancelled_stream_is_reset_and_its_response_ignored() -> None:
    server = Connected()
    await server.sent()
    server.post()
    await server.sent()
    server.slots[0].cancel()
    assert await server.sent() == [(RESET, 0, 1, (8).to_bytes(4, "big"))]
    server.answer(1)
    assert server.connection.is_open


async def test_goaway_fails_what_the_server_has_not_processed() -> None:
    """Requests up to the last stream continue; the connection closes after them."""
    server = Connected()
    first, second = server.post(), server.post(slot=1)
    server.receive(frame(GOAWAY, 0, 0, (1).to_bytes(4, "big") + bytes(4)))
    failed = second.exception()
    assert isinstance(failed, TransportError)
    assert not failed.sent
    assert not server.connection.is_open
    assert not server.socket.is_aborted
    server.answer(1)
    assert first.result().status == 200
    assert server.socket.is_aborted


async def test_timeout_closes_a_silent_connection_only() -> None:
    server = Connected()
    response = server.post()
    server.slots[0].time_out("late")
    assert str(response.exception()) == "late"
    assert server.socket.is_aborted


async def test_ping_is_answered() -> None:
    server = Connected()
    await server.sent()
    server.receive(frame(PING, 0, 0, b"12345678"))
    assert await server.sent() == [(PING, ACK, 0, b"12345678")]


async def test_lost_connection_fails_all_requests() -> None:
    server = Connected()
    responses = [server.post(), server.post(slot=1)]
    server.connection.connection_lost(None)
    assert all(isinstance(each.exception(), TransportError) for each in responses)
    refused = server.post().exception()
    assert isinstance(refused, TransportError)
    assert (refused.sent, refused.reused) == (False, True)
