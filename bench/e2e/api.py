"""The driver's way to the API server. It counts what it asks for, so that it can be told from the scheduler's."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from bayplan.client import ApiError, Transport, load_access
from bayplan.clock import SystemClock
from bench.e2e import metrics
from bench.e2e.workload import Object

#: Requests on their way at a time.
IN_FLIGHT = 16
_TIMEOUT_SECONDS = 300.0  # thousands of pods are deleted by one request
_GONE_SECONDS = 300.0
_AT_ONCE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}


class Call(NamedTuple):
    """One request."""

    method: str
    path: str
    body: bytes | Object | None = None
    content_type: str = "application/json"


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    remaining_item_count: int = 0


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class Api:
    """One connection pool to one API server, as administrator."""

    def __init__(self, kubeconfig: Path) -> None:
        access = load_access(str(kubeconfig))
        self.transport = Transport(access, SystemClock(), timeout_seconds=_TIMEOUT_SECONDS, max_connections=64)
        #: Requests by the names of `metrics.request_name`.
        self.asked: Counter[str] = Counter()

    async def __aenter__(self) -> Api:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.transport.close()

    async def ask(self, call: Call, *, fine: Sequence[int] = ()) -> bytes:
        """The answer; a refusal with a status of *fine* is an empty one."""
        self.asked[metrics.request_name(call.method, call.path)] += 1
        try:
            return await self.transport.request_bytes(
                call.method, call.path, call.body, content_type=call.content_type
            )
        except ApiError as error:
            if error.status in fine:
                return b""
            raise

    async def ask_all(
        self, calls: Iterable[Call], *, in_flight: int = IN_FLIGHT, fine: Sequence[int] = (409,)
    ) -> None:
        """All of them, in this order, so many on their way at a time; what is there already is fine."""
        waiting = iter(calls)

        async def work() -> None:
            for call in waiting:
                await self.ask(call, fine=fine)

        await asyncio.gather(*(work() for _ in range(in_flight)))

    async def get(self, path: str, kind: type[Any]) -> Any:
        """The answer, only as much of it decoded as *kind* has."""
        return msgspec.json.decode(await self.ask(Call("GET", path)), type=kind)

    async def count(self, collection: str) -> int:
        """How many objects there are."""
        page: _Page = await self.get(f"{collection}?limit=1", _Page)
        return len(page.items or ()) + page.metadata.remaining_item_count

    async def resource_version(self, collection: str) -> str:
        """Where a watch begins that sees everything from now on."""
        page: _Page = await self.get(f"{collection}?limit=1", _Page)
        return page.metadata.resource_version

    async def delete_all(self, collection: str) -> None:
        """Delete the whole collection, at once, and wait until it is gone."""
        async with asyncio.timeout(_GONE_SECONDS):
            while await self.count(collection):
                await self.ask(Call("DELETE", collection, _AT_ONCE))

    async def answered(self) -> metrics.Answered:
        """What the API server has answered so far, to anybody."""
        return metrics.answered((await self.ask(Call("GET", "/metrics"))).decode())
