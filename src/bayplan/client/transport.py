"""Requests to the API server over kept TLS connections.

Comes in: method, path and body. Goes out: the body of a 2xx answer, or ApiError, TransportError or AccessError. No
rate limit and no retries by cause: those are `KubeClient`'s.

An API server speaks HTTP/2, and all requests go over one connection. What does not (a proxy, the embedded cluster)
is asked over several. Only this module, `pool`, `opening` and the two protocols know about that.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from time import perf_counter
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from bayplan.client.auth import Credential, Credentials, make_credentials
from bayplan.client.connection import Connection
from bayplan.client.errors import TransportError, api_error
from bayplan.client.exchange import Lane, Request
from bayplan.client.kubeconfig import ClusterAccess
from bayplan.client.opening import HTTP1, Speaker, protocols
from bayplan.client.pool import Pool
from bayplan.client.requests import Query as Query
from bayplan.client.requests import RequestObserver as RequestObserver
from bayplan.client.requests import Requests
from bayplan.client.tls import make_context
from bayplan.framework import Clock
from bayplan.version import __version__

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

USER_AGENT = f"bayplan/{__version__}"
TIMEOUT_SECONDS = 30.0
CONNECT_SECONDS = 10.0
#: Requests on their way at a time, over one connection or several. Enough for the binds in flight at any sensible
#: rate; watches have connections of their own.
MAX_CONNECTIONS = 32

_P = TypeVar("_P", bound=asyncio.BaseProtocol)


class Transport:
    """See the module's text."""

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
        self._observer = observer
        self._clock = clock
        self._timeout = timeout_seconds
        url = urlsplit(access.server)
        self._tls = url.scheme == "https"
        self._host = url.hostname or ""
        self._port = url.port or (443 if self._tls else 80)
        self._credentials: Credentials = make_credentials(access.identity, clock, server=access.server)
        self._max_connections = max_connections
        self._pool = Pool(self._connect, limit=max_connections, may_share=self._tls)
        self._requests = Requests(
            self._pool,
            self._credentials,
            netloc=url.netloc.rpartition("@")[2],
            prefix=url.path.rstrip("/"),
            headers=[("User-Agent", user_agent), ("Accept", JSON), *access.identity.impersonate],
            timeout_seconds=timeout_seconds,
            may_retry_unauthorized=self._may_retry_unauthorized,
            observer=observer,
        )
        #: By the protocols that are offered.
        self._contexts: dict[Sequence[str], ssl.SSLContext] = {}
        self._context_signature: object = None

    def sibling(self, *, timeout_seconds: float, max_connections: int, user_agent: str) -> Transport:
        """Another transport to the same server, with connections of its own: a lease must not wait for events."""
        return Transport(
            self.access,
            self._clock,
            timeout_seconds=timeout_seconds,
            max_connections=max_connections,
            user_agent=user_agent,
            observer=self._observer,
        )

    # --- requests -----------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: Query | None = None,
        content_type: str = JSON,
        before_send: Callable[[], None] | None = None,
    ) -> dict[str, Any]:
        """The decoded answer; an empty one is {}."""
        answer = await self.request_bytes(
            method, path, body, query=query, content_type=content_type, before_send=before_send
        )
        decoded: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any]) if answer else {}
        return decoded

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
        """The answer as it came. *body* is encoded as JSON unless it is bytes; *before_send* may still refuse."""
        return self._requests.send(method, path, body, query, content_type, before_send)

    @contextlib.asynccontextmanager
    async def stream(self, path: str, query: Query | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """GET whose answer goes on and on; on a connection of its own, closed at the end of the block."""
        target = self._requests.target(path, query)
        credential = self._credentials.current() or await self._credentials.refresh()
        connection = await self._dial(Connection, HTTP1)
        try:
            sending = connection.send(
                Request("GET", target, self._requests.headers_with(credential)), streaming=True
            )
            start = perf_counter()
            try:
                async with asyncio.timeout(self._timeout):
                    reply = await sending
            except TimeoutError:
                self._requests.observe("GET", None, start)
                raise TransportError("no answer within the time limit", sent=True) from None
            self._requests.observe("GET", reply.status, start)
            if reply.status == 401:
                self._may_retry_unauthorized(credential)  # for the next time
            if connection.body is None:
                raise api_error(reply.status, reply.body, reply.headers)
            yield connection.body
        finally:
            connection.close()

    async def close(self) -> None:
        """Close all connections; requests under way fail."""
        self._pool.close()
        await asyncio.sleep(0)  # let the transports notice

    def _may_retry_unauthorized(self, rejected: Credential) -> bool:
        renewed = self._credentials.invalidate(rejected)
        if self._contexts and self._signature(rejected) != self._context_signature:
            self._contexts, renewed = {}, True
        if renewed:
            self._pool.retire_idle()
        return renewed

    # --- connections --------------------------------------------------------------------------------------

    async def _connect(self) -> Sequence[Lane]:
        """For requests, of whichever protocol."""
        speaker = await self._dial(partial(Speaker, self._max_connections), protocols())
        async with self._patience():
            return await speaker.lanes()

    async def _dial(self, factory: Callable[[], _P], offered: Sequence[str]) -> _P:
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {}
        if self._tls:
            options["ssl"] = self._tls_context(offered)
            options["server_hostname"] = self.access.trust.server_name or self._host
        try:
            async with self._patience():
                _, protocol = await loop.create_connection(factory, self._host, self._port, **options)
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate is not trusted: {error.verify_message}"
            raise TransportError(f"cannot connect to {self.access.server}: {why}", sent=False) from None
        except OSError as error:
            raise TransportError(f"cannot connect to {self.access.server}: {error}", sent=False) from None
        return protocol

    @contextlib.asynccontextmanager
    async def _patience(self) -> AsyncIterator[None]:
        """A connection is there within this time, or not at all."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                yield
        except TimeoutError:
            raise TransportError(f"cannot connect to {self.access.server}: no answer", sent=False) from None

    def _tls_context(self, offered: Sequence[str]) -> ssl.SSLContext:
        credential = self._credentials.current() or Credential(certificate=self.access.identity.certificate)
        signature = self._signature(credential)
        if signature != self._context_signature:
            self._contexts, self._context_signature = {}, signature
        if offered not in self._contexts:
            self._contexts[offered] = make_context(self.access.trust, credential.certificate, offered)
        return self._contexts[offered]

    def _signature(self, credential: Credential) -> object:
        certificate = credential.certificate
        return (self.access.trust.ca.signature(), certificate.signature() if certificate is not None else None)
