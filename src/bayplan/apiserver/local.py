"""The API server without sockets: what `client.transport.Transport` does, in the same process.

`KubeClient`, informers, leases and the whole of `service` run on it as they run against a real server. Requests
are answered at once, so there is nothing to pool, to time out or to authenticate; only what is on its way to the
disk is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from urllib.parse import parse_qs, unquote

import msgspec

from bayplan.apiserver.exchange import ADMIN, Request, Response, User
from bayplan.apiserver.server import ApiServer
from bayplan.client.errors import TransportError, api_error
from bayplan.client.transport import JSON, USER_AGENT, Query, Transport


class LocalTransport(Transport):
    """See the module's text. Takes the place of `Transport`; nothing of its connections is there."""

    def __init__(self, server: ApiServer, *, user: User = ADMIN, user_agent: str = USER_AGENT) -> None:
        self._server = server
        self._user = user
        self._user_agent = user_agent
        self._closed = False

    def sibling(self, *, timeout_seconds: float, max_connections: int, user_agent: str) -> LocalTransport:
        """Another one for the same server."""
        return LocalTransport(self._server, user=self._user, user_agent=user_agent)

    async def request_bytes(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: Query | None = None,
        content_type: str = JSON,
        before_send: Callable[[], None] | None = None,
    ) -> bytes:
        """The answer as it came. *body* is encoded as JSON unless it is bytes; *before_send* may still refuse."""
        content = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        await asyncio.sleep(0)  # others have their turn, as while a socket is waited for
        self._check_open()
        if before_send is not None:
            before_send()
        answer = self._server.handle(self._request(method, path, query, content, content_type))
        return _body(await self._server.durable(answer))

    @contextlib.asynccontextmanager
    async def stream(self, path: str, query: Query | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """GET whose answer goes on and on, until the end of the block."""
        self._check_open()
        answer = await self._server.durable(self._server.handle(self._request("GET", path, query, b"", JSON)))
        if answer.stream is None:
            raise api_error(answer.status, answer.body, ())
        try:
            yield answer.stream
        finally:
            answer.close()

    async def close(self) -> None:
        """Requests fail from now on."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError("the connection was closed", sent=False)

    def _request(self, method: str, path: str, query: Query | None, content: bytes, content_type: str) -> Request:
        path, _, inline = path.partition("?")
        asked = parse_qs(inline, keep_blank_values=True) if inline else {}
        for name, value in (query or {}).items():
            asked.setdefault(name, []).append(str(value))
        return Request(
            method=method,
            path=unquote(path) if "%" in path else path,
            query=asked,
            body=content,
            content_type=content_type,
            accept=JSON,
            user_agent=self._user_agent,
            user=self._user,
        )


def _body(answer: Response) -> bytes:
    if 200 <= answer.status < 300:
        return answer.body
    headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
    raise api_error(answer.status, answer.body, headers)
