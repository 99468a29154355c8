"""Volumes and claims: size and storage class."""

from bayplan.model import PersistentVolume, PersistentVolumeClaim, Quantity

BETA = {"volume.beta.kubernetes.io/storage-class": "old"}


def test_size_is_a_quantity() -> None:
    volume = PersistentVolume.from_dict({"spec": {"capacity": {"storage": "1Gi"}}})
    claim = PersistentVolumeClaim.from_dict({"spec": {"resources": {"requests": {"storage": "1024Mi"}}}})

    assert volume.storage == claim.storage == Quantity(1 << 30)
    assert PersistentVolumeClaim().storage.is_zero


def test_storage_class_of_the_annotation_comes_first() -> None:
    metadata = {"annotations": BETA}
    spec = {"storageClassName": "new"}

    for kind in (PersistentVolume, PersistentVolumeClaim):
        assert kind.from_dict({"metadata": metadata, "spec": spec}).storage_class_name == "old"
        assert kind.from_dict({"spec": spec}).storage_class_name == "new"
        assert kind().storage_class_name == ""
