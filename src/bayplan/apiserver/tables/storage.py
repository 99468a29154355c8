"""Columns of volumes, claims, classes and CSI objects, and of config maps and secrets."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.tables.cells import NONE, UNSET, Cells, Json, age
from bayplan.apiserver.tables.table_columns import prints

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_MODES: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


@prints(
    "",
    "PersistentVolume",
    "Name Capacity Access_Modes Reclaim_Policy Status Claim StorageClass VolumeAttributesClass Reason Age"
    " VolumeMode*",
)
def persistent_volume(obj: Json, now: float) -> Cells:
    spec, claim = obj["spec"], obj["spec"].get("claimRef")
    return [
        obj["metadata"]["name"],
        (spec.get("capacity") or {}).get("storage", "0"),
        _access_modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        obj["status"].get("reason", ""),
        age(obj, now),
        spec.get("volumeMode", UNSET),
    ]


@prints(
    "",
    "PersistentVolumeClaim",
    "Name Status Volume Capacity Access_Modes StorageClass VolumeAttributesClass Age VolumeMode*",
)
def persistent_volume_claim(obj: Json, now: float) -> Cells:
    spec, status = obj["spec"], obj["status"]
    volume = spec.get("volumeName", "")
    return [
        obj["metadata"]["name"],
        _phase(obj),
        volume,
        (status.get("capacity") or {}).get("storage", "0") if volume else "",
        _access_modes(status) if volume else "",
        _storage_class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        age(obj, now),
        spec.get("volumeMode", UNSET),
    ]


def _phase(obj: Json) -> str:
    phase: str = obj["status"].get("phase", "")
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else phase


def _access_modes(holder: Json) -> str:
    given = holder.get("accessModes") or ()
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _storage_class(obj: Json) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    found: str = annotations.get(_BETA_CLASS, obj["spec"].get("storageClassName", ""))
    return found


@prints(
    "storage.k8s.io",
    "StorageClass",
    "Name Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age",
)
def storage_class(obj: Json, now: float) -> Cells:
    name, annotations = obj["metadata"]["name"], obj["metadata"].get("annotations") or {}
    is_default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name} (default)" if is_default else name,
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        obj.get("allowVolumeExpansion", False),
        age(obj, now),
    ]


@prints("storage.k8s.io", "VolumeAttributesClass", "Name DriverName Age")
def volume_attributes_class(obj: Json, now: float) -> Cells:
    return [obj["metadata"]["name"], obj.get("driverName", ""), age(obj, now)]


@prints("storage.k8s.io", "VolumeAttachment", "Name Attacher PV Node Attached:boolean Age")
def volume_attachment(obj: Json, now: float) -> Cells:
    spec = obj["spec"]
    place = [spec.get("attacher", ""), spec["source"].get("persistentVolumeName", ""), spec.get("nodeName", "")]
    return [obj["metadata"]["name"], *place, obj["status"].get("attached", False), age(obj, now)]


@prints("storage.k8s.io", "CSINode", "Name Drivers:integer Age")
def csi_node(obj: Json, now: float) -> Cells:
    return [obj["metadata"]["name"], len(obj["spec"].get("drivers") or ()), age(obj, now)]


@prints(
    "storage.k8s.io",
    "CSIDriver",
    "Name AttachRequired:boolean PodInfoOnMount:boolean StorageCapacity:boolean TokenRequests"
    " RequiresRepublish:boolean Modes Age",
)
def csi_driver(obj: Json, now: float) -> Cells:
    spec = obj["spec"]
    tokens = spec.get("tokenRequests")
    return [
        obj["metadata"]["name"],
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(each.get("audience", "") for each in tokens) if tokens else UNSET,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(obj, now),
    ]


@prints("", "ConfigMap", "Name Data Age")
def config_map(obj: Json, now: float) -> Cells:
    entries = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [obj["metadata"]["name"], entries, age(obj, now)]


@prints("", "Secret", "Name Type Data Age")
def secret(obj: Json, now: float) -> Cells:
    return [obj["metadata"]["name"], obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]
