"""Requests to the API server over pooled keep-alive TLS connections.

Comes in: method, path and body. Goes out: the body of a 2xx answer, or ApiError, TransportError or AccessError. No
rate limit and no retries by cause: those are `KubeClient`'s. Two things are done again here because nothing can
have happened: a request refused for an expired credential, and a GET on a kept connection that was dead.

Only this module, `connection` and `pool` know how HTTP is spoken; everything else sees `Transport`.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from time import perf_counter
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import msgspec

from bayplan.client.auth import Credential, Credentials, make_credentials
from bayplan.client.connection import Connection
from bayplan.client.errors import TransportError, api_error
from bayplan.client.kubeconfig import ClusterAccess
from bayplan.client.pool import Pool
from bayplan.client.tls import make_context
from bayplan.framework import Clock
from bayplan.version import __version__

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

USER_AGENT = f"bayplan/{__version__}"
TIMEOUT_SECONDS = 30.0
CONNECT_SECONDS = 10.0
#: Enough for the binds in flight at any sensible rate; watches have connections of their own.
MAX_CONNECTIONS = 32

Query = Mapping[str, str | int]
_NOT_IN_A_PATH = re.compile(r"[^\x21-\x7e]")


class RequestObserver(Protocol):
    """Told about every answer: metrics hang on this."""

    def answered(self, host: str, method: str, status: int | None, seconds: float) -> None:
        """*status* is None where no answer came."""


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
        self._prefix = url.path.rstrip("/")
        self._credentials: Credentials = make_credentials(access.identity, clock, server=access.server)
        self._pool = Pool(self._connect, limit=max_connections)
        self._netloc = url.netloc.rpartition("@")[2]
        self._fixed_headers = self._make_fixed_headers(self._netloc, user_agent)
        #: The credential that `_headers` were made of.
        self._shown: Credential | None = None
        self._headers = ""
        self._context: ssl.SSLContext | None = None
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
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        line = self._request_line(method, path, query)
        again_after_cut = again_after_401 = True
        while True:
            credential = self._credentials.current()
            if credential is None:
                credential = await self._credentials.refresh()
            request = self._assemble(line, content, content_type, credential)
            start = perf_counter()
            try:
                reply = await self._pool.exchange(request, self._timeout, before_send)
            except TransportError as error:
                self._observe(method, None, start)
                if not (again_after_cut and error.reused and (method == "GET" or not error.sent)):
                    raise
                again_after_cut = False
                self._pool.retire_idle()  # the others are likely dead as well
                continue
            self._observe(method, reply.status, start)
            if 200 <= reply.status < 300:
                return reply.body
            if reply.status == 401 and again_after_401 and self._may_retry_unauthorized(credential):
                again_after_401 = False
                continue
            raise api_error(reply.status, reply.body, reply.headers)

    @contextlib.asynccontextmanager
    async def stream(self, path: str, query: Query | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """GET whose answer goes on and on; on a connection of its own, closed at the end of the block."""
        line = self._request_line("GET", path, query)
        credential = self._credentials.current() or await self._credentials.refresh()
        connection = await self._connect()
        try:
            sending = connection.send(self._assemble(line, None, JSON, credential), streaming=True)
            start = perf_counter()
            try:
                async with asyncio.timeout(self._timeout):
                    reply = await sending
            except TimeoutError:
                self._observe("GET", None, start)
                raise TransportError("no answer within the time limit", sent=True) from None
            self._observe("GET", reply.status, start)
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

    def _observe(self, method: str, status: int | None, start: float) -> None:
        if self._observer is not None:
            self._observer.answered(self._netloc, method, status, perf_counter() - start)

    def _may_retry_unauthorized(self, rejected: Credential) -> bool:
        renewed = self._credentials.invalidate(rejected)
        if self._context is not None and self._signature(rejected) != self._context_signature:
            self._context, renewed = None, True
        if renewed:
            self._pool.retire_idle()
        return renewed

    # --- bytes --------------------------------------------------------------------------------------------

    def _make_fixed_headers(self, netloc: str, user_agent: str) -> str:
        lines = [f"Host: {netloc}", f"User-Agent: {user_agent}", f"Accept: {JSON}"]
        lines += [f"{name}: {value}" for name, value in self.access.identity.impersonate]
        if any("\r" in line or "\n" in line for line in lines):
            raise ValueError("a header must be one line")
        return "\r\n".join(lines) + "\r\n"

    def _request_line(self, method: str, path: str, query: Query | None) -> str:
        target = f"{self._prefix}{path}"
        if query:
            target = f"{target}{'&' if '?' in path else '?'}{urlencode(query)}"
        if _NOT_IN_A_PATH.search(target) or not path.startswith("/"):
            raise ValueError(f"not a path of the API: {path!r}")
        return f"{method} {target} HTTP/1.1\r\n"

    def _assemble(self, line: str, content: bytes | None, content_type: str, credential: Credential) -> bytes:
        if credential is not self._shown:
            shown = f"Authorization: {credential.authorization}\r\n" if credential.authorization else ""
            self._headers, self._shown = self._fixed_headers + shown, credential
        if content is None:
            return f"{line}{self._headers}\r\n".encode("latin-1")
        head = f"{line}{self._headers}Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
        return head.encode("latin-1") + content

    # --- connections --------------------------------------------------------------------------------------

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {}
        if self._tls:
            options["ssl"] = self._tls_context()
            options["server_hostname"] = self.access.trust.server_name or self._host
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await loop.create_connection(Connection, self._host, self._port, **options)
        except TimeoutError:
            raise TransportError(f"cannot connect to {self.access.server}: no answer", sent=False) from None
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate is not trusted: {error.verify_message}"
            raise TransportError(f"cannot connect to {self.access.server}: {why}", sent=False) from None
        except OSError as error:
            raise TransportError(f"cannot connect to {self.access.server}: {error}", sent=False) from None
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        credential = self._credentials.current() or Credential(certificate=self.access.identity.certificate)
        signature = self._signature(credential)
        if self._context is None or signature != self._context_signature:
            self._context = make_context(self.access.trust, credential.certificate)
            self._context_signature = signature
        return self._context

    def _signature(self, credential: Credential) -> object:
        certificate = credential.certificate
        return (self.access.trust.ca.signature(), certificate.signature() if certificate is not None else None)
