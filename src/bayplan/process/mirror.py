"""A mirror of a cluster: its nodes, pods and other objects in a scheduler's cache, and nobody who schedules."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from bayplan.model import KubeObject, Node, Pod
from bayplan.observe import klog
from bayplan.watch.informers import Informers

if TYPE_CHECKING:
    from bayplan.client import KubeClient
    from bayplan.extender import ExtenderBindingArgs
    from bayplan.framework import Clock
    from bayplan.scheduler import Scheduler

log = klog.get_logger("bayplan.extender")


class ClusterMirror:
    """See the module's text."""

    def __init__(self, scheduler: Scheduler, client: KubeClient, clock: Clock) -> None:
        self._cache = scheduler.cache
        self._objects = scheduler.objects
        self._client = client
        self._informers = Informers(client, clock)
        self._pods: dict[str, Pod] = {}
        self._syncing: asyncio.Task[None] | None = None

    @property
    def is_synced(self) -> bool:
        return self._informers.is_synced

    async def start(self) -> None:
        """Begin to read the cluster; `is_synced` tells when it is read."""
        kinds: set[type[KubeObject]] = {Pod, Node, *self._objects.kinds}
        for kind in kinds:
            self._informers.on_change(kind, self._changed)
        for api_version, plural in self._objects.custom_kinds:
            changed = partial(self._custom_changed, api_version, plural)
            self._informers.on_custom_change(api_version, plural, changed)
        self._informers.start()
        self._syncing = asyncio.create_task(self._say_when_synced())

    async def _say_when_synced(self) -> None:
        await self._informers.wait_synced()
        log.info("The cluster is read", nodes=self._cache.n_nodes, pods=len(self._pods))

    async def stop(self) -> None:
        if self._syncing is not None:
            self._syncing.cancel()
        await self._informers.stop()
        await self._client.close()

    async def find_pod(self, args: ExtenderBindingArgs) -> Pod:
        """The pod that a scheduler wants bound, as the watch shows it, or else as the API server says."""
        pod = self._pods.get(f"{args.PodNamespace}/{args.PodName}")
        if pod is None or pod.uid != args.PodUID:
            path = f"/api/v1/namespaces/{args.PodNamespace}/pods/{args.PodName}"
            pod = Pod.from_dict(await self._client.request("GET", path))
        if pod.uid != args.PodUID:
            raise LookupError(f"pod {pod.key} is another one by now: its uid is {pod.uid}, not {args.PodUID}")
        return pod

    # ----------------------------------------------------------------------------------------------

    def _changed(self, old: KubeObject | None, new: KubeObject | None) -> None:
        changed = new if new is not None else old
        try:
            if isinstance(changed, Node):
                self._node_changed(changed, gone=new is None)
            elif isinstance(changed, Pod):
                self._pod_changed(changed, gone=new is None)
            elif changed is not None:
                (self._objects.remove if new is None else self._objects.set)(changed)
        except ValueError as error:
            # An object that cannot be read is left out; nothing else stops.
            log.error(error, "Left out")

    def _node_changed(self, node: Node, *, gone: bool) -> None:
        if gone:
            self._cache.remove_node(node.name)
        else:
            self._cache.set_node(node)

    def _pod_changed(self, pod: Pod, *, gone: bool) -> None:
        if self._objects.is_asked_for(Pod):
            (self._objects.remove if gone else self._objects.set)(pod)
        if gone:
            self._pods.pop(pod.key, None)
            self._cache.remove_pod(pod.uid)
            return
        self._pods[pod.key] = pod
        if pod.node_name:
            self._cache.add_pod(pod)

    def _custom_changed(
        self, api_version: str, plural: str, old: dict[str, Any] | None, new: dict[str, Any] | None
    ) -> None:
        kept = self._objects.custom(api_version, plural)
        metadata = (new if new is not None else old or {})["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        if new is None:
            kept.remove(namespace, name)
        else:
            kept.set(namespace, name, new)
