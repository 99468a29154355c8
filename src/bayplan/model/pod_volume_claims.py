"""The PersistentVolumeClaims that a pod's volumes use, including those of generic ephemeral volumes."""

from collections.abc import Iterator
from typing import NamedTuple

from bayplan.model.persistent_volumes import PersistentVolumeClaim
from bayplan.model.pod import Pod
from bayplan.model.volume_sources import Volume


class PodClaim(NamedTuple):
    """A claim that a pod uses, and the volume's name; an ephemeral one is created for this pod alone."""

    volume_name: str
    claim_name: str
    is_ephemeral: bool


def ephemeral_claim_name(pod: Pod, volume: Volume) -> str:
    """The name of the claim created for a generic ephemeral volume."""
    return f"{pod.name}-{volume.name}"


def pod_claims(pod: Pod) -> tuple[PodClaim, ...]:
    """The claims that a pod uses, in the order of its volumes."""
    return tuple(_claims(pod))


def claim_made_for(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether a claim was created for this pod, as the claim of an ephemeral volume must be."""
    owner = claim.metadata.controller
    return claim.namespace == pod.namespace and owner is not None and owner.uid == pod.uid


def _claims(pod: Pod) -> Iterator[PodClaim]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield PodClaim(volume.name, volume.persistent_volume_claim.claim_name, is_ephemeral=False)
        elif volume.ephemeral is not None:
            yield PodClaim(volume.name, ephemeral_claim_name(pod, volume), is_ephemeral=True)
