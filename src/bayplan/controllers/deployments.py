"""Deployments: a ReplicaSet for each template, and rolling updates from the old one to the new one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from bayplan.client import STRATEGIC_PATCH, ConflictError
from bayplan.controllers.api_objects import (
    Object,
    controller_of,
    is_being_deleted,
    key_of,
    owner_reference,
    path_of,
    selector_of,
    split_key,
)
from bayplan.controllers.controller import Controller
from bayplan.controllers.core_events import reference
from bayplan.controllers.deployment_status import deployment_status
from bayplan.controllers.rollout import ReplicaSetSize, limits_of, new_size, old_sizes
from bayplan.controllers.template_hash import template_hash
from bayplan.model.times import format_time

APPS: Final = "apps/v1"
HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAXIMUM: Final = "deployment.kubernetes.io/max-replicas"


class DeploymentController(Controller):
    """See the module docstring."""

    name = "deployment-controller"

    def watch(self) -> None:
        self._deployments = self.objects(APPS, "deployments")
        self._sets = self.objects(APPS, "replicasets", self._owner_keys)

    def _owner_keys(self, replica_set: Object) -> list[str]:
        """Its Deployment; without one, every Deployment that may adopt it."""
        namespace, owner = replica_set["metadata"]["namespace"], controller_of(replica_set)
        if owner is not None:
            return [f"{namespace}/{owner['name']}"] if owner["kind"] == "Deployment" else []
        return [key_of(each) for each in self._deployments.list(namespace) if _selects(each, replica_set)]

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        deployment = self._deployments.get(name, namespace)
        if deployment is None:
            return None
        if is_being_deleted(deployment):
            return None
        owned = await self._claim(deployment)
        new = next((each for each in owned if _is_of(each, deployment)), None)
        old = sorted((each for each in owned if each is not new), key=_age)
        if deployment["spec"].get("paused"):
            await self._update_status(deployment, new, old)
            return None
        if new is None:
            new = await self._make_new(deployment, old)
        elif await self._mark_current(deployment, new, old):
            return None
        if not await self._roll(deployment, new, old):
            await self._drop_history(deployment, old)
        await self._update_status(deployment, new, old)
        return None

    # --- its ReplicaSets ----------------------------------------------------------------------------------

    async def _claim(self, deployment: Object) -> list[Object]:
        """The ReplicaSets of the Deployment: adopts those that match, and releases those that no longer do."""
        uid = deployment["metadata"]["uid"]
        owned = []
        for each in self._sets.list(deployment["metadata"]["namespace"]):
            owner = controller_of(each)
            if owner is not None and owner["uid"] != uid:
                continue
            if owner is not None and _selects(deployment, each):
                owned.append(each)
            elif owner is not None:
                await self._own(each, {"$patch": "delete", "uid": uid})
            elif _selects(deployment, each) and not is_being_deleted(each):
                owned.append(await self._own(each, owner_reference(deployment, APPS, "Deployment")))
        return owned

    async def _own(self, replica_set: Object, reference: Object) -> Object:
        """Add or remove an owner; the version makes sure that nobody else has done so in the meantime."""
        meta = replica_set["metadata"]
        path = path_of(APPS, "replicasets", meta["namespace"], meta["name"])
        patch = {"ownerReferences": [reference], "uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        return await self.client.request("PATCH", path, {"metadata": patch}, content_type=STRATEGIC_PATCH)

    # --- the ReplicaSet of the current template -----------------------------------------------------------

    async def _make_new(self, deployment: Object, old: list[Object]) -> Object:
        meta, spec = deployment["metadata"], deployment["spec"]
        hashed = template_hash(spec["template"])
        template = _with_hash(spec["template"], hashed)
        limits = limits_of(spec)
        desired = spec.get("replicas", 1)
        size = new_size(desired, limits, ReplicaSetSize(0, 0), [_size(each) for each in old])
        revision = str(max((_revision(each) for each in old), default=0) + 1)
        annotations = {REVISION: revision, DESIRED: str(desired), MAXIMUM: str(desired + limits.max_surge)}
        made = {
            "apiVersion": APPS,
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{meta['name']}-{hashed}",
                "namespace": meta["namespace"],
                "labels": template["metadata"]["labels"],
                "annotations": annotations,
                "ownerReferences": [owner_reference(deployment, APPS, "Deployment")],
            },
            "spec": {
                "replicas": size,
                "minReadySeconds": spec.get("minReadySeconds", 0),
                "selector": _selector_with_hash(spec["selector"], hashed),
                "template": template,
            },
        }
        created = await self._create(made)
        if size:
            await self._emit_scaled(deployment, created, 0, size)
        await self._set_revision(deployment, revision)
        return created

    async def _create(self, made: Object) -> Object:
        meta = made["metadata"]
        try:
            return await self.client.request("POST", path_of(APPS, "replicasets", meta["namespace"]), made)
        except ConflictError:
            # Created before, but the watch has not delivered it yet.
            return await self.client.request("GET", path_of(APPS, "replicasets", meta["namespace"], meta["name"]))

    async def _mark_current(self, deployment: Object, new: Object, old: list[Object]) -> bool:
        """A rollback makes an old ReplicaSet the newest: give it the next revision. Returns whether it changed."""
        newest_old = max((_revision(each) for each in old), default=0)
        changed = False
        if _revision(new) <= newest_old:
            revision = str(newest_old + 1)
            await self._annotate(new, {REVISION: revision})
            changed = True
        else:
            revision = str(_revision(new))
        if (deployment["metadata"].get("annotations") or {}).get(REVISION) != revision:
            await self._set_revision(deployment, revision)
            changed = True
        return changed

    async def _set_revision(self, deployment: Object, revision: str) -> None:
        # Through the status, as kube-controller-manager does: an annotation of the Deployment itself would count
        # as a new generation.
        meta = deployment["metadata"]
        path = path_of(APPS, "deployments", meta["namespace"], meta["name"], "status")
        await self.client.request("PATCH", path, {"metadata": {"annotations": {REVISION: revision}}})

    async def _annotate(self, replica_set: Object, annotations: Object) -> None:
        meta = replica_set["metadata"]
        path = path_of(APPS, "replicasets", meta["namespace"], meta["name"])
        await self.client.request("PATCH", path, {"metadata": {"annotations": annotations}})

    # --- rolling ------------------------------------------------------------------------------------------

    async def _roll(self, deployment: Object, new: Object, old: list[Object]) -> bool:
        """One step; returns whether anything was resized. What follows from it comes with the next change."""
        spec = deployment["spec"]
        desired, limits = spec.get("replicas", 1), limits_of(spec)
        sizes = [_size(each) for each in old]
        if (spec.get("strategy") or {}).get("type") == "Recreate":
            if await self._resize_all(deployment, old, [0] * len(old)):
                return True
            if any(_status(each, "replicas") for each in old):
                return False
            return await self._resize(deployment, new, desired)
        if await self._resize(deployment, new, new_size(desired, limits, _size(new), sizes)):
            return True
        return await self._resize_all(deployment, old, old_sizes(desired, limits, _size(new), sizes))

    async def _resize_all(self, deployment: Object, sets: list[Object], sizes: list[int]) -> bool:
        resized = [await self._resize(deployment, each, size) for each, size in zip(sets, sizes, strict=True)]
        return any(resized)

    async def _resize(self, deployment: Object, each: Object, size: int) -> bool:
        """Returns whether the size is another now."""
        before = each["spec"].get("replicas", 1)
        spec = deployment["spec"]
        desired = spec.get("replicas", 1)
        wanted = {DESIRED: str(desired), MAXIMUM: str(desired + limits_of(spec).max_surge)}
        annotations = each["metadata"].get("annotations") or {}
        if before == size and wanted.items() <= annotations.items():
            return False
        meta = each["metadata"]
        path = path_of(APPS, "replicasets", meta["namespace"], meta["name"])
        # The version makes sure that the size follows from the ReplicaSet as it is.
        changed = {"annotations": wanted, "resourceVersion": meta["resourceVersion"]}
        await self.client.request("PATCH", path, {"metadata": changed, "spec": {"replicas": size}})
        if before != size:
            await self._emit_scaled(deployment, each, before, size)
        return bool(before != size)

    async def _emit_scaled(self, deployment: Object, each: Object, before: int, after: int) -> None:
        direction = "up" if after > before else "down"
        message = f"Scaled {direction} replica set {each['metadata']['name']} from {before} to {after}"
        await self.events.emit(reference(deployment, APPS, "Deployment"), "ScalingReplicaSet", message)

    async def _drop_history(self, deployment: Object, old: list[Object]) -> None:
        limit = deployment["spec"].get("revisionHistoryLimit", 10)
        idle = [each for each in old if not each["spec"].get("replicas") and not _status(each, "replicas")]
        surplus = len(idle) - limit
        for each in sorted(idle, key=_revision)[: max(surplus, 0)]:
            meta = each["metadata"]
            await self.client.request("DELETE", path_of(APPS, "replicasets", meta["namespace"], meta["name"]))

    # --- status and events --------------------------------------------------------------------------------

    async def _update_status(self, deployment: Object, new: Object | None, old: list[Object]) -> None:
        now = format_time(datetime.fromtimestamp(self.clock.now(), UTC))
        status = deployment_status(deployment, new, old, now)
        if status != (deployment.get("status") or {}):
            meta = deployment["metadata"]
            path = path_of(APPS, "deployments", meta["namespace"], meta["name"], "status")
            body = {**deployment, "apiVersion": APPS, "kind": "Deployment", "status": status}
            await self.client.request("PUT", path, body)


def _selects(deployment: Object, replica_set: Object) -> bool:
    labels = replica_set["metadata"].get("labels") or {}
    return selector_of(deployment["spec"]["selector"]).matches(labels)


def _without_hash(template: Object) -> Object:
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != HASH_LABEL}
    return {**template, "metadata": {**meta, "labels": labels}}


def _is_of(replica_set: Object, deployment: Object) -> bool:
    """Whether the ReplicaSet has the Deployment's current template."""
    return _without_hash(replica_set["spec"]["template"]) == _without_hash(deployment["spec"]["template"])


def _with_hash(template: Object, hashed: str) -> Object:
    meta = template.get("metadata") or {}
    return {**template, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), HASH_LABEL: hashed}}}


def _selector_with_hash(selector: Object, hashed: str) -> Object:
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: hashed}}


def _status(obj: Object, field: str) -> int:
    return int((obj.get("status") or {}).get(field, 0))


def _size(replica_set: Object) -> ReplicaSetSize:
    return ReplicaSetSize(replica_set["spec"].get("replicas", 1), _status(replica_set, "availableReplicas"))


def _revision(replica_set: Object) -> int:
    text = (replica_set["metadata"].get("annotations") or {}).get(REVISION, "0")
    return int(text) if text.isdigit() else 0


def _age(replica_set: Object) -> tuple[str, str]:
    return replica_set["metadata"].get("creationTimestamp") or "", key_of(replica_set)
