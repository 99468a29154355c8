"""Garbage collection: deletes objects whose owners are gone; honours foreground deletion and orphaning.

Watches every kind that the server serves, custom resources included. A key is `apiVersion kind namespace/name`;
the key `kinds` asks the server again what it serves. The rules are kube-controller-manager's: an object lives as
long as one of its owners does, an owner that waits for its dependents does not count, and circles are broken.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec

from bayplan.client import ConflictError, NotFoundError
from bayplan.controllers.api_objects import Object, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.ownership_graph import (
    FOREGROUND,
    ORPHAN,
    OwnedObject,
    OwnershipGraph,
    OwnershipNode,
    node_of_meta,
)
from bayplan.controllers.pod_view import PodView
from bayplan.controllers.served_kinds import ServedKind, ServedKinds, served_kinds
from bayplan.model import ObjectError
from bayplan.model.kube_object import OwnerReference
from bayplan.watch.decoder import read_head
from bayplan.watch.local_store import WatchedResource

#: The key that asks for the served kinds again.
KINDS: Final = "kinds"
#: Events come and go in great numbers, and nobody owns them.
_UNWATCHED: Final = ("Event",)
#: What happens to the dependents of an object that is deleted, by its finalizer.
_POLICIES: Final = {ORPHAN: "Orphan", FOREGROUND: "Foreground"}
#: How many owners that are gone are remembered, so that the server is asked once for all dependents.
_GONE_LIMIT: Final = 1024
_DECODER: Final = msgspec.json.Decoder(OwnedObject)

#: The states of an owner.
_SOLID: Final = "solid"
_GONE: Final = "gone"
_WAITING: Final = "waiting"


class GarbageCollector(Controller):
    """See the module docstring."""

    name = "garbage-collector-controller"

    def watch(self) -> None:
        self._graph = OwnershipGraph()
        self._kinds = ServedKinds()
        self._watched: dict[ServedKind, WatchedResource[OwnedObject]] = {}
        #: Owners that are gone: uid and the key under which a dependent names them.
        self._gone: dict[tuple[str, str], None] = {}
        #: Keys of objects with an owner of a kind that is not served: its definition may come.
        self._puzzling: set[str] = set()
        self.pods(partial(self._seen, "v1 Pod"))
        definitions = self._informers.custom("apiextensions.k8s.io/v1", "customresourcedefinitions")
        definitions.add(lambda _old, _new: self.queue.add(KINDS))

    async def run(self) -> None:
        await self._watch_served_kinds()
        await super().run()

    async def _watch_served_kinds(self) -> None:
        """Watch kinds that are new, and no longer those that have gone."""
        self._kinds = await served_kinds(self.client)
        served = {
            kind
            for kind in self._kinds.with_verbs("list", "watch", "delete")
            if kind.kind not in _UNWATCHED and (kind.api_version, kind.kind) != ("v1", "Pod")
        }
        for kind in self._watched.keys() - served:
            await self._informers.drop(self._watched.pop(kind))
        for kind in served - self._watched.keys():
            resource = self._watched[kind] = _watched_resource(kind)
            informer = self._informers.watched(resource)
            informer.add(partial(self._seen, f"{kind.api_version} {kind.kind}"))
        for resource in self._watched.values():
            await self._informers.watched(resource).reflector.synced.wait()
        for key in self._puzzling:
            self.queue.add(key)
        self._puzzling.clear()

    # --- the graph ----------------------------------------------------------------------------------------

    def _seen(self, kind: str, old: PodView | OwnedObject | None, new: PodView | OwnedObject | None) -> None:
        if new is not None:
            meta = new.metadata
            where = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
            node = node_of_meta(f"{kind} {where}", meta)
            if node != self._graph.find(node.uid):
                self._changed(self._graph.put(node), node)
        elif old is not None:
            self._removed(old.metadata.uid)

    def _changed(self, before: OwnershipNode | None, node: OwnershipNode) -> None:
        """Queue what the change concerns: the object, its dependents, and owners that it no longer holds up."""
        if before is not None:
            self._queue_waiting_owners(before)
        if node.awaits_dependents and not (before is not None and before.awaits_dependents):
            for dependent in self._graph.dependents(node.uid):
                self.queue.add(dependent.key)
        is_doubtful = not all(self._is_certain(node, owner) for owner in node.owners)
        if node.awaits_dependents or node.orphans_dependents or is_doubtful:
            self.queue.add(node.key)

    def _is_certain(self, node: OwnershipNode, reference: OwnerReference) -> bool:
        """Whether an owner has been seen where the reference says, and stays."""
        owner = self._graph.find(reference.uid)
        if owner is None or owner.awaits_dependents:
            return False
        namespace, _ = split_key(node.key.rpartition(" ")[2])
        kind = f"{reference.api_version} {reference.kind}"
        return owner.key in (f"{kind} {namespace}/{reference.name}", f"{kind} {reference.name}")

    def _removed(self, uid: str) -> None:
        node = self._graph.find(uid)
        if node is None:
            return
        self._graph.remove(uid)
        self._remember_gone(uid, node.key)
        for dependent in self._graph.dependents(uid):
            self.queue.add(dependent.key)
        self._queue_waiting_owners(node)

    def _queue_waiting_owners(self, node: OwnershipNode) -> None:
        for reference in node.owners:
            owner = self._graph.find(reference.uid)
            if owner is not None and owner.awaits_dependents:
                self.queue.add(owner.key)

    def _remember_gone(self, uid: str, key: str) -> None:
        self._gone[uid, key] = None
        if len(self._gone) > _GONE_LIMIT:
            del self._gone[next(iter(self._gone))]

    # --- one object ---------------------------------------------------------------------------------------

    async def reconcile(self, key: str) -> float | None:
        if key == KINDS:
            await self._watch_served_kinds()
            return None
        api_version, kind, where = key.split(" ", 2)
        served = self._kinds.find(api_version, kind)
        if served is None:
            return None
        namespace, name = split_key(where)
        path = served.path(namespace, name)
        try:
            obj = await self.client.request("GET", path)
        except NotFoundError:
            return None
        finalizers = obj["metadata"].get("finalizers") or []
        if obj["metadata"].get("deletionTimestamp") is None:
            await self._collect(key, path, obj)
        elif ORPHAN in finalizers:
            await self._orphan_dependents(obj["metadata"]["uid"])
            await self._drop_finalizer(path, obj, ORPHAN)
        elif FOREGROUND in finalizers:
            await self._await_dependents(path, obj)
        return None

    async def _collect(self, key: str, path: str, obj: Object) -> None:
        """Delete the object if nobody owns it any more; forget owners that are gone if somebody does."""
        owners = obj["metadata"].get("ownerReferences") or []
        states = [await self._state_of(key, obj, owner) for owner in owners]
        if not owners or all(state == _SOLID for state in states):
            return
        if _SOLID in states:
            kept = [owner for owner, state in zip(owners, states, strict=True) if state == _SOLID]
            await self._patch(path, obj, {"ownerReferences": kept})
            return
        dependents = self._graph.dependents(obj["metadata"]["uid"])
        if _WAITING in states and dependents:
            if any(dependent.awaits_dependents for dependent in dependents):
                # A circle: without this, two objects would wait for each other forever.
                freed = [{**owner, "blockOwnerDeletion": False} for owner in owners]
                await self._patch(path, obj, {"ownerReferences": freed})
            await self._delete(path, obj, "Foreground")
            return
        finalizers = obj["metadata"].get("finalizers") or []
        policy = next((_POLICIES[each] for each in finalizers if each in _POLICIES), "Background")
        await self._delete(path, obj, policy)

    async def _state_of(self, key: str, obj: Object, owner: Object) -> str:
        """Whether an owner is there; asks the server, because the watch may lag."""
        namespace = obj["metadata"].get("namespace", "")
        served = self._kinds.find(owner["apiVersion"], owner["kind"])
        is_beside = namespace and (served is None or served.namespaced)
        where = f"{namespace}/{owner['name']}" if is_beside else owner["name"]
        place = owner["uid"], f"{owner['apiVersion']} {owner['kind']} {where}"
        if place in self._gone:
            return _GONE
        if served is None:
            self._puzzling.add(key)
            return _SOLID
        if served.namespaced and not namespace:
            return _SOLID  # An owner in no namespace in particular cannot be looked for.
        try:
            found = await self.client.request("GET", served.path(namespace, owner["name"]))
        except NotFoundError:
            found = {"metadata": {}}
        meta = found["metadata"]
        if meta.get("uid") != owner["uid"]:
            self._remember_gone(*place)
            return _GONE
        waits = meta.get("deletionTimestamp") is not None and FOREGROUND in (meta.get("finalizers") or ())
        return _WAITING if waits else _SOLID

    async def _await_dependents(self, path: str, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        blocking = [each for each in self._graph.dependents(uid) if each.blocks(uid)]
        if not blocking:
            await self._drop_finalizer(path, obj, FOREGROUND)
        for dependent in blocking:
            if not dependent.awaits_dependents:
                self.queue.add(dependent.key)

    async def _orphan_dependents(self, uid: str) -> None:
        for dependent in self._graph.dependents(uid):
            api_version, kind, where = dependent.key.split(" ", 2)
            served = self._kinds.find(api_version, kind)
            if served is None:
                continue
            path = served.path(*split_key(where))
            try:
                obj = await self.client.request("GET", path)
            except NotFoundError:
                continue
            owners = obj["metadata"].get("ownerReferences") or []
            kept = [owner for owner in owners if owner["uid"] != uid]
            await self._patch(path, obj, {"ownerReferences": kept or None})

    # --- requests -----------------------------------------------------------------------------------------

    async def _drop_finalizer(self, path: str, obj: Object, finalizer: str) -> None:
        kept = [each for each in obj["metadata"]["finalizers"] if each != finalizer]
        await self._patch(path, obj, {"finalizers": kept or None})

    async def _patch(self, path: str, obj: Object, metadata: Object) -> None:
        """Change metadata of the object as it was read; a conflict is retried by the queue."""
        meta = obj["metadata"]
        patch = {"metadata": {**metadata, "uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}
        try:
            await self.client.request("PATCH", path, patch)
        except NotFoundError:
            return

    async def _delete(self, path: str, obj: Object, policy: str) -> None:
        body = {"propagationPolicy": policy, "preconditions": {"uid": obj["metadata"]["uid"]}}
        try:
            await self.client.request("DELETE", path, body)
        except (NotFoundError, ConflictError):
            return


def _watched_resource(kind: ServedKind) -> WatchedResource[OwnedObject]:
    name = f"{kind.plural}.{kind.api_version}"

    def decode(data: bytes) -> OwnedObject:
        try:
            return _DECODER.decode(data)
        except msgspec.DecodeError as error:
            raise ObjectError(name, read_head(data).key, "", str(error)) from None

    return WatchedResource(name, kind.path(""), decode, lambda obj: obj.identity)
