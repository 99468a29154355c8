"""Volumes of pods."""

import pytest

from bayplan.model import Pod


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("persistentVolumeClaim", True), ("ephemeral", True), ("csi", True), ("gcePersistentDisk", True),
        ("awsElasticBlockStore", True), ("azureDisk", True), ("rbd", True), ("iscsi", True),
        ("configMap", False), ("secret", False), ("projected", False), ("downwardAPI", False),
        ("emptyDir", False), ("hostPath", False),
    ],
)  # fmt: skip
def test_volumes_that_matter_for_placement(source: str, expected: bool) -> None:
    """Those that any node can provide do not."""
    (volume,) = Pod.from_dict({"spec": {"volumes": [{"name": "v", source: {}}]}}).spec.volumes

    assert volume.matters_for_placement == expected
