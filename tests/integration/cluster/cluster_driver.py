"""Runs test scenarios on a cluster in virtual time: hours pass in a moment, and every run is the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bayplan.apiserver.cluster import Cluster
from bayplan.apiserver.virtual_time import LoopClock, run_in_virtual_time
from bayplan.controllers.api_objects import path_of

Object = dict[str, Any]

#: In virtual time; what has not happened by then never will.
PATIENCE_SECONDS = 3600.0


class ClusterDriver:
    """A cluster with short helper methods for tests."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client = cluster.client

    async def apply(self, text: str) -> None:
        await self.cluster.apply(text)

    async def pods(self, **labels: str) -> list[Object]:
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        path = f"/api/v1/namespaces/default/pods?labelSelector={selector}"
        items: list[Object] = (await self.cluster.get(path))["items"]
        return items

    async def get(self, api_version: str, plural: str, name: str, namespace: str = "default") -> Object:
        return await self.cluster.get(path_of(api_version, plural, namespace, name))

    async def patch(
        self, api_version: str, plural: str, name: str, body: Object, namespace: str = "default"
    ) -> None:
        await self.client.request("PATCH", path_of(api_version, plural, namespace, name), body)

    async def delete(
        self, api_version: str, plural: str, name: str, namespace: str = "default", body: Object | None = None
    ) -> None:
        await self.client.request("DELETE", path_of(api_version, plural, namespace, name), body)

    async def until(self, condition: Callable[[], Awaitable[object]], seconds: float = PATIENCE_SECONDS) -> float:
        """Wait until *condition* holds; returns the seconds it took."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        async with asyncio.timeout(seconds):
            while not await condition():
                await asyncio.sleep(0.1)
        return loop.time() - start

    async def stay(self, condition: Callable[[], Awaitable[object]], seconds: float) -> None:
        """Check that *condition* holds all the time for *seconds*."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while loop.time() < end:
            assert await condition()
            await asyncio.sleep(0.5)


def run_on_cluster(
    scenario: Callable[[ClusterDriver], Awaitable[None]], nodes: int | Sequence[Object] = 3, **options: Any
) -> None:
    """Run *scenario* on a new cluster."""

    async def main() -> None:
        async with Cluster(nodes, zones=3, clock=LoopClock(), seed=0, **options) as cluster:
            await scenario(ClusterDriver(cluster))

    run_in_virtual_time(main())


def names(objects: list[Object]) -> set[str]:
    return {obj["metadata"]["name"] for obj in objects}


def phases(pods: list[Object]) -> set[str]:
    return {pod["status"].get("phase", "") for pod in pods}
