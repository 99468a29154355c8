"""Claims of pods, for the volume plugins: which claims a pod names, and Kubernetes' errors about missing ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.model import Pod, pod_claims
from bayplan.plugins.volumes._csi_migration import in_tree_plugin

if TYPE_CHECKING:
    from collections.abc import Hashable

    from bayplan.model import PersistentVolumeClaim, Volume

_NO_STORAGE: Final = ()


def named_claims(pod: Pod) -> list[str]:
    """The claims that the pod's volumes name, in order; without those created for ephemeral volumes."""
    return [
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    ]


def uses_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether the claim is one of the pod's, by name or for an ephemeral volume."""
    return pod.namespace == claim.namespace and any(each.claim_name == claim.name for each in pod_claims(pod))


def storage_signature(pod: Pod) -> Hashable | None:
    """The signature of all volume plugins: the same for pods without storage; None, not cacheable, for others."""
    return None if any(map(_is_storage, pod.spec.volumes)) else _NO_STORAGE


def _is_storage(volume: Volume) -> bool:
    """Whether any volume plugin considers the volume; the most common kinds are excluded first."""
    if volume.projected or volume.config_map or volume.secret or volume.empty_dir:
        return False
    return bool(
        volume.persistent_volume_claim
        or volume.ephemeral
        or volume.iscsi
        or volume.rbd
        or in_tree_plugin(volume) is not None
    )


def claim_not_found(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def volume_not_found(name: str) -> str:
    return f'persistentvolume "{name}" not found'


def class_not_found(name: str) -> str:
    return f'storageclass.storage.k8s.io "{name}" not found'


def binding_mode_not_set(class_name: str) -> str:
    return f'VolumeBindingMode not set for StorageClass "{class_name}"'


def not_made_for(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """The error for a claim with the name of the pod's ephemeral volume that has another owner."""
    return (
        f"PVC {claim.namespace}/{claim.name} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"
    )
