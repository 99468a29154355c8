"""The API server without sockets: what `client.HttpTransport` does, in the same process.

`KubeClient`, informers, leases and the whole of `service` run on it as against a real server. Requests are handled
immediately, so there is nothing to pool, to time out or to authenticate; only pending disk writes are awaited.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from urllib.parse import parse_qs, unquote

import msgspec

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.api_messages import ADMIN, ApiRequest, ApiResponse, UserInfo
from bayplan.client.errors import TransportError, api_error
from bayplan.client.transport import JSON, USER_AGENT, Query


class LocalTransport:
    """Implements `client.Transport` without connections."""

    def __init__(self, server: ApiServer, *, user: UserInfo = ADMIN, user_agent: str = USER_AGENT) -> None:
        self._server = server
        self._user = user
        self._user_agent = user_agent
        self._closed = False

    def sibling(self, *, timeout_seconds: float, max_connections: int, user_agent: str) -> LocalTransport:
        """Another transport for the same server."""
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
        """The response as it came. *body* is encoded as JSON unless it is bytes; *before_send* may refuse it."""
        content = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        await asyncio.sleep(0)  # let other tasks run, as while waiting for a socket
        self._check_open()
        if before_send is not None:
            before_send()
        response = self._server.handle(self._request(method, path, query, content, content_type))
        return body_of(await self._server.durable(response))

    def handle(
        self,
        method: str,
        path: str,
        body: object | None,
        query: Query | None,
        content_type: str,
        then: Callable[[ApiResponse], None],
    ) -> None:
        """The same without a coroutine: calls *then* with the response."""
        content = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        response = self._server.handle(self._request(method, path, query, content, content_type))
        self._server.when_durable(response, then)

    @contextlib.asynccontextmanager
    async def stream(self, path: str, query: Query | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """A GET whose response is a stream, until the end of the block."""
        self._check_open()
        response = await self._server.durable(self._server.handle(self._request("GET", path, query, b"", JSON)))
        if response.stream is None:
            raise api_error(response.status, response.body, ())
        try:
            yield response.stream
        finally:
            response.close()

    async def close(self) -> None:
        """Requests fail from now on."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError("the connection was closed", sent=False)

    def _request(
        self, method: str, path: str, query: Query | None, content: bytes, content_type: str
    ) -> ApiRequest:
        path, _, inline = path.partition("?")
        parameters = parse_qs(inline, keep_blank_values=True) if inline else {}
        for name, value in (query or {}).items():
            parameters.setdefault(name, []).append(str(value))
        return ApiRequest(
            method=method,
            path=unquote(path) if "%" in path else path,
            query=parameters,
            body=content,
            content_type=content_type,
            accept=content_type if method == "GET" else JSON,
            user_agent=self._user_agent,
            user=self._user,
        )


def body_of(response: ApiResponse) -> bytes:
    """The body of a 2xx response; raises ApiError for another."""
    if 200 <= response.status < 300:
        return response.body
    headers = [(name.encode(), value.encode()) for name, value in response.headers.items()]
    raise api_error(response.status, response.body, headers)
