"""The transport: targets, credentials, metrics and the choice of the protocol."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.unit.client.doubles import SocketTransport, receive

from bayplan.client import ApiError, AuthInfo, ClusterAccess, HttpTransport
from bayplan.client.http1 import Http1Connection
from bayplan.client.transport import AlpnProtocol, offered_protocols
from bayplan.clock import SystemClock
from bayplan.model.wire_format import PROTOBUF

pytestmark = pytest.mark.asyncio

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
UNAUTHORIZED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def server(answer: Callable[[bytes], bytes]) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answers each request as *answer* says; its address, and the requests."""
    requests: list[bytes] = []
    serving: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            requests.append(data)
            writer.write(answer(data))
            await writer.drain()
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.create_task(serve(reader, writer)))

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", requests
    finally:
        listening.close()
        await asyncio.gather(*serving, return_exceptions=True)


class Observer:
    """Implements `RequestObserver`."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int | None]] = []

    def answered(self, host: str, method: str, status: int | None, seconds: float) -> None:
        self.seen.append((method, status))


async def test_target_has_the_prefix_of_the_server_and_the_query() -> None:
    async with server(lambda data: OK) as (address, requests):
        transport = HttpTransport(ClusterAccess(f"{address}/k8s/clusters/c1"), SystemClock())
        await transport.request_bytes("GET", "/api/v1/pods", query={"limit": 500})
        await transport.request_bytes("GET", "/api?watch=1", query={"a": "b c"})
        await transport.close()
    assert [data.split(b" ")[1] for data in requests] == [
        b"/k8s/clusters/c1/api/v1/pods?limit=500",
        b"/k8s/clusters/c1/api?watch=1&a=b+c",
    ]


async def test_request_without_a_body_names_the_type_of_the_response() -> None:
    async with server(lambda data: OK) as (address, requests):
        transport = HttpTransport(ClusterAccess(address), SystemClock())
        await transport.request_bytes("GET", "/x", content_type=PROTOBUF)
        await transport.request_bytes("PUT", "/x", b"k8s\0", content_type=PROTOBUF)
        await transport.close()
    accepted = [re.search(rb"Accept: (.*)\r\n", data) for data in requests]
    assert [each and each[1] for each in accepted] == [PROTOBUF.encode(), b"application/json"]
    assert f"Content-Type: {PROTOBUF}".encode() in requests[1]


async def test_every_response_is_observed() -> None:
    observer = Observer()
    async with server(lambda data: OK if data.startswith(b"GET") else UNAUTHORIZED) as (address, _):
        transport = HttpTransport(ClusterAccess(address), SystemClock(), observer=observer)
        await transport.request_bytes("GET", "/x")
        with pytest.raises(ApiError):
            await transport.request_bytes("POST", "/x", {})
        await transport.close()
    assert observer.seen == [("GET", 200), ("POST", 401)]


async def test_rotated_token_is_used_after_a_401(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    def check(data: bytes) -> bytes:
        token.write_text("new")  # rotated during the first request
        return OK if b"Bearer new" in data else UNAUTHORIZED

    async with server(check) as (address, requests):
        access = ClusterAccess(address, auth_info=AuthInfo(token_file=str(token)))
        transport = HttpTransport(access, SystemClock())
        assert await transport.request_bytes("POST", "/x", {}) == b"{}"
        await transport.close()
    assert len(requests) == 2


async def test_sibling_has_connections_of_its_own() -> None:
    async with server(lambda data: OK) as (address, requests):
        transport = HttpTransport(ClusterAccess(address), SystemClock())
        sibling = transport.sibling(timeout_seconds=5.0, max_connections=1, user_agent="leader-election")
        await transport.close()
        assert await sibling.request_bytes("GET", "/x") == b"{}"
        await sibling.close()
    assert b"User-Agent: leader-election\r\n" in requests[0]


async def test_http2_can_be_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISABLE_HTTP2", raising=False)
    assert offered_protocols() == ("h2", "http/1.1")
    monkeypatch.setenv("DISABLE_HTTP2", "1")
    assert offered_protocols() == ("http/1.1",)


async def test_alpn_chooses_http2() -> None:
    """The slots are known when the server's settings have arrived."""
    protocol, socket = AlpnProtocol(4), SocketTransport(alpn="h2")
    protocol.connection_made(socket)
    assert socket.written.startswith(b"PRI * HTTP/2.0")
    slots = asyncio.ensure_future(protocol.slots())
    await asyncio.sleep(0)
    assert not slots.done()
    receive(protocol, b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
    assert len(await slots) == 4


@pytest.mark.parametrize("alpn", ["http/1.1", None], ids=["http/1.1", "no TLS"])
async def test_alpn_chooses_http1(alpn: str | None) -> None:
    protocol, socket = AlpnProtocol(4), SocketTransport(alpn=alpn)
    protocol.connection_made(socket)
    (slot,) = await protocol.slots()
    assert isinstance(slot, Http1Connection)
    assert socket.protocol is slot
