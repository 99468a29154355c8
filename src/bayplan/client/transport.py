"""HTTP requests to the API server over pooled TLS connections.

In: method, path and body. Out: the body of a 2xx response, or ApiError, TransportError or AccessError.
The rate limit and retries are `KubeClient`'s, except for two retries that are always safe: a request that was
refused for an expired credential, and a GET on a reused connection that was dead.

An API server speaks HTTP/2, and all requests share one connection. A server that does not (a proxy, the embedded
cluster) gets several HTTP/1.1 connections.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast
from urllib.parse import urlencode, urlsplit

import msgspec

from bayplan.client.certificates import make_context
from bayplan.client.connection_pool import ConnectionPool
from bayplan.client.credentials import Credential, credential_source, static_credential
from bayplan.client.errors import TransportError, api_error
from bayplan.client.http1 import READ_BUFFER_BYTES, Http1Connection, enable_keep_alive
from bayplan.client.http2 import Http2Connection
from bayplan.client.http_messages import FixedHeaders, HttpRequest, RequestSlot
from bayplan.client.kubeconfig import ClusterAccess
from bayplan.version import __version__

if TYPE_CHECKING:
    from bayplan.framework import Clock

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

USER_AGENT = f"bayplan/{__version__}"
TIMEOUT_SECONDS = 30.0
CONNECT_SECONDS = 10.0
#: Concurrent requests, over one connection or several. Enough for the binds in flight at any sensible rate;
#: watches have connections of their own.
MAX_CONNECTIONS = 32

HTTP2: Final = "h2"
HTTP1_ONLY: Final = ("http/1.1",)
_NOT_ALLOWED_IN_TARGET: Final = re.compile(r"[^\x21-\x7e]")

Query = Mapping[str, str | int]
_ProtocolT = TypeVar("_ProtocolT", bound=asyncio.BaseProtocol)


class RequestObserver(Protocol):
    """Receives the result of every request, for metrics."""

    def answered(self, host: str, method: str, status: int | None, seconds: float) -> None:
        """*status* is None if there was no response."""


class Transport(Protocol):
    """What `KubeClient` sends requests with."""

    def request_bytes(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: Query | None = None,
        content_type: str = JSON,
        before_send: Callable[[], None] | None = None,
    ) -> Coroutine[Any, Any, bytes]:
        """The body of the response. *body* is encoded as JSON unless it is bytes; *before_send* may raise.

        *content_type* is that of the body; without one, that of the response.
        """

    def stream(self, path: str, query: Query | None = None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A GET whose response is read as it arrives, on a connection that is closed at the end of the block."""

    def sibling(self, *, timeout_seconds: float, max_connections: int, user_agent: str) -> Transport:
        """Another transport to the same server, with connections of its own: a lease must not wait for events."""

    async def close(self) -> None:
        """Close all connections; requests in flight fail."""


class HttpTransport:
    """Implements `Transport` with sockets."""

    def __init__(
        self,
        access: ClusterAccess,
        clock: Clock,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        max_connections: int = MAX_CONNECTIONS,
        user_agent: str = USER_AGENT,
        observer: RequestObserver | None = None,
    ) -> None:
        self.access = access
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._max_connections = max_connections
        self._observer = observer
        url = urlsplit(access.server)
        self._uses_tls = url.scheme == "https"
        self._host = url.hostname or ""
        self._port = url.port or (443 if self._uses_tls else 80)
        self._authority = url.netloc.rpartition("@")[2]
        #: The path of the server's URL, which precedes every path.
        self._path_prefix = url.path.rstrip("/")
        auth_info = access.auth_info
        #: None if the credential never changes.
        self._credential_source = credential_source(auth_info, clock, server=access.server)
        self._credential = static_credential(auth_info)
        self._common_headers = [("User-Agent", user_agent), *auth_info.impersonate]
        #: With the Authorization of `_credential`.
        self._headers = self._headers_for(self._credential)
        self._pool = ConnectionPool(self._connect, limit=max_connections, may_multiplex=self._uses_tls)
        #: By the protocols that are offered; valid for the certificates of `_context_version`.
        self._contexts: dict[Sequence[str], ssl.SSLContext] = {}
        self._context_version: object = None

    def sibling(self, *, timeout_seconds: float, max_connections: int, user_agent: str) -> HttpTransport:
        return HttpTransport(
            self.access,
            self._clock,
            timeout_seconds=timeout_seconds,
            max_connections=max_connections,
            user_agent=user_agent,
            observer=self._observer,
        )

    async def close(self) -> None:
        self._pool.close()
        await asyncio.sleep(0)  # let asyncio close the sockets

    # --- requests -----------------------------------------------------------------------------------------

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
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        target = self._target(path, query)
        may_resend = may_reauthenticate = True
        while True:
            if self._credential_source is not None:
                self._use_credential(self._credential_source.current() or await self._credential_source.refresh())
            credential = self._credential
            headers = self._headers
            if content is None and content_type != JSON:
                headers = self._headers_for(credential, content_type)
            request = HttpRequest(method, target, headers, content, content_type)
            start = perf_counter()
            try:
                response = await self._pool.send(request, self._timeout_seconds, before_send)
            except TransportError as error:
                self._observe(method, None, start)
                if not (may_resend and error.reused and (method == "GET" or not error.sent)):
                    raise
                may_resend = False
                self._pool.close_idle()  # they are most likely dead as well
                continue
            status = response.status
            self._observe(method, status, start)
            if 200 <= status < 300:
                return response.body
            if status == 401 and may_reauthenticate and self._invalidate_credential(credential):
                may_reauthenticate = False
                continue
            raise api_error(status, response.body, response.headers)

    def stream(self, path: str, query: Query | None = None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return _ResponseStream(self, path, query)

    async def open_stream(self, path: str, query: Query | None) -> Http1Connection:
        """A connection whose `body` is the response to a GET."""
        target = self._target(path, query)
        if self._credential_source is not None:
            self._use_credential(self._credential_source.current() or await self._credential_source.refresh())
        credential, request = self._credential, HttpRequest("GET", target, self._headers)
        connection = await self._dial(Http1Connection, HTTP1_ONLY)
        start = perf_counter()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await connection.send(request, streaming=True)
            self._observe("GET", response.status, start)
            if response.status == 401:
                self._invalidate_credential(credential)  # for the next request
            if connection.body is None:
                raise api_error(response.status, response.body, response.headers)
        except TimeoutError:
            self._observe("GET", None, start)
            connection.close()
            raise TransportError("no answer within the time limit", sent=True) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _target(self, path: str, query: Query | None) -> str:
        target = f"{self._path_prefix}{path}"
        if query:
            target = f"{target}{'&' if '?' in path else '?'}{urlencode(query)}"
        if _NOT_ALLOWED_IN_TARGET.search(target) or not path.startswith("/"):
            raise ValueError(f"not a path of the API: {path!r}")
        return target

    def _observe(self, method: str, status: int | None, start: float) -> None:
        if self._observer is not None:
            self._observer.answered(self._authority, method, status, perf_counter() - start)

    # --- credentials --------------------------------------------------------------------------------------

    def _use_credential(self, credential: Credential) -> None:
        if credential is not self._credential:
            self._credential, self._headers = credential, self._headers_for(credential)

    def _headers_for(self, credential: Credential, accept: str = JSON) -> FixedHeaders:
        headers = [*self._common_headers, ("Accept", accept)]
        if credential.authorization:
            headers.append(("Authorization", credential.authorization))
        return FixedHeaders(self._authority, headers)

    def _invalidate_credential(self, rejected: Credential) -> bool:
        """After a 401; whether there may be another credential by now."""
        renewed = self._credential_source is not None and self._credential_source.invalidate(rejected)
        if self._contexts and self._certificate_version(rejected) != self._context_version:
            self._contexts, renewed = {}, True
        if renewed:
            self._pool.close_idle()
        return renewed

    # --- connections --------------------------------------------------------------------------------------

    async def _connect(self) -> Sequence[RequestSlot]:
        """Open a connection for the pool, with the protocol that the server prefers."""
        connected = await self._dial(partial(AlpnProtocol, self._max_connections), offered_protocols())
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await connected.slots()
        except TimeoutError:
            raise self._connect_error("no answer") from None

    async def _dial(self, factory: Callable[[], _ProtocolT], offered: Sequence[str]) -> _ProtocolT:
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {}
        if self._uses_tls:
            options["ssl"] = self._tls_context(offered)
            options["server_hostname"] = self.access.trust.server_name or self._host
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, protocol = await loop.create_connection(factory, self._host, self._port, **options)
        except ssl.SSLCertVerificationError as error:
            raise self._connect_error(f"its certificate is not trusted: {error.verify_message}") from None
        except TimeoutError:
            raise self._connect_error("no answer") from None
        except OSError as error:
            raise self._connect_error(str(error)) from None
        return protocol

    def _connect_error(self, cause: str) -> TransportError:
        return TransportError(f"cannot connect to {self.access.server}: {cause}", sent=False)

    def _tls_context(self, offered: Sequence[str]) -> ssl.SSLContext:
        version = self._certificate_version(self._credential)
        if version != self._context_version:
            self._contexts, self._context_version = {}, version
        if offered not in self._contexts:
            self._contexts[offered] = make_context(self.access.trust, self._credential.certificate, offered)
        return self._contexts[offered]

    def _certificate_version(self, credential: Credential) -> object:
        certificate = credential.certificate
        return (self.access.trust.ca.version(), certificate.version() if certificate is not None else None)


class _ResponseStream(AbstractAsyncContextManager[AsyncIterator[bytes]]):
    """See `Transport.stream`."""

    def __init__(self, transport: HttpTransport, path: str, query: Query | None) -> None:
        self._transport = transport
        self._path = path
        self._query = query
        self._connection: Http1Connection | None = None

    async def __aenter__(self) -> AsyncIterator[bytes]:
        self._connection = await self._transport.open_stream(self._path, self._query)
        return cast("AsyncIterator[bytes]", self._connection.body)

    async def __aexit__(self, *exception: object) -> None:
        if self._connection is not None:
            self._connection.close()


def offered_protocols() -> tuple[str, ...]:
    """For ALPN, the preferred first. DISABLE_HTTP2 switches HTTP/2 off as in client-go, for a proxy without it."""
    return HTTP1_ONLY if os.environ.get("DISABLE_HTTP2") else (HTTP2, *HTTP1_ONLY)


class AlpnProtocol(asyncio.BufferedProtocol):
    """A new connection; the TLS handshake (ALPN) decides whether it speaks HTTP/2 or HTTP/1.1."""

    def __init__(self, max_slots: int) -> None:
        self._max_slots = max_slots
        self._connection: Http1Connection | Http2Connection | None = None
        self._buffer = memoryview(b"")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        if tls is not None and tls.selected_alpn_protocol() == HTTP2:
            enable_keep_alive(transport.get_extra_info("socket"))
            self._buffer = memoryview(bytearray(READ_BUFFER_BYTES))
            self._connection = Http2Connection(self._max_slots)
            self._connection.connection_made(cast("asyncio.Transport", transport))
        else:
            # From now on asyncio calls the HTTP/1.1 connection, not this protocol.
            self._connection = Http1Connection()
            cast("asyncio.Transport", transport).set_protocol(self._connection)
            self._connection.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        cast(Http2Connection, self._connection).data_received(self._buffer[:nbytes])

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection is not None:
            self._connection.connection_lost(exc)

    async def slots(self) -> Sequence[RequestSlot]:
        """One on an HTTP/1.1 connection; as many as the server allows on an HTTP/2 connection."""
        if isinstance(self._connection, Http2Connection):
            return await self._connection.slots
        return [cast(Http1Connection, self._connection)]
