"""Opening connections: which protocol is spoken is agreed on in the TLS handshake."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import cast

from bayplan.client.connection import BUFFER_BYTES, Connection, keep_alive
from bayplan.client.exchange import Lane
from bayplan.client.http2 import Http2Connection

HTTP1 = ("http/1.1",)
_HTTP2 = "h2"


def protocols() -> tuple[str, ...]:
    """What we offer, the best first. HTTP/2 is switched off as in client-go, for a proxy that cannot do it."""
    return HTTP1 if os.environ.get("DISABLE_HTTP2") else (_HTTP2, *HTTP1)


class Http2Protocol(asyncio.BufferedProtocol):
    """What the event loop knows of an HTTP/2 connection."""

    def __init__(self, max_lanes: int) -> None:
        self.connection = Http2Connection(max_lanes)
        self._buffer = memoryview(bytearray(BUFFER_BYTES))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        keep_alive(transport.get_extra_info("socket"))
        self.connection.open(cast("asyncio.Transport", transport))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.connection.take(self._buffer[:nbytes])

    def connection_lost(self, exc: Exception | None) -> None:
        self.connection.cut(exc)


class Speaker(asyncio.BaseProtocol):
    """Hands a new connection over to the protocol that it speaks."""

    def __init__(self, max_lanes: int) -> None:
        self._max_lanes = max_lanes
        #: Since the connection is made.
        self._chosen: Connection | Http2Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        is_http2 = tls is not None and tls.selected_alpn_protocol() == _HTTP2
        self._chosen = Http2Protocol(self._max_lanes) if is_http2 else Connection()
        cast("asyncio.Transport", transport).set_protocol(self._chosen)
        self._chosen.connection_made(transport)

    async def lanes(self) -> Sequence[Lane]:
        """On an HTTP/2 connection, as many as the server allows."""
        chosen = self._chosen
        return await chosen.connection.lanes if isinstance(chosen, Http2Protocol) else [chosen]
