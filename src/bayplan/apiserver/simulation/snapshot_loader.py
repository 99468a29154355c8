"""Puts the objects of a snapshot into a new cluster: in an order that works, under uids of its own.

In: objects as `bayplan capture` or kubectl prints them. Out: the cluster has them, pods that were on a node are
there, and what it has not is listed with the reason. No controller may run meanwhile: one would make the pods of a
ReplicaSet whose pods come later.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from bayplan.apiserver.simulation.manifest_applier import ManifestApplier
from bayplan.apiserver.strategies.policies import SYSTEM_PRIORITY_CLASSES
from bayplan.client import ApiError, ConflictError, KubeClient
from bayplan.controllers.api_objects import Object, path_of

#: What others refer to comes first; pods are last but for quotas, which would refuse those that are there already.
ORDER: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "CSIDriver",
    "DeviceClass",
    "Node",
    "CSINode",
    "CSIStorageCapacity",
    "ResourceSlice",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "Service",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "ReplicationController",
    "CronJob",
    "Job",
    "PodDisruptionBudget",
    "ResourceClaimTemplate",
    "ResourceClaim",
    "PodGroup",
    "ElasticQuota",
    "",  # every other kind
    "Pod",
    "LimitRange",
    "ResourceQuota",
)
#: Kinds that the cluster has of its own, or that mean nothing in another one.
_NOT_TAKEN: Final = {
    "Event": "it is history",
    "Lease": "it belongs to a process of the other cluster",
    "Endpoints": "the cluster makes its own",
    "EndpointSlice": "the cluster makes its own",
    "ControllerRevision": "the cluster makes its own",
    "Secret": "never taken",
}
_ENDED: Final = ("Succeeded", "Failed")
_SYSTEM_METADATA: Final = ("uid", "resourceVersion", "generation", "managedFields", "selfLink", "finalizers")
_STATUS_KINDS: Final = ("ResourceClaim", "PersistentVolumeClaim", "PersistentVolume")
_POD_STATUS: Final = ("nominatedNodeName", "resourceClaimStatuses", "extendedResourceClaimStatus")


class SnapshotLoader:
    """Loads one snapshot."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._applier = ManifestApplier(client)
        #: Uid in the snapshot → uid in the cluster.
        self._uids: dict[str, str] = {}
        self._left_out: Counter[tuple[str, str]] = Counter()
        #: How many nodes the cluster has from the snapshot.
        self.n_nodes = 0

    async def load(self, objects: Iterable[Object]) -> list[str]:
        """Returns what was left out, a line for each kind and reason."""
        chosen = [copy.deepcopy(each) for each in objects if self._is_taken(each)]
        chosen += _missing_classes(chosen)
        chosen.sort(key=_order)
        stored = [(obj, created) for obj in chosen if (created := await self._create(obj)) is not None]
        for obj, created in stored:
            await self._set_status(obj, created)
        return [f"{count} {kind}: {reason}" for (kind, reason), count in sorted(self._left_out.items())]

    def _is_taken(self, obj: Object) -> bool:
        reason = _NOT_TAKEN.get(obj["kind"])
        if obj["kind"] == "Pod" and (obj.get("status") or {}).get("phase") in _ENDED:
            reason = "it has ended"
        elif reason is None and obj["metadata"].get("deletionTimestamp"):
            reason = "it was being deleted"
        if reason is not None:
            self._left_out[obj["kind"], reason] += 1
        return reason is None

    async def _create(self, obj: Object) -> Object | None:
        body = _completed(self._without_history(obj))
        try:
            created = await self._applier.create_one(body)
        except ConflictError:
            if obj["kind"] != "Namespace" and not obj["metadata"]["name"].startswith("system-"):
                self._left_out[obj["kind"], "the cluster has one of this name"] += 1
            return None
        except ApiError as error:
            self._left_out[obj["kind"], str(error)] += 1
            return None
        self.n_nodes += obj["kind"] == "Node"
        if uid := obj["metadata"].get("uid"):
            self._uids[uid] = created["metadata"]["uid"]
        return created

    def _without_history(self, obj: Object) -> Object:
        """As it can be created: owners by their new uids; an owner that is not there would have it collected."""
        body = copy.deepcopy(
            {key: value for key, value in obj.items() if key != "status" or obj["kind"] == "Node"}
        )
        metadata = body["metadata"]
        for field in _SYSTEM_METADATA:
            metadata.pop(field, None)
        owners = metadata.pop("ownerReferences", ())
        known = [{**owner, "uid": self._uids[owner["uid"]]} for owner in owners if owner.get("uid") in self._uids]
        if known:
            metadata["ownerReferences"] = known
        elif owners:
            self._left_out[f"owner of {obj['kind']}", "it is not in the snapshot"] += 1
        claim = (body.get("spec") or {}).get("claimRef")
        if obj["kind"] == "PersistentVolume" and claim:
            claim.pop("resourceVersion", None)
            claim["uid"] = self._uids.get(claim.get("uid"), "")
        return body

    async def _set_status(self, obj: Object, created: Object) -> None:
        status = dict(_status_of(obj))
        if not status:
            return
        for consumer in status.get("reservedFor", ()):
            consumer["uid"] = self._uids.get(consumer.get("uid"), consumer.get("uid"))
        resource = await self._applier.resource(obj["apiVersion"], obj["kind"])
        metadata = created["metadata"]
        path = path_of(
            obj["apiVersion"], resource["name"], metadata.get("namespace", ""), metadata["name"], "status"
        )
        try:
            await self._client.request(
                "PATCH", path, {"status": status}, content_type="application/merge-patch+json"
            )
        except ApiError as error:
            self._left_out[f"status of {obj['kind']}", str(error)] += 1


def _missing_classes(objects: list[Object]) -> list[Object]:
    """Classes for the priorities of pods whose own class is not there: admission sets no priority without one."""
    known = {each["metadata"]["name"]: each.get("value", 0) for each in objects if each["kind"] == "PriorityClass"}
    known |= SYSTEM_PRIORITY_CLASSES
    missing: dict[str, Object] = {}
    for pod in objects:
        spec = pod.get("spec") or {}
        priority, name = spec.get("priority"), spec.get("priorityClassName", "")
        if pod["kind"] != "Pod" or priority is None or (known.get(name) if name else 0) == priority:
            continue
        name = spec["priorityClassName"] = name if name and name not in known else f"snapshot-priority-{priority}"
        missing[name] = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": priority,
        }
        if spec.get("preemptionPolicy"):
            missing[name]["preemptionPolicy"] = spec["preemptionPolicy"]
    return list(missing.values())


def _order(obj: Object) -> tuple[int, bool]:
    kind = obj["kind"] if obj["kind"] in ORDER else ""
    # Of pods, those on nodes first.
    return ORDER.index(kind), not (obj.get("spec") or {}).get("nodeName")


def _status_of(obj: Object) -> Iterator[tuple[str, Any]]:
    status = copy.deepcopy(obj.get("status") or {})
    if obj["kind"] in _STATUS_KINDS:
        yield from status.items()
    elif obj["kind"] == "Pod":
        yield from ((field, status[field]) for field in _POD_STATUS if status.get(field))


def _completed(body: Object) -> Object:
    """With what the API server requires, and a capture has not, because no scheduler reads it."""
    spec = body.get("spec") or {}
    if body["kind"] == "Pod":
        _complete_pod(spec)
    elif "template" in spec and isinstance(spec["template"].get("spec"), dict):
        _complete_pod(spec["template"]["spec"])
    elif body["kind"] == "CSINode":
        for driver in spec.get("drivers") or ():
            driver.setdefault("nodeID", body["metadata"]["name"])
    elif body["kind"] == "Service":
        spec = body.setdefault("spec", {})
        for field in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            spec.pop(field, None)
        if not spec.get("ports"):
            spec["ports"] = [{"port": 80}]
    elif body["kind"] == "PersistentVolume":
        for source, required in (("hostPath", {"path": "/captured"}), ("nfs", {"server": "s", "path": "/"})):
            if source in spec and not spec[source]:
                spec[source] = required
    return body


def _complete_pod(spec: Object) -> None:
    spec.pop("serviceAccount", None)
    spec.pop("serviceAccountName", None)
    spec["volumes"] = [
        each for each in spec.get("volumes") or () if not str(each.get("name")).startswith("kube-api-access-")
    ]
    names = {each["name"] for each in spec["volumes"]}
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            container.setdefault("image", "captured")
            mounts = container.get("volumeMounts") or ()
            if mounts:
                container["volumeMounts"] = [each for each in mounts if each.get("name") in names]
            for port in container.get("ports") or ():
                port.setdefault("containerPort", port.get("hostPort", 80))
