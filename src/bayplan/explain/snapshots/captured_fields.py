"""What a snapshot keeps of an object: the fields that a scheduler reads, and nothing else.

In: an object as it was read. Out: a mapping that `ClusterObjects.add_mapping` reads back, or None for a kind that
no snapshot has. The typed fields of `bayplan.model` are the ones a scheduler reads, so commands, environment
variables and probes are gone already; what is dropped here was typed for messages or for other programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bayplan.model import (
    Event,
    KubeObject,
    Lease,
    Pod,
    ReplicaSet,
    ReplicationController,
    Secret,
    StatefulSet,
)

#: Kinds that are never in a snapshot, whoever asks for them.
NEVER_CAPTURED: Final[tuple[type[KubeObject], ...]] = (Secret, Event, Lease)
#: It repeats the whole object, commands and environment included.
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_WITH_TEMPLATE: Final = (ReplicaSet, StatefulSet, ReplicationController)
_EVERY_KIND: Final = (
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.generateName",
    "metadata.finalizers",
    "metadata.deletionGracePeriodSeconds",
    "status.conditions.message",
    "status.conditions.lastProbeTime",
    "status.conditions.lastHeartbeatTime",
)
_CONTAINER: Final = ("ports.name",)
_STATUS_OF_CONTAINER: Final = ("image", "imageID", "restartCount", "ready")
_DROPPED: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": (
        "spec.serviceAccountName",
        *(f"spec.{each}.{field}" for each in ("containers", "initContainers") for field in _CONTAINER),
        "spec.volumes.csi.volumeAttributes",
        "spec.volumes.azureFile.secretName",
        "spec.volumes.azureFile.secretNamespace",
        "spec.volumes.ephemeral.volumeClaimTemplate.metadata",
        "status.message",
        "status.reason",
        "status.hostIP",
        "status.podIP",
        *(
            f"status.{each}.{field}"
            for each in ("containerStatuses", "initContainerStatuses")
            for field in _STATUS_OF_CONTAINER
        ),
    ),
    "Node": ("spec.providerID", "status.phase", "status.volumesAttached", "status.volumesInUse"),
    "PersistentVolume": (
        "spec.csi.volumeAttributes",
        "spec.azureFile.secretName",
        "spec.azureFile.secretNamespace",
        "spec.claimRef.resourceVersion",
    ),
    "StorageClass": ("parameters",),
    "CSINode": ("spec.drivers.nodeID",),
    "Service": ("spec.clusterIP", "spec.type"),
    "PriorityClass": ("description",),
    "DeviceClass": ("spec.config",),
    "ResourceClaim": (
        "spec.devices.config",
        "status.allocation.devices.config",
        "status.devices.conditions.message",
        "status.devices.conditions.lastProbeTime",
        "status.devices.conditions.lastHeartbeatTime",
    ),
    "ResourceClaimTemplate": ("spec.metadata", "spec.spec.devices.config"),
}


def captured(value: KubeObject) -> dict[str, Any] | None:
    """What a snapshot has of *value*; None if it has nothing of this kind."""
    if isinstance(value, NEVER_CAPTURED):
        return None
    kept = value.to_dict()
    if isinstance(value, Pod):
        _keep_placing_volumes(value, kept)
    if isinstance(value, _WITH_TEMPLATE):
        _keep_template(value, kept)
    for path in (*_EVERY_KIND, *_DROPPED.get(value.KIND, ())):
        _drop(kept, path.split("."))
    (kept["metadata"].get("annotations") or {}).pop(LAST_APPLIED, None)
    return {key: part for key, part in kept.items() if part or part == 0}


def _keep_placing_volumes(pod: Pod, kept: dict[str, Any]) -> None:
    """Without tokens, ConfigMaps and Secrets: every node can provide them, so no plugin reads them."""
    volumes = kept["spec"].pop("volumes", ())
    placing = [
        shown for shown, volume in zip(volumes, pod.spec.volumes, strict=True) if volume.matters_for_placement
    ]
    if placing:
        kept["spec"]["volumes"] = placing


def _keep_template(value: KubeObject, kept: dict[str, Any]) -> None:
    """A workload needs its template to be created again; the same fields are kept as of a pod."""
    template = (value.whole.get("spec") or {}).get("template")
    if not isinstance(template, Mapping):
        return
    pod = captured(Pod.from_dict({"metadata": template.get("metadata") or {}, "spec": template.get("spec") or {}}))
    if pod is not None:
        kept["spec"]["template"] = {key: pod[key] for key in ("metadata", "spec") if key in pod}


def _drop(part: Any, path: list[str]) -> None:
    if isinstance(part, list):
        for each in part:
            _drop(each, path)
    elif isinstance(part, dict) and path[0] in part:
        if len(path) == 1:
            del part[path[0]]
        else:
            _drop(part[path[0]], path[1:])
