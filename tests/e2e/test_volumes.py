"""Volumes that wait for their first consumer: the pod's node decides, and the bind waits for the volume."""

from __future__ import annotations

import pytest
from tests.e2e.api import Object, eventually
from tests.e2e.bayplan import start_bayplan
from tests.e2e.control_plane import ControlPlane
from tests.e2e.objects import node, pod
from tests.e2e.seen import bound_to, condition, events

pytestmark = pytest.mark.e2e

CLASS: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}

NO_VOLUME = "3 node(s) didn't find available persistent volumes to bind"


def _volume(name: str, node_name: str, *, storage: str = "10Gi") -> Object:
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node_name]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": storage},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
        },
    }


def _claim(name: str, *, storage: str = "5Gi") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "resources": {"requests": {"storage": storage}},
        },
    }


def _pod(name: str, *claims: str) -> Object:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, volumes=volumes)


@pytest.fixture
def storage_plane(control_plane: ControlPlane) -> ControlPlane:
    """Three nodes and a class of local volumes, with the controllers that bind claims."""
    control_plane.start_controller_manager()
    control_plane.api.create_many([node(name) for name in ("a", "b", "c")])
    control_plane.api.create(CLASS)
    return control_plane


def test_the_pod_goes_where_its_volume_is(storage_plane: ControlPlane) -> None:
    """A volume is bound to the claim first, then the pod to the volume's node."""
    api = storage_plane.api
    start_bayplan(storage_plane)
    api.create_many([_volume("large", "a", storage="100Gi"), _volume("small", "b"), _claim("data")])

    api.create(_pod("web", "data"))
    where = eventually(lambda: bound_to(api, "web"))

    # The controller writes the claim first, which is what the pod waits for, and then its phase.
    eventually(lambda: api.get("PersistentVolumeClaim", "data")["status"]["phase"] == "Bound")
    claim = api.get("PersistentVolumeClaim", "data")
    assert where == {"small": "b", "large": "a"}[claim["spec"]["volumeName"]]
    volume = api.get("PersistentVolume", claim["spec"]["volumeName"])
    assert volume["spec"]["claimRef"]["name"] == "data"


def test_a_pod_waits_for_a_volume(storage_plane: ControlPlane) -> None:
    """Without one it says so; one that comes later is taken, and there the pod goes."""
    api = storage_plane.api
    start_bayplan(storage_plane)
    api.create(_claim("data"))
    api.create(_pod("web", "data"))
    # The pod may be heard of before its claim; then its first message is another one.
    eventually(lambda: NO_VOLUME in (condition(api.get("Pod", "web")) or {}).get("message", ""))

    api.create(_volume("late", "c"))

    assert eventually(lambda: bound_to(api, "web")) == "c"
    reasons = eventually(
        lambda: seen if "Scheduled" in (seen := [each["reason"] for each in events(api, "web")]) else None
    )
    assert (reasons[0], reasons[-1]) == ("FailedScheduling", "Scheduled")
