"""Test doubles: a clock that runs with the event loop (virtual under looptime), and a transport with a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec

from bayplan.client.errors import ClientError

EPOCH = 1_800_000_000.0


class LoopClock:
    """Implements `framework.Clock`."""

    def now(self) -> float:
        return EPOCH + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Sent(NamedTuple):
    at: float
    method: str
    path: str
    body: Any
    content_type: str


class ScriptedTransport:
    """Implements `Transport`: each request takes the next answer; an exception is raised, bytes returned."""

    def __init__(self, *answers: bytes | ClientError) -> None:
        self.answers = list(answers)
        self.sent: list[Sent] = []
        self.siblings: list[ScriptedTransport] = []

    async def request_bytes(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: object = None,
        content_type: str = "application/json",
        before_send: Callable[[], None] | None = None,
    ) -> bytes:
        if before_send is not None:
            before_send()
        content = msgspec.json.decode(body) if isinstance(body, bytes) else body
        self.sent.append(Sent(asyncio.get_running_loop().time(), method, path, content, content_type))
        answer = self.answers.pop(0) if self.answers else b"{}"
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def stream(self, path: str, query: object = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """A body of one chunk."""
        yield self._chunks()

    async def _chunks(self) -> AsyncIterator[bytes]:
        yield b"chunk"

    def sibling(self, *, timeout_seconds: float, max_connections: int, user_agent: str) -> ScriptedTransport:
        self.siblings.append(ScriptedTransport())
        return self.siblings[-1]

    async def close(self) -> None: ...


class SocketTransport(asyncio.Transport):
    """Stands in for the transport that asyncio gives a protocol: keeps what is written."""

    def __init__(self, *, alpn: str | None = None) -> None:
        super().__init__({"ssl_object": None if alpn is None else _TlsObject(alpn)})
        self.written = b""
        self.is_aborted = False
        self.is_paused = False
        self.protocol: asyncio.BaseProtocol | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def abort(self) -> None:
        self.is_aborted = True

    close = abort

    def is_closing(self) -> bool:
        return self.is_aborted

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol


class _TlsObject:
    def __init__(self, alpn: str) -> None:
        self._alpn = alpn

    def selected_alpn_protocol(self) -> str:
        return self._alpn


def receive(protocol: asyncio.BufferedProtocol, data: bytes) -> None:
    """Let *data* arrive from the network."""
    memoryview(protocol.get_buffer(-1))[: len(data)] = data
    protocol.buffer_updated(len(data))
