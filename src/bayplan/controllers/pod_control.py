"""The pods of a controller: created from its template, deleted, and counted before the watch delivers them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from bayplan.client import ApiError, NotFoundError
from bayplan.controllers.api_objects import Object, key_of, owner_reference, path_of
from bayplan.controllers.controller import Controller
from bayplan.controllers.core_events import WARNING, reference
from bayplan.controllers.pod_view import PodView


class Expectations:
    """Creations and deletions that the watch has not delivered yet: without them, a slow watch duplicates pods."""

    def __init__(self) -> None:
        #: Key of the owner → uids of created pods, uids of deleted pods.
        self._made: dict[str, set[str]] = {}
        self._deleted: dict[str, set[str]] = {}

    def made(self, owner: str, uid: str) -> None:
        self._made.setdefault(owner, set()).add(uid)

    def deleted(self, owner: str, uid: str) -> None:
        self._deleted.setdefault(owner, set()).add(uid)

    def seen(self, owner: str, old: PodView | None, new: PodView | None) -> None:
        pod = new if new is not None else old
        if pod is None:
            return
        self._drop(self._made, owner, pod.uid)
        if new is None or new.is_deleted:
            self._drop(self._deleted, owner, pod.uid)

    def is_satisfied(self, owner: str) -> bool:
        """Whether the watch has delivered everything."""
        return not self._made.get(owner) and not self._deleted.get(owner)

    def forget(self, owner: str) -> None:
        self._made.pop(owner, None)
        self._deleted.pop(owner, None)

    @staticmethod
    def _drop(kept: dict[str, set[str]], owner: str, uid: str) -> None:
        uids = kept.get(owner)
        if uids is not None:
            uids.discard(uid)
            if not uids:
                del kept[owner]


class PodControl:
    """The pods of all owners of one kind: indexed, created and deleted. A change of a pod queues its owner."""

    def __init__(self, controller: Controller, api_version: str, kind: str) -> None:
        self._client = controller.client
        self._events = controller.events
        self._queue = controller.queue
        self._api_version = api_version
        self._kind = kind
        #: uid of the owner → uid of the pod → the pod.
        self._by_owner: dict[str, dict[str, PodView]] = {}
        self.expectations = Expectations()
        controller.pods(self._changed)

    def _changed(self, old: PodView | None, new: PodView | None) -> None:
        for pod, is_there in ((old, False), (new, True)):
            owner = pod.metadata.controller if pod is not None else None
            if pod is None or owner is None or owner.kind != self._kind:
                continue
            pods = self._by_owner.setdefault(owner.uid, {})
            if is_there:
                pods[pod.uid] = pod
            else:
                pods.pop(pod.uid, None)
                if not pods:
                    del self._by_owner[owner.uid]
            key = f"{pod.namespace}/{owner.name}"
            self.expectations.seen(key, old, new)
            self._queue.add(key)

    def owned(self, owner: Object) -> list[PodView]:
        return list(self._by_owner.get(owner["metadata"]["uid"], {}).values())

    async def make(self, owner: Object, template: Object, count: int = 1, name: str = "") -> None:
        """Create *count* pods from *template*; stops at the first failure and emits an event."""
        results = await asyncio.gather(
            *(self._make_one(owner, template, name) for _ in range(count)), return_exceptions=True
        )
        _raise_first(results)

    async def _make_one(self, owner: Object, template: Object, name: str) -> None:
        meta = template.get("metadata") or {}
        namespace = owner["metadata"]["namespace"]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **({"name": name} if name else {"generateName": f"{owner['metadata']['name']}-"}),
                "namespace": namespace,
                "labels": meta.get("labels") or {},
                "annotations": meta.get("annotations") or {},
                "finalizers": meta.get("finalizers") or [],
                "ownerReferences": [owner_reference(owner, self._api_version, self._kind)],
            },
            "spec": template["spec"],
        }
        about = reference(owner, self._api_version, self._kind)
        try:
            made = await self._client.request("POST", path_of("v1", "pods", namespace), pod)
        except ApiError as error:
            await self._events.emit(about, "FailedCreate", f"Error creating: {error}", type=WARNING)
            raise
        self.expectations.made(key_of(owner), made["metadata"]["uid"])
        await self._events.emit(about, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")

    async def delete(self, owner: Object, pods: Iterable[PodView]) -> None:
        results = await asyncio.gather(*(self._delete_one(owner, pod) for pod in pods), return_exceptions=True)
        _raise_first(results)

    async def _delete_one(self, owner: Object, pod: PodView) -> None:
        self.expectations.deleted(key_of(owner), pod.uid)
        try:
            body = {"preconditions": {"uid": pod.uid}}
            await self._client.request("DELETE", path_of("v1", "pods", pod.namespace, pod.name), body)
        except NotFoundError:
            self.expectations.seen(key_of(owner), pod, None)
            return
        except ApiError:
            self.expectations.seen(key_of(owner), pod, None)
            raise
        about = reference(owner, self._api_version, self._kind)
        await self._events.emit(about, "SuccessfulDelete", f"Deleted pod: {pod.name}")


def _raise_first(results: list[Any]) -> None:
    for result in results:
        if isinstance(result, BaseException):
            raise result


def deletion_rank(pod: PodView) -> tuple[bool, bool, bool, str]:
    """Which pods to delete first: not placed, not running, not ready, then the youngest."""
    # Timestamps of one form sort as text; reversed, because the youngest comes first.
    age = pod.metadata.creation_timestamp or ""
    youngest_first = "".join(chr(0x10FFFF - ord(letter)) for letter in age)
    return bool(pod.spec.node_name), pod.status.phase == "Running", pod.is_ready, youngest_first
