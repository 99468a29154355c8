"""A small HTTPS server whose answers a test writes: for what a real API server cannot be made to do."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import msgspec
import trustme
from aiohttp import web

from bayplan.client import AuthInfo, Certificate, ClusterAccess, HttpTransport, Pem, Trust
from bayplan.clock import SystemClock

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@cache
def authority() -> trustme.CA:
    return trustme.CA()


def ca_pem() -> Pem:
    return Pem(data=authority().cert_pem.bytes())


def client_certificate() -> Certificate:
    made = authority().issue_cert("client@example.org")
    chain = b"".join(each.bytes() for each in made.cert_chain_pems)
    return Certificate(Pem(data=chain), Pem(data=made.private_key_pem.bytes()))


def answer(value: object, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json", headers=headers
    )


def refusal(code: int, reason: str = "", message: str = "", **headers: str) -> web.Response:
    return answer({"kind": "Status", "code": code, "reason": reason, "message": message}, code, headers)


def cut(request: web.Request) -> web.Response:
    """Cut the connection instead of answering."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    #: Equal for requests on the same connection.
    peer: Any


@dataclass
class ScriptedServer:
    """`async with ScriptedServer(handler) as server: ...`"""

    handler: Handler
    tls: bool = True
    wants_certificate: bool = False
    keep_alive_seconds: float = 75.0
    seen: list[Seen] = field(default_factory=list)
    port: int = 0
    _runner: web.ServerRunner | None = None

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(
            web.Server(self._serve, keepalive_timeout=self.keep_alive_seconds), shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._context() if self.tls else None)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        peer = request.transport.get_extra_info("peername") if request.transport is not None else None
        self.seen.append(
            Seen(
                request.method,
                request.path,
                dict(request.query),
                dict(request.headers),
                await request.read(),
                peer,
            )
        )
        return await self.handler(request)  # type: ignore[arg-type]

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority().issue_cert("127.0.0.1", "scripted.example").configure_cert(context)
        if self.wants_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            authority().configure_trust(context)
        return context

    # --- the other side -----------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def transport(
        self, auth_info: AuthInfo | None = None, trust: Trust | None = None, **options: Any
    ) -> HttpTransport:
        access = ClusterAccess(self.url, trust or Trust(ca=ca_pem()), auth_info or AuthInfo())
        return HttpTransport(access, SystemClock(), **options)

    @property
    def n_connections(self) -> int:
        return len({each.peer for each in self.seen})


class RawServer:
    """Answers each connection's first bytes with *script*, then closes; speaks whatever the script says."""

    def __init__(self, script: bytes) -> None:
        self._script = script
        self._server: asyncio.Server | None = None
        self.n_requests = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(65536):
            self.n_requests += 1
            writer.write(self._script)
            await writer.drain()
        writer.close()

    def transport(self) -> HttpTransport:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return HttpTransport(ClusterAccess(f"http://127.0.0.1:{port}"), SystemClock())
