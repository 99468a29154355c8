"""A mirror of a cluster: its objects in a core that schedules no pods."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bayplan.model import Pod
from bayplan.observe import klog
from bayplan.shell.cluster_feed import ClusterFeed

if TYPE_CHECKING:
    from bayplan.client import KubeClient
    from bayplan.core import SchedulerCore
    from bayplan.extender import ExtenderBindingArgs
    from bayplan.framework import Clock

log = klog.get_logger("bayplan.extender")


class ClusterMirror:
    """Reads a cluster into a core; see the module docstring."""

    def __init__(self, core: SchedulerCore, client: KubeClient, clock: Clock) -> None:
        self._core = core
        self._client = client
        self._feed = ClusterFeed(core, client, clock, core.handle)
        self._syncing: asyncio.Task[None] | None = None

    @property
    def is_synced(self) -> bool:
        return self._feed.informers.is_synced

    async def start(self) -> None:
        """Begin to read the cluster; `is_synced` tells when it is read."""
        self._feed.start()
        self._syncing = asyncio.create_task(self._say_when_synced())

    async def _say_when_synced(self) -> None:
        await self._feed.informers.wait_synced()
        log.info("The cluster is read", nodes=self._core.cache.n_nodes, pods=len(self._core.pods))

    async def stop(self) -> None:
        if self._syncing is not None:
            self._syncing.cancel()
        await self._feed.informers.stop()
        await self._client.close()

    async def find_pod(self, args: ExtenderBindingArgs) -> Pod:
        """The pod that a scheduler wants bound, as the watch shows it, or else as the API server says."""
        pod = self._core.pods.get(f"{args.PodNamespace}/{args.PodName}")
        if pod is None or pod.uid != args.PodUID:
            path = f"/api/v1/namespaces/{args.PodNamespace}/pods/{args.PodName}"
            pod = Pod.from_dict(await self._client.request("GET", path))
        if pod.uid != args.PodUID:
            raise LookupError(f"pod {pod.key} is another one by now: its uid is {pod.uid}, not {args.PodUID}")
        return pod
