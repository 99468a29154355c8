"""Garbage collection: deletes objects without owners; honours foreground deletion and orphaning.

Watches every kind that the server serves and that can have owners. A key is `apiVersion plural namespace/name`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from bayplan.client import ConflictError, NotFoundError
from bayplan.controllers.api_objects import Object, key_of, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_view import PodView

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
#: Watched kinds: those that own, or are owned, in a cluster of simulated nodes.
WATCHED: Final = (
    ("v1", "pods", "Pod"),
    ("v1", "replicationcontrollers", "ReplicationController"),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    ("apps/v1", "deployments", "Deployment"),
    ("apps/v1", "replicasets", "ReplicaSet"),
    ("apps/v1", "statefulsets", "StatefulSet"),
    ("apps/v1", "daemonsets", "DaemonSet"),
    ("batch/v1", "jobs", "Job"),
    ("batch/v1", "cronjobs", "CronJob"),
    ("resource.k8s.io/v1", "resourceclaims", "ResourceClaim"),
)


class GarbageCollector(Controller):
    """See the module docstring."""

    name = "generic-garbage-collector"

    def watch(self) -> None:
        self._plurals = {(api_version, kind): plural for api_version, plural, kind in WATCHED}
        #: uid of an owner → keys of its dependents.
        self._owned: dict[str, set[str]] = {}
        #: uids of existing objects.
        self._alive: dict[str, str] = {}
        for api_version, plural, _ in WATCHED:
            if plural == "pods":
                self.pods(self._seen_pod)
            else:
                informer = self._informers.custom(api_version, plural)
                informer.add(partial(self._seen, api_version, plural))

    # --- the graph ----------------------------------------------------------------------------------------

    def _seen_pod(self, old: PodView | None, new: PodView | None) -> None:
        self._seen("v1", "pods", _plain(old), _plain(new))

    def _seen(self, api_version: str, plural: str, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        if obj is None:
            return
        uid = obj["metadata"]["uid"]
        key = f"{api_version} {plural} {key_of(obj)}"
        for owner in _owner_uids(old) - _owner_uids(new):
            self._unlink(owner, key)
        for owner in _owner_uids(new):
            self._owned.setdefault(owner, set()).add(key)
        if new is None:
            self._alive.pop(uid, None)
            for dependent in self._owned.get(uid, ()):
                self.queue.add(dependent)
            for owner in _owner_uids(old):
                if owner in self._alive:
                    self.queue.add(self._alive[owner])
            return
        self._alive[uid] = key
        meta = new["metadata"]
        is_marked = meta.get("deletionTimestamp") and {FOREGROUND, ORPHAN} & set(meta.get("finalizers") or ())
        if is_marked or any(owner not in self._alive for owner in _owner_uids(new)):
            self.queue.add(key)

    def _unlink(self, owner: str, key: str) -> None:
        keys = self._owned.get(owner)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._owned[owner]

    # --- actions ------------------------------------------------------------------------------------------

    async def reconcile(self, key: str) -> float | None:
        api_version, plural, where = key.split(" ", 2)
        path = path_of(api_version, plural, *split_key(where))
        try:
            obj = await self.client.request("GET", path)
        except NotFoundError:
            return None
        meta = obj["metadata"]
        finalizers = meta.get("finalizers") or []
        if meta.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                await self._orphan(meta["uid"])
                await self._drop_finalizer(path, obj, ORPHAN)
            elif FOREGROUND in finalizers:
                await self._delete_foreground(path, obj)
            return None
        owners = meta.get("ownerReferences") or []
        if owners and not await self._has_owner(meta.get("namespace", ""), owners):
            await self._delete(path, meta["uid"], "Background")
        return None

    async def _has_owner(self, namespace: str, owners: list[Object]) -> bool:
        """Whether one of the owners exists; asks the server, because the watch may lag."""
        for owner in owners:
            if owner["uid"] in self._alive:
                return True
            plural = self._plurals.get((owner["apiVersion"], owner["kind"]))
            if plural is None:
                return True  # A kind that is not watched: not ours to judge.
            try:
                path = path_of(owner["apiVersion"], plural, namespace, owner["name"])
                found = await self.client.request("GET", path)
            except NotFoundError:
                continue
            if found["metadata"]["uid"] == owner["uid"]:
                return True
        return False

    async def _delete_foreground(self, path: str, obj: Object) -> None:
        """Delete blocking dependents first, then the object itself."""
        dependents = [key.split(" ", 2) for key in self._owned.get(obj["metadata"]["uid"], set())]
        if not dependents:
            await self._drop_finalizer(path, obj, FOREGROUND)
        for api_version, plural, where in dependents:
            await self._delete(path_of(api_version, plural, *split_key(where)), None, "Foreground")

    async def _orphan(self, uid: str) -> None:
        for key in list(self._owned.get(uid, ())):
            api_version, plural, where = key.split(" ", 2)
            path = path_of(api_version, plural, *split_key(where))
            dependent = await self.client.request("GET", path)
            owners = dependent["metadata"].get("ownerReferences") or []
            kept = [owner for owner in owners if owner["uid"] != uid]
            version = dependent["metadata"]["resourceVersion"]
            patch = {"metadata": {"ownerReferences": kept or None, "resourceVersion": version}}
            await self.client.request("PATCH", path, patch)

    async def _drop_finalizer(self, path: str, obj: Object, finalizer: str) -> None:
        meta = obj["metadata"]
        kept = [each for each in meta["finalizers"] if each != finalizer]
        patch = {"metadata": {"finalizers": kept or None, "resourceVersion": meta["resourceVersion"]}}
        try:
            await self.client.request("PATCH", path, patch)
        except NotFoundError:
            return

    async def _delete(self, path: str, uid: str | None, policy: str) -> None:
        body: Object = {"propagationPolicy": policy}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        try:
            await self.client.request("DELETE", path, body)
        except (NotFoundError, ConflictError):
            return


def _owner_uids(obj: Object | None) -> set[str]:
    if obj is None:
        return set()
    return {owner["uid"] for owner in obj["metadata"].get("ownerReferences") or ()}


def _plain(pod: PodView | None) -> Object | None:
    """The part of a pod that the ownership graph needs."""
    if pod is None:
        return None
    meta = pod.metadata
    return {
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
            "ownerReferences": [{"uid": owner.uid} for owner in meta.owner_references],
            "deletionTimestamp": meta.deletion_timestamp,
            "finalizers": list(meta.finalizers),
        }
    }
