"""A clock that runs with the event loop (virtual under looptime), and a transport that answers by script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
    """Stands in for `Transport`: each request takes the next answer; an exception is raised, bytes returned."""

    def __init__(self, *answers: bytes | ClientError) -> None:
        self.answers = list(answers)
        self.sent: list[Sent] = []

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
