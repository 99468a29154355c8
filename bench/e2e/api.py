"""The driver's API client. It counts its requests, so that they can be subtracted from those of the scheduler."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from bayplan.client import ApiError, HttpTransport, load_access
from bayplan.clock import SystemClock
from bench.e2e import metrics
from bench.e2e.workload import Object

#: Concurrent requests.
IN_FLIGHT = 16
_TIMEOUT_SECONDS = 300.0  # one request may delete thousands of pods
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
        self.transport = HttpTransport(access, SystemClock(), timeout_seconds=_TIMEOUT_SECONDS, max_connections=64)
        #: Requests by the names of `metrics.request_name`.
        self.sent: Counter[str] = Counter()

    async def __aenter__(self) -> Api:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.transport.close()

    async def send(self, call: Call, *, fine: Sequence[int] = ()) -> bytes:
        """The response; empty if the status is an error in *fine*."""
        self.sent[metrics.request_name(call.method, call.path)] += 1
        try:
            return await self.transport.request_bytes(
                call.method, call.path, call.body, content_type=call.content_type
            )
        except ApiError as error:
            if error.status in fine:
                return b""
            raise

    async def send_all(
        self, calls: Iterable[Call], *, in_flight: int = IN_FLIGHT, fine: Sequence[int] = (409,)
    ) -> None:
        """Send all requests, in this order, *in_flight* at a time; by default objects may already exist."""
        waiting = iter(calls)

        async def work() -> None:
            for call in waiting:
                await self.send(call, fine=fine)

        await asyncio.gather(*(work() for _ in range(in_flight)))

    async def get(self, path: str, kind: type[Any]) -> Any:
        """The response, decoded as *kind*, which may have only some of the fields."""
        return msgspec.json.decode(await self.send(Call("GET", path)), type=kind)

    async def count(self, collection: str) -> int:
        """The number of objects."""
        page: _Page = await self.get(f"{collection}?limit=1", _Page)
        return len(page.items or ()) + page.metadata.remaining_item_count

    async def resource_version(self, collection: str) -> str:
        """The resource version from which a watch sees every later change."""
        page: _Page = await self.get(f"{collection}?limit=1", _Page)
        return page.metadata.resource_version

    async def delete_all(self, collection: str) -> None:
        """Delete the whole collection, without grace period, and wait until it is empty."""
        async with asyncio.timeout(_GONE_SECONDS):
            while await self.count(collection):
                await self.send(Call("DELETE", collection, _AT_ONCE))

    async def handled_requests(self) -> metrics.RequestCounts:
        """The requests that the API server has handled so far, from all clients."""
        return metrics.handled_requests((await self.send(Call("GET", "/metrics"))).decode())
