"""Opening connections: which protocol is spoken is agreed on in the TLS handshake."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import cast

from bayplan.client.connection import Connection
from bayplan.client.exchange import Lane
from bayplan.client.http2 import Http2Connection

HTTP1 = ("http/1.1",)
_HTTP2 = "h2"


def protocols() -> tuple[str, ...]:
    """What we offer, the best first. HTTP/2 is switched off as in client-go, for a proxy that cannot do it."""
    return HTTP1 if os.environ.get("DISABLE_HTTP2") else (_HTTP2, *HTTP1)


class Speaker(asyncio.BaseProtocol):
    """Hands a new connection over to the protocol that it speaks."""

    def __init__(self, max_lanes: int) -> None:
        self._max_lanes = max_lanes
        #: Since the connection is made.
        self._chosen: Connection | Http2Connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        is_http2 = tls is not None and tls.selected_alpn_protocol() == _HTTP2
        self._chosen = Http2Connection(self._max_lanes) if is_http2 else Connection()
        cast("asyncio.Transport", transport).set_protocol(self._chosen)
        self._chosen.connection_made(transport)

    async def lanes(self) -> Sequence[Lane]:
        """On an HTTP/2 connection, as many as the server allows."""
        return await self._chosen.lanes if isinstance(self._chosen, Http2Connection) else [self._chosen]
