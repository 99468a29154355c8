"""Remedies for volumes that others have to make: a claim that does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from bayplan.explain.remedy import OTHERS, Remedy, joined
from bayplan.model import PersistentVolumeClaim, Pod, StorageClass

if TYPE_CHECKING:
    from bayplan.explain.what_if_scheduler import WhatIfScheduler

CREATE_CLAIM: Final = 45.0
#: How many classes are tried, the default one first.
MAX_CLASSES: Final = 3
#: Nobody can know how much the pod needs.
SIZE: Final = "1Gi"
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_WAITS: Final = "WaitForFirstConsumer"


def creating_claims(scheduler: WhatIfScheduler, pod: Pod) -> Iterator[Remedy]:
    """The claims that are missing, of a class whose volumes are made where the pod is placed.

    A claim of any other class is bound by a controller first, so nothing can be said about it here.
    """
    claims = scheduler.core.objects.lister(PersistentVolumeClaim)
    names = [
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    ]
    missing = [name for name in dict.fromkeys(names) if claims.get(name, pod.namespace) is None]
    if not missing:
        return
    classes = [
        each for each in scheduler.core.objects.lister(StorageClass).list() if each.volume_binding_mode == _WAITS
    ]
    classes.sort(key=lambda each: (each.annotations.get(_DEFAULT_CLASS) != "true", each.name))
    for storage_class in classes[:MAX_CLASSES]:
        made = [PersistentVolumeClaim.from_dict(_claim(name, pod, storage_class.name)) for name in missing]
        yield Remedy(
            f"create the claim{'s' if len(missing) > 1 else ''} {joined(missing)} of class {storage_class.name}",
            CREATE_CLAIM + 10.0 * (len(missing) - 1),
            OTHERS,
            replaces=tuple((None, each) for each in made),
            key=f"create claims {missing} {storage_class.name}",
            notes=(f"{SIZE} stands for what the pod needs",),
        )


def _claim(name: str, pod: Pod, class_name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": pod.namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": SIZE}},
        },
    }
