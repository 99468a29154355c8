"""The HTTP/1.1 connection: bytes in, responses out."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.client.doubles import SocketTransport, receive

from bayplan.client.errors import TransportError
from bayplan.client.http1 import Http1Connection
from bayplan.client.http_messages import FixedHeaders, HttpRequest

pytestmark = pytest.mark.asyncio

HEADERS = FixedHeaders("host", [])
GET = HttpRequest("GET", "/x", HEADERS)


def connected() -> tuple[Http1Connection, SocketTransport]:
    connection, socket = Http1Connection(), SocketTransport()
    connection.connection_made(socket)
    return connection, socket


async def test_response_is_complete_when_its_body_is() -> None:
    connection, socket = connected()
    response = connection.send(GET)
    assert socket.written == b"GET /x HTTP/1.1\r\nHost: host\r\n\r\n"
    receive(connection, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
    assert not response.done()
    receive(connection, b"cd")
    assert (response.result().status, response.result().body) == (200, b"abcd")
    assert connection.is_open


async def test_connection_close_ends_the_connection() -> None:
    connection, socket = connected()
    response = connection.send(GET)
    receive(connection, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    assert response.result().status == 200
    assert not connection.is_open
    assert socket.is_aborted


async def test_unsolicited_bytes_close_the_connection() -> None:
    """A server that is about to close may send a 408; it is not the answer to the next request."""
    connection, _ = connected()
    receive(connection, b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert not connection.is_open
    failed = connection.send(GET).exception()
    assert isinstance(failed, TransportError)
    assert (failed.sent, failed.reused) == (False, True)


async def test_cut_before_the_answer_on_a_reused_connection() -> None:
    """Most likely the server had closed it; once an answer has started, that is certain not to be so."""
    connection, _ = connected()
    connection.send(GET)
    receive(connection, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    response = connection.send(GET)
    connection.connection_lost(None)
    failed = response.exception()
    assert isinstance(failed, TransportError)
    assert (failed.sent, failed.reused) == (True, True)


async def test_cut_on_a_new_connection() -> None:
    connection, _ = connected()
    response = connection.send(GET)
    connection.connection_lost(OSError("reset"))
    failed = response.exception()
    assert isinstance(failed, TransportError)
    assert str(failed) == "the connection was cut: reset"
    assert (failed.sent, failed.reused) == (True, False)


async def test_cancelled_request_closes_the_connection() -> None:
    """Its response would be taken for that of the next request."""
    connection, socket = connected()
    connection.send(GET)
    connection.cancel()
    assert not connection.is_open
    assert socket.is_aborted


async def test_streamed_body_arrives_in_chunks() -> None:
    connection, _ = connected()
    response = connection.send(GET, streaming=True)
    receive(connection, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
    assert response.result().status == 200
    assert connection.body is not None
    assert await anext(connection.body) == b"ab"
    waiting = asyncio.ensure_future(anext(connection.body))
    await asyncio.sleep(0)
    receive(connection, b"2\r\ncd\r\n")
    assert await waiting == b"cd"
    receive(connection, b"0\r\n\r\n")
    with pytest.raises(StopAsyncIteration):
        await anext(connection.body)


async def test_slow_reader_pauses_the_socket() -> None:
    connection, socket = connected()
    connection.send(GET, streaming=True)
    receive(connection, b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n")
    assert connection.body is not None
    for _ in range(6):
        receive(connection, b"x" * 200_000)
    assert socket.is_paused
    assert len(await anext(connection.body)) == 1_200_000
    assert not socket.is_paused
