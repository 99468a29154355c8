"""Volumes, claims and classes in one line, and pods that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.model import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    VolumeAttachment,
)
from bayplan.testing import make_pod

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def affinity(key: str, *values: str) -> dict[str, Any]:
    """Node affinity of a volume: the label *key* must be one of *values*."""
    return terms({"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]})


def terms(*each: dict[str, Any]) -> dict[str, Any]:
    return {"required": {"nodeSelectorTerms": list(each)}}


def make_volume(
    name: str,
    *,
    size: str = "10Gi",
    storage_class: str = "local",
    modes: Sequence[str] = ("ReadWriteOnce",),
    phase: str = "Available",
    claim: str = "",
    claim_uid: str = "",
    labels: Mapping[str, str] | None = None,
    version: str = "1",
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> PersistentVolume:
    reference = {"namespace": "default", "name": claim, "uid": claim_uid}
    return PersistentVolume.from_dict(
        {
            "metadata": {
                "name": name,
                "labels": dict(labels or {}),
                "resourceVersion": version,
                **(metadata or {}),
            },
            "spec": {
                "capacity": {"storage": size},
                "accessModes": list(modes),
                "storageClassName": storage_class,
                **({"claimRef": reference} if claim else {}),
                **spec,
            },
            "status": {"phase": phase},
        }
    )


def make_claim(
    name: str,
    *,
    size: str | None = "5Gi",
    storage_class: str | None = "local",
    modes: Sequence[str] = ("ReadWriteOnce",),
    volume: str = "",
    annotations: Mapping[str, str] | None = None,
    phase: str = "",
    version: str = "1",
    namespace: str = "default",
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> PersistentVolumeClaim:
    """A claim; one with a *volume* is fully bound, unless *annotations* are given."""
    notes = annotations if annotations is not None else BOUND if volume else {}
    return PersistentVolumeClaim.from_dict(
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"claim-{name}",
                "annotations": dict(notes),
                "resourceVersion": version,
                **(metadata or {}),
            },
            "spec": {
                "accessModes": list(modes),
                **({"storageClassName": storage_class} if storage_class is not None else {}),
                **({"resources": {"requests": {"storage": size}}} if size is not None else {}),
                **({"volumeName": volume} if volume else {}),
                **spec,
            },
            "status": {"phase": phase or ("Bound" if volume else "Pending")},
        }
    )


def make_class(
    name: str,
    *,
    provisioner: str = "kubernetes.io/no-provisioner",
    mode: str | None = "WaitForFirstConsumer",
    **fields: Any,
) -> StorageClass:
    return StorageClass.from_dict(
        {
            "metadata": {"name": name},
            "provisioner": provisioner,
            **({"volumeBindingMode": mode} if mode is not None else {}),
            **fields,
        }
    )


def make_csi_node(
    name: str, limits: Mapping[str, int | None] | None = None, annotations: Mapping[str, str] | None = None
) -> CSINode:
    drivers = [
        {"name": driver, "nodeID": name, **({"allocatable": {"count": count}} if count is not None else {})}
        for driver, count in (limits or {}).items()
    ]
    return CSINode.from_dict(
        {"metadata": {"name": name, "annotations": dict(annotations or {})}, "spec": {"drivers": drivers}}
    )


def make_driver(name: str, *, storage_capacity: bool | None = None) -> CSIDriver:
    return CSIDriver.from_dict({"metadata": {"name": name}, "spec": {"storageCapacity": storage_capacity}})


def make_capacity(name: str, storage_class: str, **fields: Any) -> CSIStorageCapacity:
    return CSIStorageCapacity.from_dict(
        {"metadata": {"name": name, "namespace": "kube-system"}, "storageClassName": storage_class, **fields}
    )


def make_attachment(
    name: str, node: str, volume: str | None, attacher: str = "csi.example.com"
) -> VolumeAttachment:
    source = {"persistentVolumeName": volume} if volume is not None else {}
    return VolumeAttachment.from_dict(
        {"metadata": {"name": name}, "spec": {"attacher": attacher, "nodeName": node, "source": source}}
    )


def csi(handle: str, driver: str = "csi.example.com") -> dict[str, str]:
    return {"driver": driver, "volumeHandle": handle}


def pod_with(name: str, *volumes: Mapping[str, Any], **fields: Any) -> Pod:
    """A pod with volumes given by their sources."""
    named = [{"name": f"v{i}", **volume} for i, volume in enumerate(volumes)]
    return make_pod(name, spec={"volumes": named}, **fields)


def pod_claiming(name: str, *claims: str, **fields: Any) -> Pod:
    return pod_with(name, *({"persistentVolumeClaim": {"claimName": claim}} for claim in claims), **fields)
