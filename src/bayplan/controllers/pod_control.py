"""The pods of a controller: claimed by its selector, created from its template, deleted, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from bayplan.client import STRATEGIC_PATCH, ApiError, NotFoundError
from bayplan.controllers.api_objects import (
    Object,
    is_being_deleted,
    key_of,
    owner_reference,
    path_of,
    selector_of,
)
from bayplan.controllers.controller import Controller, Dictionaries
from bayplan.controllers.core_events import WARNING, reference
from bayplan.controllers.expectations import Expectations
from bayplan.controllers.owned_pods import OwnedPods
from bayplan.controllers.pod_view import PodView
from bayplan.model.label_selectors import Selector


class PodControl:
    """The pods of all owners of one kind. A change of a pod queues its owner.

    An owner claims pods as in kube-controller-manager: it adopts pods that match its selector and that nobody
    controls, and releases its pods that no longer match.
    """

    def __init__(self, controller: Controller, api_version: str, kind: str, owners: Dictionaries) -> None:
        self._client = controller.client
        self._events = controller.events
        self._queue = controller.queue
        self._api_version = api_version
        self._kind = kind
        self._owners = owners
        #: uid of the owner → its pods.
        self._by_owner: dict[str, OwnedPods] = {}
        #: uid of the owner → uids of pods whose labels are new to it.
        self._unchecked: dict[str, set[str]] = {}
        #: uid of the owner → the selector that its pods were checked against.
        self._selectors: dict[str, Selector] = {}
        #: Namespace → uid → the pod that nobody controls.
        self._orphans: dict[str, dict[str, PodView]] = {}
        self.expectations = Expectations()
        controller.pods(self._changed)

    # --- watching -----------------------------------------------------------------------------------------

    def _changed(self, old: PodView | None, new: PodView | None) -> None:
        stays = old is not None and new is not None and old.metadata.controller == new.metadata.controller
        for pod, is_there in ((None if stays else old, False), (new, True)):
            if pod is None:
                continue
            owner = pod.metadata.controller
            if owner is None:
                self._index_orphan(pod, is_there)
                continue
            if owner.kind != self._kind:
                continue
            n_pods = self._index(owner.uid, pod, is_there)
            key = f"{pod.namespace}/{owner.name}"
            waited = not self.expectations.is_satisfied(key)
            self.expectations.seen(key, old, new)
            if waited and self.expectations.is_satisfied(key):
                self._queue.add(key)
            else:
                self._queue.add_for_one_of(key, n_pods)
        if new is not None and (old is None or _claim_of(old) != _claim_of(new)):
            self._recheck(new)

    def _index(self, owner: str, pod: PodView, is_there: bool) -> int:
        """Add or remove a pod; returns how many the owner has."""
        pods = self._by_owner.get(owner)
        if pods is None:
            pods = self._by_owner[owner] = OwnedPods()
        if is_there:
            pods.put(pod)
        else:
            pods.remove(pod.uid)
        if not pods:
            del self._by_owner[owner]
            self._selectors.pop(owner, None)
            self._unchecked.pop(owner, None)
        return len(pods)

    def _index_orphan(self, pod: PodView, is_there: bool) -> None:
        if is_there and pod.is_active:
            self._orphans.setdefault(pod.namespace, {})[pod.uid] = pod
        else:
            orphans = self._orphans.get(pod.namespace, {})
            if orphans.pop(pod.uid, None) is not None and not orphans:
                del self._orphans[pod.namespace]

    def _recheck(self, pod: PodView) -> None:
        """Its labels or its controller are new: somebody may adopt it, or release it."""
        owner = pod.metadata.controller
        if owner is not None:
            if owner.kind == self._kind:
                self._unchecked.setdefault(owner.uid, set()).add(pod.uid)
        elif pod.is_active:
            for each in self._owners.list(pod.namespace):
                if self._selector(each).matches(pod.metadata.labels):
                    self._queue.add(key_of(each))

    def _selector(self, owner: Object) -> Selector:
        selector = owner["spec"].get("selector")
        if self._kind == "ReplicationController":
            selector = {"matchLabels": selector}
        return selector_of(selector)

    # --- claiming -----------------------------------------------------------------------------------------

    def owned(self, owner: Object) -> OwnedPods:
        return self._by_owner.get(owner["metadata"]["uid"]) or OwnedPods()

    async def claim(self, owner: Object) -> OwnedPods:
        """The pods of the owner, after it has adopted and released; they change as the watch goes on."""
        if is_being_deleted(owner):
            return self.owned(owner)
        selector = self._selector(owner)
        await self._release_others(owner, selector)
        adopted = await self._adopt(owner, selector)
        owned = self.owned(owner)
        return OwnedPods([*owned, *adopted]) if adopted else owned

    async def _release_others(self, owner: Object, selector: Selector) -> None:
        uid = owner["metadata"]["uid"]
        pods = self._by_owner.get(uid)
        if pods is None:
            return
        if self._selectors.get(uid) is not selector:
            self._selectors[uid] = selector
            self._unchecked[uid] = {pod.uid for pod in pods}
        unchecked = self._unchecked.get(uid, set())
        for pod in [pod for each in unchecked if (pod := pods.get(each)) is not None]:
            if not selector.matches(pod.metadata.labels):
                gone = {"$patch": "delete", "uid": uid}
                await self._patch(pod, {"ownerReferences": [gone], "uid": pod.uid})
                pods.remove(pod.uid)
            unchecked.discard(pod.uid)
        self._unchecked.pop(uid, None)

    async def _adopt(self, owner: Object, selector: Selector) -> list[PodView]:
        orphans = self._orphans.get(owner["metadata"]["namespace"], {}).values()
        wanted = [pod for pod in orphans if selector.matches(pod.metadata.labels)]
        if wanted and not await self._is_still_there(owner):
            return []
        ours = owner_reference(owner, self._api_version, self._kind)
        for pod in wanted:
            # The version makes sure that nobody else has adopted it in the meantime.
            version = pod.metadata.resource_version
            await self._patch(pod, {"ownerReferences": [ours], "uid": pod.uid, "resourceVersion": version})
        return wanted

    async def _is_still_there(self, owner: Object) -> bool:
        """Asks the server: an owner that is gone must not adopt, or the pods would go with it."""
        meta = owner["metadata"]
        try:
            found = await self._client.request("GET", f"{self._owners_path(meta['namespace'])}/{meta['name']}")
        except NotFoundError:
            return False
        return bool(found["metadata"]["uid"] == meta["uid"]) and not is_being_deleted(found)

    def _owners_path(self, namespace: str) -> str:
        return path_of(self._api_version, f"{self._kind.lower()}s", namespace)

    async def _patch(self, pod: PodView, metadata: Object) -> None:
        path = path_of("v1", "pods", pod.namespace, pod.name)
        try:
            await self._client.request("PATCH", path, {"metadata": metadata}, content_type=STRATEGIC_PATCH)
        except NotFoundError:
            return

    # --- creating and deleting ----------------------------------------------------------------------------

    async def make(
        self, owner: Object, template: Object, count: int = 1, *, name: str = "", prefix: str = ""
    ) -> None:
        """Create *count* pods from *template*, twice as many at a time after each success; raises a failure.

        So a template that is refused is refused once, not *count* times. The pods have *name*, or a generated name
        with *prefix*, by default the owner's.
        """
        left, batch = count, 1
        while left > 0:
            size = min(batch, left)
            naming = {"name": name} if name else {"generateName": prefix or f"{owner['metadata']['name']}-"}
            making = (self._make_one(owner, template, naming) for _ in range(size))
            _raise_first(await asyncio.gather(*making, return_exceptions=True))
            left, batch = left - size, batch * 2

    async def _make_one(self, owner: Object, template: Object, naming: Object) -> None:
        meta = template.get("metadata") or {}
        namespace = owner["metadata"]["namespace"]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **naming,
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


def _claim_of(pod: PodView) -> object:
    """What decides whose pod it is."""
    return pod.metadata.labels, pod.metadata.owner_references, pod.is_active
