"""The driver: creates the pods of a phase and records when each was created and when it was bound.

It must be cheap, because it runs on the same cores: bodies are encoded beforehand, and only the names of pod and
node are decoded from watch events. It is the same for every scheduler.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from time import perf_counter

import msgspec

from bench.e2e.api import Api, Call
from bench.e2e.scene import PODS
from bench.e2e.workload import Workload, pod_name

#: The same number as in scheduler_perf.
STREAM_CREATORS = 30
LATENCY_PODS_PER_SECOND = 100
_WATCH_SECONDS = 3600


class _Meta(msgspec.Struct):
    name: str
    resourceVersion: str


class _Spec(msgspec.Struct):
    nodeName: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


class _Change(msgspec.Struct):
    type: str
    object: _Pod


class Driver:
    """The measured pods of one phase."""

    def __init__(self, api: Api, workload: Workload, n_pods: int) -> None:
        self._api = api
        self._decode = msgspec.json.Decoder(_Change).decode
        self.names = [pod_name(i) for i in range(n_pods)]
        self._bodies = [msgspec.json.encode(workload.make_pod(i)) for i in range(n_pods)]
        self._waiting = set(self.names)
        self.created_at: dict[str, float] = {}
        self.bound_at: dict[str, float] = {}
        #: Pod → node, for all pods, not only the measured ones.
        self.nodes: dict[str, str] = {}
        self.all_bound = asyncio.Event()
        self._resource_version = ""
        self._reading: asyncio.Task[None] | None = None
        #: Called at the first bind and at the last.
        self.on_first: Callable[[], None] = lambda: None
        self.on_last: Callable[[], None] = lambda: None

    @property
    def missing(self) -> list[str]:
        """Pods that are not bound yet."""
        return sorted(self._waiting)

    @property
    def span(self) -> float:
        """Seconds from the first bind to the last."""
        return max(self.bound_at.values()) - min(self.bound_at.values())

    def placements(self) -> list[str]:
        """The node of each pod, in the order of the pods' names."""
        return [self.nodes[name] for name in self.names]

    def waits(self) -> list[float]:
        """Seconds from the creation to the bind, of each pod."""
        return [self.bound_at[name] - self.created_at[name] for name in self.names]

    # --- creating ---------------------------------------------------------------------------------

    async def create(self, *, creators: int) -> None:
        """Create all pods as fast as possible, in the order of their names, with several concurrent creators."""
        numbers = iter(range(len(self.names)))

        async def work() -> None:
            for i in numbers:
                await self._create(i)

        await asyncio.gather(*(work() for _ in range(creators)))

    async def create_steadily(self, per_second: float = LATENCY_PODS_PER_SECOND) -> None:
        """Create pods at a fixed rate, without waiting for earlier responses."""
        start = perf_counter()
        async with asyncio.TaskGroup() as group:
            for i in range(len(self.names)):
                await asyncio.sleep(start + i / per_second - perf_counter())
                group.create_task(self._create(i))

    async def _create(self, i: int) -> None:
        self.created_at[self.names[i]] = perf_counter()
        await self._api.send(Call("POST", PODS, self._bodies[i]))

    # --- watching ---------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Record binds while the block runs."""
        self._resource_version = await self._api.resource_version(PODS)
        connected = asyncio.Event()
        self._reading = asyncio.create_task(self._watch(connected))
        await connected.wait()
        self.check()
        try:
            yield
        finally:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _watch(self, connected: asyncio.Event) -> None:
        """Watch, and resume after an interruption: an API server drops a watch whose client is too slow."""
        query = {"watch": "true", "fieldSelector": "spec.nodeName!=", "timeoutSeconds": str(_WATCH_SECONDS)}
        try:
            while True:
                at = {**query, "resourceVersion": self._resource_version}
                async with self._api.transport.stream(PODS, at) as body:
                    connected.set()
                    await self._read(body)
        finally:
            connected.set()  # release waiters on failure

    def check(self) -> None:
        """Raise if the watch has failed: binds would not be seen."""
        if self._reading is not None and self._reading.done():
            raise RuntimeError("the driver's watch has failed") from self._reading.exception()

    async def _read(self, body: AsyncIterator[bytes]) -> None:
        rest = b""
        async for chunk in body:
            *lines, rest = (rest + chunk).split(b"\n")
            self.see(lines, perf_counter())

    def see(self, lines: Sequence[bytes], now: float) -> None:
        """Process lines of the watch."""
        for line in lines:
            change = self._decode(line)
            name = change.object.metadata.name
            self._resource_version = change.object.metadata.resourceVersion
            if change.type == "DELETED" or name in self.nodes:
                continue
            self.nodes[name] = change.object.spec.nodeName
            if name in self._waiting:
                self._note(name, now)

    def _note(self, name: str, now: float) -> None:
        if not self.bound_at:
            self.on_first()
        self.bound_at[name] = now
        self._waiting.discard(name)
        if not self._waiting:
            self.on_last()
            self.all_bound.set()
