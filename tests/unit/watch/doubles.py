"""A source of lists and watches that answers by script, and objects to answer with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bayplan.client.errors import ClientError

Query = Mapping[str, str | int]


def node(name: str, version: int, *, uid: str = "", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": uid or name, "resourceVersion": str(version), "labels": labels}}


def listing(version: int, *items: object, more: str = "") -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": str(version), "continue": more}, "items": items})


def event(type: str, value: object) -> bytes:
    return msgspec.json.encode({"type": type, "object": value}) + b"\n"


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def status(code: int, message: str = "") -> dict[str, Any]:
    return {"kind": "Status", "code": code, "message": message}


class ScriptedSource:
    """Each list takes the next of *lists*, each watch the next of *watches*; without any left, a watch stays open.

    In a watch: bytes come, a number is a pause, an exception ends it; after the last the stream ends.
    """

    def __init__(self) -> None:
        self.lists: list[bytes | ClientError] = []
        self.watches: list[list[bytes | float | Exception]] = []
        self.asked: list[tuple[float, str, dict[str, str | int]]] = []
        self.on_open: Callable[[], None] = lambda: None

    async def get_bytes(self, path: str, query: Query | None = None) -> bytes:
        self._note(path, query)
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def stream(self, path: str, query: Query | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        self._note(path, query)
        forever: list[bytes | float | Exception] = [1e6]
        script = self.watches.pop(0) if self.watches else forever
        if script and isinstance(script[0], ClientError):
            raise script[0]
        yield self._play(script)

    async def _play(self, script: list[bytes | float | Exception]) -> AsyncIterator[bytes]:
        for step in script:
            if isinstance(step, bytes):
                yield step
            elif isinstance(step, Exception):
                raise step
            else:
                await asyncio.sleep(step)

    def _note(self, path: str, query: Query | None) -> None:
        self.asked.append((asyncio.get_running_loop().time(), path, dict(query or {})))

    @property
    def versions(self) -> list[str]:
        """What was asked for, as "list 0" or "watch 7"."""
        return [
            f"{'watch' if query.get('watch') else 'list'} {query.get('resourceVersion', '-')}"
            for _, _, query in self.asked
        ]
