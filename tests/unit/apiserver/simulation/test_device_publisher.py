"""Slices come and go with their nodes."""

from __future__ import annotations

import pytest

from bayplan.apiserver.simulation.manifest_applier import ManifestError
from bayplan.apiserver.simulation.simulated_devices import SimulatedDevices
from bayplan.testing import VirtualCluster

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "late", "labels": {"pool": "a"}}}


def pools(cluster: VirtualCluster) -> dict[str, list[str]]:
    """Pool → drivers."""
    found: dict[str, list[str]] = {}
    for each in cluster.get(SLICES)["items"]:
        found.setdefault(each["spec"]["pool"]["name"], []).append(each["spec"]["driver"])
    return found


def test_every_node_has_its_devices() -> None:
    """From the start, and a class for them."""
    with VirtualCluster(2, devices=["gpu=8", "nic=1"], scheduler=False) as cluster:
        drivers = ["gpu.bayplan.dev", "nic.bayplan.dev"]
        assert pools(cluster) == {"node-1": drivers, "node-2": drivers}
        classes = cluster.get("/apis/resource.k8s.io/v1/deviceclasses")["items"]
        assert [each["metadata"]["name"] for each in classes] == ["gpu", "nic"]


def test_devices_follow_nodes_and_labels() -> None:
    """A node that comes later has them; one that loses the label or goes has not."""
    devices = [SimulatedDevices("gpu", 1, nodes={"pool": "a"})]
    with VirtualCluster(1, devices=devices, scheduler=False) as cluster:
        assert pools(cluster) == {}
        cluster.apply(NODE)
        cluster.wait(1)
        assert pools(cluster) == {"late": ["gpu.bayplan.dev"]}

        cluster.apply({**NODE, "metadata": {"name": "late", "labels": {"pool": "b"}}})
        cluster.wait(1)
        assert pools(cluster) == {}

        cluster.apply(NODE)
        cluster.wait(1)
        cluster.run(cluster.cluster.client.request("DELETE", "/api/v1/nodes/late"))
        cluster.wait(1)
        assert pools(cluster) == {}


def test_devices_that_the_server_refuses_are_an_error_at_the_start() -> None:
    """Not one that is retried for ever."""
    devices = [SimulatedDevices("gpu", 1, attributes={"no good": "x"})]
    with pytest.raises(ManifestError, match=r"devices gpu: .*attributes"), VirtualCluster(1, devices=devices):
        pass
