"""An HTTP/2 server whose behaviour a test writes, on the `h2` library: another reading of the standard."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import h2.config
import h2.connection
import h2.events
import h2.settings
from tests.integration.scripted_server import authority, ca_pem

from bayplan.client import ClusterAccess, HttpTransport, Trust
from bayplan.clock import SystemClock

Settings = dict[h2.settings.SettingCodes, int]


@dataclass
class Asked:
    """A request that has arrived whole."""

    peer: Peer
    stream_id: int
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.headers[":path"]

    def answer(self, body: bytes = b"{}", status: int = 200, **headers: str) -> None:
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        self.peer.send_headers(self.stream_id, [(":status", str(status)), ("date", "today"), *named])
        self.peer.send_body(self.stream_id, body)


Handler = Callable[[Asked], None]


@dataclass
class Http2Server:
    """`async with Http2Server(handler) as server: ...`"""

    handler: Handler
    settings: Settings = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    _server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2"])
        authority().issue_cert("127.0.0.1").configure_cert(context)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Peer(self), "127.0.0.1", 0, ssl=context)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        for peer in self.peers:
            peer.cut()
        await self._server.wait_closed()

    def transport(self, **options: Any) -> HttpTransport:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return HttpTransport(
            ClusterAccess(f"https://127.0.0.1:{port}", Trust(ca=ca_pem())), SystemClock(), **options
        )


class Peer(asyncio.Protocol):
    """One connection."""

    def __init__(self, server: Http2Server) -> None:
        self._server = server
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self._transport: asyncio.Transport
        self._arriving: dict[int, Asked] = {}
        self.n_pings_answered = 0
        #: Bodies that the other side's window has no room for yet.
        self._unsent: dict[int, bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.peers.append(self)
        self.connection.local_settings = h2.settings.Settings(client=False, initial_values=self._server.settings)
        self.connection.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self.connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers = {name.decode(): value.decode() for name, value in event.headers}
                self._arriving[event.stream_id] = Asked(self, event.stream_id, headers, b"")
            elif isinstance(event, h2.events.DataReceived):
                self._arriving[event.stream_id].body += event.data
                self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                asked = self._arriving.pop(event.stream_id)
                self._server.asked.append(asked)
                self._server.handler(asked)
            elif isinstance(event, h2.events.WindowUpdated):
                self._send_unsent()
            elif isinstance(event, h2.events.PingAckReceived):
                self.n_pings_answered += 1
        self.flush()

    def send_headers(self, stream_id: int, headers: list[tuple[str, str]], *, end: bool = False) -> None:
        self.connection.send_headers(stream_id, headers, end_stream=end)
        self.flush()

    def send_body(self, stream_id: int, body: bytes) -> None:
        self._unsent[stream_id] = body
        self._send_unsent()
        self.flush()

    def _send_unsent(self) -> None:
        for stream_id, body in list(self._unsent.items()):
            while body and (room := self.connection.local_flow_control_window(stream_id)) > 0:
                part, body = body[: min(room, 16_384)], body[min(room, 16_384) :]
                self.connection.send_data(stream_id, part, pad_length=7 if len(part) < 1000 else None)
            self._unsent[stream_id] = body
            if not body:
                del self._unsent[stream_id]
                self.connection.end_stream(stream_id)

    def raw(self, data: bytes) -> None:
        """Bytes that `h2` would not write."""
        self._transport.write(data)

    def flush(self) -> None:
        self._transport.write(self.connection.data_to_send())

    def cut(self) -> None:
        self._transport.abort()
