"""Storage classes and CSI objects."""

import pytest

from bayplan.model import CSINode, StorageClass


@pytest.mark.parametrize(
    ("mode", "expected"), [(None, False), ("Immediate", False), ("WaitForFirstConsumer", True)]
)
def test_binding_mode(mode: str | None, expected: bool) -> None:
    assert StorageClass(volume_binding_mode=mode).waits_for_first_consumer == expected


def test_csi_node_has_the_limits_of_its_drivers() -> None:
    """nodeID is one of Go's initialisms."""
    drivers = [{"name": "d", "nodeID": "x", "topologyKeys": ["zone"], "allocatable": {"count": 5}}]
    (driver,) = CSINode.from_dict({"metadata": {"name": "n"}, "spec": {"drivers": drivers}}).spec.drivers

    assert (driver.node_id, driver.topology_keys) == ("x", ("zone",))
    assert driver.allocatable is not None
    assert driver.allocatable.count == 5
