"""Counts of volumes that rules of storage are about."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.cache import Cache
from bayplan.testing import make_node, make_pod


@pytest.mark.parametrize(
    ("source", "attachable", "exclusive"),
    [
        pytest.param({"persistentVolumeClaim": {"claimName": "c"}}, 1, 0, id="claim"),
        pytest.param({"ephemeral": {}}, 1, 0, id="generic ephemeral volume"),
        pytest.param({"gcePersistentDisk": {"pdName": "d"}}, 1, 1, id="GCE disk"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "d"}}, 1, 1, id="AWS disk"),
        pytest.param({"azureDisk": {"diskURI": "d"}}, 1, 0, id="Azure disk"),
        pytest.param({"iscsi": {"iqn": "q"}}, 0, 1, id="iSCSI"),
        pytest.param({"rbd": {"image": "i"}}, 0, 1, id="RBD"),
        pytest.param({"hostPath": {"path": "/"}}, 0, 0, id="host path"),
        pytest.param({"projected": {}}, 0, 0, id="projected"),
    ],
)
def test_counts_follow_the_pods(source: dict[str, Any], attachable: int, exclusive: int) -> None:
    """Counts move with the pods, through what-ifs and when another node takes the row."""
    cache = Cache()
    cache.set_node(make_node("gone"))
    cache.set_node(make_node("n"))
    pod = make_pod("p", node_name="n", spec={"volumes": [{"name": "v", **source}, {"name": "e", "emptyDir": {}}]})
    cache.add_pod(pod)
    nodes = cache.snapshot().nodes
    assert nodes.attachable_volumes().tolist() == [0, attachable]
    assert nodes.exclusive_disks().tolist() == [0, exclusive]
    with cache.snapshot().without([pod]):
        assert not nodes.attachable_volumes().any()
    cache.remove_node("gone")
    nodes = cache.snapshot().nodes
    assert nodes.attachable_volumes().tolist() == [attachable]
    assert nodes.exclusive_disks().tolist() == [exclusive]
    cache.remove_pod(pod.uid)
    assert not nodes.exclusive_disks().any()
