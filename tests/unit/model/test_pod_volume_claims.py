"""Claims behind the volumes of a pod, and storage classes of claims and volumes."""

from bayplan.model import (
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodClaim,
    Quantity,
    claim_made_for,
    pod_claims,
)

POD = Pod.from_dict(
    {
        "metadata": {"name": "web", "namespace": "ns", "uid": "u1"},
        "spec": {
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "disk"}},
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
                {"name": "conf", "configMap": {"name": "x"}},
            ]
        },
    }
)


def test_claims_by_name_and_for_ephemeral_volumes() -> None:
    """A generic ephemeral volume uses the claim <pod>-<volume>; other volumes use none."""
    assert pod_claims(POD) == (
        PodClaim("data", "disk", is_ephemeral=False),
        PodClaim("scratch", "web-scratch", is_ephemeral=True),
    )
    assert POD.spec.volumes[2].config_map is not None


def test_ephemeral_claim_must_belong_to_the_pod() -> None:
    """A claim of that name that the pod does not own is not its claim."""
    owner = {"uid": "u1", "controller": True}
    meta = {"name": "web-scratch", "namespace": "ns"}

    assert claim_made_for(POD, PersistentVolumeClaim.from_dict({"metadata": meta | {"ownerReferences": [owner]}}))
    assert not claim_made_for(POD, PersistentVolumeClaim.from_dict({"metadata": meta}))


def test_annotation_wins_over_class() -> None:
    """The old annotation for the storage class wins, on claims and on volumes."""
    meta = {"name": "x", "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}

    assert PersistentVolumeClaim.from_dict({"spec": {"storageClassName": "new"}}).storage_class_name == "new"
    assert PersistentVolumeClaim.from_dict({"metadata": meta}).storage_class_name == "old"
    assert PersistentVolume.from_dict({"metadata": meta}).storage_class_name == "old"


def test_storage_is_a_quantity() -> None:
    """What a claim asks for and a volume holds compare as quantities; nothing is zero."""
    claim = PersistentVolumeClaim.from_dict({"spec": {"resources": {"requests": {"storage": "1Gi"}}}})
    volume = PersistentVolume.from_dict({"spec": {"capacity": {"storage": "1024Mi"}}})

    assert claim.storage == volume.storage
    assert PersistentVolume().storage == Quantity(0)
