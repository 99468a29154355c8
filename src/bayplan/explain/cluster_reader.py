"""Reads a cluster through its API: read-only, in pages, and as far as the reader's rights go.

In: a client. Out: `ClusterObjects`, with what could not be seen and what follows from that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.client.errors import ApiError, NotFoundError
from bayplan.explain.cluster_objects import ClusterObjects
from bayplan.explain.explanation import NotSeen
from bayplan.explain.owners import missing_owner
from bayplan.framework.object_selection import ObjectSelection
from bayplan.model import Kind, KubeObject, Node, ObjectError, Pod, PriorityClass, kind_of
from bayplan.observe import klog
from bayplan.watch.local_store import LIVE_PODS, selected_resource
from bayplan.watch.pager import Source, list_all

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore

log = klog.get_logger("bayplan.explain")

#: Large enough that a large cluster takes few requests, small enough that the server need not hold it all.
PAGE_SIZE: Final = 1000
#: What an answer lacks without a kind.
CONSEQUENCES: Final = {
    "pods": "What other pods use of the nodes is not counted.",
    "nodes": "Without nodes nothing can be said about them; see the pod's own condition.",
    "poddisruptionbudgets": "Preemption is answered as if no budget protected any pod.",
    "persistentvolumes": "Volumes count as missing.",
    "persistentvolumeclaims": "Claims count as missing.",
    "namespaces": "Affinity terms that select namespaces by label match none.",
}
#: The workloads that are looked up, and how far up.
OWNERS: Final = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController")
MAX_OWNERS: Final = 3
_FORBIDDEN: Final = (401, 403)


class ClusterReader:
    """Reads the kinds that the plugins of a core ask for."""

    def __init__(self, source: Source, server: str, *, on_read: Callable[[str, int], None]) -> None:
        """*on_read* is told how many objects of a resource have been read so far."""
        self._source = source
        self._on_read = on_read
        self.objects = ClusterObjects("cluster", server)

    async def read(self, core: SchedulerCore, namespace: str = "", pod_name: str = "") -> ClusterObjects:
        """*namespace*: where pods are read if they may not be read everywhere; the workload of the pod *pod_name*
        there is read as well. Raises ClientError."""
        kinds: set[type[KubeObject]] = {Pod, Node, PriorityClass, *core.objects.kinds}
        await asyncio.gather(
            *(self._read_kind(kind_of(each), namespace) for each in kinds),
            *(self._read_custom(*each) for each in core.objects.custom_kinds),
            *(self._read_selection(each) for each in core.objects.selections),
        )
        pod = self.objects.pods.get(f"{namespace}/{pod_name}")
        if pod is not None:
            await self._read_owners(pod)
        return self.objects

    async def _read_owners(self, pod: Pod) -> None:
        """Whose template would have to change; an answer without it is fine."""
        for _ in range(MAX_OWNERS):
            owner = missing_owner(self.objects, pod)
            if owner is None or owner.kind not in OWNERS:
                return
            root = "apis" if "/" in owner.api_version else "api"
            path = f"/{root}/{owner.api_version}/namespaces/{pod.namespace}/{owner.kind.lower()}s/{owner.name}"
            try:
                found = msgspec.json.decode(await self._source.get_bytes(path))
            except ApiError:
                return
            self.objects.add_mapping(found)

    async def _read_kind(self, kind: Kind, namespace: str) -> None:
        selection = {"fieldSelector": LIVE_PODS} if kind.type is Pod else {}
        try:
            await self._list(kind, kind.path, selection)
        except NotFoundError:
            pass  # the cluster does not have this resource
        except ApiError as error:
            if error.status not in _FORBIDDEN:
                raise
            self._note_not_seen(kind.plural, error)
            if kind.namespaced and namespace:
                await self._read_in_namespace(kind, namespace, selection)

    async def _read_in_namespace(self, kind: Kind, namespace: str, selection: dict[str, str]) -> None:
        path = kind.path.removesuffix(kind.plural) + f"namespaces/{namespace}/{kind.plural}"
        try:
            await self._list(kind, path, selection)
        except ApiError as error:
            if error.status not in _FORBIDDEN:
                raise

    def _note_not_seen(self, resource: str, error: ApiError) -> None:
        consequence = CONSEQUENCES.get(resource, "Rules about them are answered as if there were none.")
        self.objects.not_seen.append(NotSeen(resource=resource, reason=str(error), consequence=consequence))

    async def _list(self, kind: Kind, path: str, selection: dict[str, str]) -> None:
        listing = await list_all(
            self._source,
            path,
            selection,
            "",
            page_size=PAGE_SIZE,
            on_page=lambda count: self._on_read(kind.plural, count),
        )
        for data in listing.items:
            try:
                self.objects.add(kind.type.from_json(data))
            except ObjectError as error:
                log.error(error, "Left out")

    async def _read_custom(self, api_version: str, plural: str) -> None:
        whole = ObjectSelection(api_version, plural)
        self.objects.custom[api_version, plural] = [value async for value in self._objects_of(whole)]

    async def _read_selection(self, selection: ObjectSelection) -> None:
        self.objects.selected[selection] = [value async for value in self._objects_of(selection)]

    async def _objects_of(self, selection: ObjectSelection) -> AsyncIterator[Any]:
        resource = selected_resource(selection)
        try:
            listing = await list_all(self._source, resource.path, resource.query, "", page_size=PAGE_SIZE)
        except NotFoundError:
            return  # the cluster does not have this resource
        except ApiError as error:
            if error.status not in _FORBIDDEN:
                raise
            self._note_not_seen(selection.plural, error)
            return
        for data in listing.items:
            try:
                yield resource.decode(data)
            except ObjectError as error:
                log.error(error, "Left out")
