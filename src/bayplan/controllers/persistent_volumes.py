"""Binds claims to volumes that fit, or provisions simulated ones; deletes released volumes."""

from __future__ import annotations

from typing import Any, Final

from bayplan.client import ConflictError, NotFoundError
from bayplan.controllers.api_objects import Object, is_being_deleted, key_of, path_of, selector_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.core_events import NORMAL, WARNING, reference
from bayplan.model.quantity import Quantity

STORAGE: Final = "storage.k8s.io/v1"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
HOSTNAME: Final = "kubernetes.io/hostname"


class PersistentVolumeController(Controller):
    """See the module docstring. A key is `claim namespace/name` or `volume name`."""

    name = "persistentvolume-controller"

    def watch(self) -> None:
        self._claims = self.objects("v1", "persistentvolumeclaims", _claim_keys)
        self._volumes = self.objects("v1", "persistentvolumes", self._volume_keys)
        self._classes = self.objects(STORAGE, "storageclasses", self._class_keys)
        #: Key of a claim → why it waits, as the last event about it says.
        self._explained: dict[str, str] = {}

    def _class_keys(self, storage_class: Object) -> list[str]:
        """Claims that have waited for the class."""
        name = storage_class["metadata"]["name"]
        waiting = (each for each in self._claims.list() if not each["spec"].get("volumeName"))
        return [f"claim {key_of(each)}" for each in waiting if each["spec"].get("storageClassName") == name]

    def _volume_keys(self, volume: Object) -> list[str]:
        """A volume queues itself, its claim, and every unbound claim."""
        keys = [f"volume {volume['metadata']['name']}"]
        claim = volume["spec"].get("claimRef")
        if claim is not None:
            keys.append(f"claim {claim['namespace']}/{claim['name']}")
        else:
            keys += [f"claim {key_of(each)}" for each in self._claims.list() if not each["spec"].get("volumeName")]
        return keys

    async def reconcile(self, key: str) -> float | None:
        kind, _, where = key.partition(" ")
        if kind == "volume":
            volume = self._volumes.get(where)
            if volume is not None:
                await self._sync_volume(volume)
            return None
        namespace, name = split_key(where)
        claim = self._claims.get(name, namespace)
        if claim is None:
            self._explained.pop(where, None)
        elif not is_being_deleted(claim):
            await self._sync_claim(claim)
        return None

    # --- claims -------------------------------------------------------------------------------------------

    async def _sync_claim(self, claim: Object) -> None:
        spec = claim["spec"]
        if spec.get("volumeName"):
            volume = self._volumes.get(spec["volumeName"])
            if volume is not None and _may_have(volume, claim):
                await self._bind(claim, volume)
            return
        reserved = next((each for each in self._volumes.list() if _is_reserved_for(each, claim)), None)
        if reserved is not None:
            await self._bind(claim, reserved)
            return
        storage_class = self._classes.get(spec["storageClassName"]) if spec.get("storageClassName") else None
        node = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        if (
            storage_class is not None
            and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
            and not node
        ):
            await self._emit(
                claim, "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
            )
            return
        volume = self._find(claim)
        if volume is not None:
            await self._bind(claim, volume)
        elif storage_class is not None and storage_class["provisioner"] != NO_PROVISIONER:
            await self._provision(claim, storage_class, node)
        else:
            await self._explain(claim, storage_class)

    async def _explain(self, claim: Object, storage_class: Object | None) -> None:
        """Say once why a claim waits."""
        name = claim["spec"].get("storageClassName") or ""
        if name and storage_class is None:
            reason, message = "ProvisioningFailed", f'storageclass.storage.k8s.io "{name}" not found'
        else:
            reason = "FailedBinding"
            message = "no persistent volumes available for this claim and no storage class is set"
        if self._explained.get(key_of(claim)) != message:
            self._explained[key_of(claim)] = message
            about = reference(claim, "v1", "PersistentVolumeClaim")
            type = WARNING if reason == "ProvisioningFailed" else NORMAL
            await self.events.emit(about, reason, message, type=type)

    async def _emit(self, claim: Object, reason: str, message: str) -> None:
        await self.events.emit(reference(claim, "v1", "PersistentVolumeClaim"), reason, message)

    def _find(self, claim: Object) -> Object | None:
        """The smallest free volume that fits."""
        spec = claim["spec"]
        selector = selector_of(spec["selector"]) if spec.get("selector") else None
        fitting = [
            volume
            for volume in self._volumes.list()
            if not is_being_deleted(volume)
            and volume["spec"].get("claimRef") is None
            and (volume.get("status") or {}).get("phase", "Available") in ("Available", "Pending")
            and (volume["spec"].get("storageClassName") or "") == (spec.get("storageClassName") or "")
            and volume["spec"].get("volumeMode", "Filesystem") == spec.get("volumeMode", "Filesystem")
            and set(spec.get("accessModes") or ()) <= set(volume["spec"].get("accessModes") or ())
            and _capacity(volume) >= _requested(claim)
            and (selector is None or selector.matches(volume["metadata"].get("labels") or {}))
        ]
        return min(fitting, key=lambda volume: (_capacity(volume), volume["metadata"]["name"]), default=None)

    async def _bind(self, claim: Object, volume: Object) -> None:
        """Bind both sides to each other, then set both statuses."""
        volume_meta, claim_meta = volume["metadata"], claim["metadata"]
        wanted = _claim_reference(claim)
        known = volume["spec"].get("claimRef") or {}
        if known.get("uid") != wanted["uid"]:
            patch = {
                "metadata": {
                    "resourceVersion": volume_meta["resourceVersion"],
                    "annotations": {} if known else {BOUND_BY_CONTROLLER: "yes"},
                },
                "spec": {"claimRef": wanted},
            }
            await self.client.request("PATCH", path_of("v1", "persistentvolumes", "", volume_meta["name"]), patch)
        path = path_of("v1", "persistentvolumeclaims", claim_meta["namespace"], claim_meta["name"])
        if claim["spec"].get("volumeName") != volume_meta["name"] or BIND_COMPLETED not in (
            claim_meta.get("annotations") or {}
        ):
            annotations = {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
            patch = {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume_meta["name"]}}
            await self.client.request("PATCH", path, patch)
        status = {
            "phase": "Bound",
            "accessModes": volume["spec"].get("accessModes"),
            "capacity": volume["spec"].get("capacity"),
        }
        if (claim.get("status") or {}).get("phase") != "Bound":
            await self.client.request("PATCH", f"{path}/status", {"status": status})

    async def _provision(self, claim: Object, storage_class: Object, node: str | None) -> None:
        spec = claim["spec"]
        name = f"pvc-{claim['metadata']['uid']}"
        provisioner = storage_class["provisioner"]
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {PROVISIONED_BY: provisioner}},
            "spec": {
                "capacity": {"storage": (spec["resources"].get("requests") or {})["storage"]},
                "accessModes": spec.get("accessModes"),
                "volumeMode": spec.get("volumeMode", "Filesystem"),
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
                "storageClassName": storage_class["metadata"]["name"],
                "claimRef": _claim_reference(claim),
                "csi": {"driver": provisioner, "volumeHandle": name},
            },
        }
        if node and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
            body["spec"]["nodeAffinity"] = self._affinity(storage_class, node)
        try:
            await self.client.request("POST", path_of("v1", "persistentvolumes"), body)
        except ConflictError:
            return  # Created before; the watch will deliver it.
        message = f"Successfully provisioned volume {name}"
        await self._emit(claim, "ProvisioningSucceeded", message)

    def _affinity(self, storage_class: Object, node: str) -> Object:
        """Where the volume is accessible: the class's topologies, else the node it was provisioned for."""
        topologies = storage_class.get("allowedTopologies") or []
        terms = [
            {
                "matchExpressions": [
                    {"key": each["key"], "operator": "In", "values": each["values"]}
                    for each in topology.get("matchLabelExpressions") or []
                ]
            }
            for topology in topologies
        ]
        here = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
        return {"required": {"nodeSelectorTerms": terms or [here]}}

    # --- volumes ------------------------------------------------------------------------------------------

    async def _sync_volume(self, volume: Object) -> None:
        claim = volume["spec"].get("claimRef")
        if claim is None:
            await self._set_phase(volume, "Available")
            return
        found = self._claims.get(claim["name"], claim["namespace"])
        if not claim.get("uid") or (found is not None and found["metadata"]["uid"] == claim["uid"]):
            if found is not None and found["spec"].get("volumeName") == volume["metadata"]["name"]:
                await self._set_phase(volume, "Bound")
            elif not claim.get("uid"):
                await self._set_phase(volume, "Available")
            return
        if await self._still_there(claim):
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            await self._delete(volume)
        else:
            await self._set_phase(volume, "Released")

    async def _still_there(self, claim: Object) -> bool:
        """Asks the server: a watch that lags must not cost a volume."""
        path = path_of("v1", "persistentvolumeclaims", claim["namespace"], claim["name"])
        try:
            found = await self.client.request("GET", path)
        except NotFoundError:
            return False
        return bool(found["metadata"]["uid"] == claim["uid"])

    async def _delete(self, volume: Object) -> None:
        try:
            await self.client.request("DELETE", path_of("v1", "persistentvolumes", "", volume["metadata"]["name"]))
        except NotFoundError:
            return

    async def _set_phase(self, volume: Object, phase: str) -> None:
        if (volume.get("status") or {}).get("phase") != phase:
            path = path_of("v1", "persistentvolumes", "", volume["metadata"]["name"], "status")
            await self.client.request("PATCH", path, {"status": {"phase": phase}})


def _claim_keys(claim: Object) -> list[str]:
    """A claim queues itself and the volume that it names."""
    volume = claim["spec"].get("volumeName")
    return [f"claim {key_of(claim)}", *([f"volume {volume}"] if volume else [])]


def _claim_reference(claim: Object) -> Object:
    meta = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
    }


def _is_reserved_for(volume: Object, claim: Object) -> bool:
    known = volume["spec"].get("claimRef")
    return known is not None and _may_have(volume, claim)


def _may_have(volume: Object, claim: Object) -> bool:
    """Whether the volume is free, or reserved for this claim."""
    known = volume["spec"].get("claimRef")
    meta = claim["metadata"]
    if known is None:
        return True
    same_name = (known["namespace"], known["name"]) == (meta["namespace"], meta["name"])
    return same_name and known.get("uid") in (None, "", meta["uid"])


def _capacity(volume: Object) -> int:
    return _bytes((volume["spec"].get("capacity") or {}).get("storage", "0"))


def _requested(claim: Object) -> int:
    return _bytes((claim["spec"].get("resources", {}).get("requests") or {}).get("storage", "0"))


def _bytes(text: str) -> int:
    return Quantity.parse(text).value
