"""From a change of an object to the events that the queue is told."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.core.cluster_changes import node_changes, object_changes, pod_changes, resource_change
from bayplan.framework import Action, Resource
from bayplan.model import CSINode, KubeObject, Node, PersistentVolumeClaim, Pod, Service, StorageClass
from bayplan.queue import ASSIGNED_POD, UNSCHEDULED_POD, QueueEvent
from bayplan.testing import make_node, make_pod

READY = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
LATER = {**READY, "lastHeartbeatTime": "2026-01-01T00:01:00Z"}
UNREADY = {**READY, "status": "False"}


def actions(old: Node, new: Node) -> list[Action]:
    events = node_changes(old, new)
    assert all(event.resource == Resource.NODE for event in events)
    return [event.action for event in events]


def annotated(**annotations: str) -> Node:
    node = make_node("n").to_dict()
    return Node.from_dict({**node, "metadata": {**node["metadata"], "annotations": annotations}})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(make_node("n"), make_node("n"), [], id="nothing"),
        pytest.param(
            make_node("n", cpu="4"), make_node("n", cpu="8"), [Action.UPDATE_NODE_ALLOCATABLE], id="allocatable"
        ),
        pytest.param(
            make_node("n"),
            make_node("n", resources={"example.com/gpu": "1"}),
            [Action.UPDATE_NODE_ALLOCATABLE],
            id="a new resource",
        ),
        pytest.param(
            make_node("n", cpu="4"), make_node("n", cpu="4000m"), [], id="the same amount in other words"
        ),
        pytest.param(
            make_node("n", cpu="4"), make_node("n", cpu="x"), [Action.UPDATE_NODE_ALLOCATABLE], id="a bad amount"
        ),
        pytest.param(make_node("n"), make_node("n", labels={"a": "b"}), [Action.UPDATE_NODE_LABEL], id="labels"),
        pytest.param(
            make_node("n"), make_node("n", taints=["a:NoSchedule"]), [Action.UPDATE_NODE_TAINT], id="taints"
        ),
        pytest.param(make_node("n", unschedulable=True), make_node("n"), [Action.UPDATE_NODE_TAINT], id="opened"),
        pytest.param(make_node("n"), make_node("n", unschedulable=True), [], id="cordoned"),
        pytest.param(
            make_node("n", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"]),
            make_node("n"),
            [Action.UPDATE_NODE_TAINT, Action.UPDATE_NODE_TAINT],
            id="opened, with its taint",
        ),
        pytest.param(
            make_node("n", status={"conditions": [READY]}),
            make_node("n", status={"conditions": [UNREADY]}),
            [Action.UPDATE_NODE_CONDITION],
            id="a condition",
        ),
        pytest.param(
            make_node("n", status={"conditions": [READY]}),
            make_node("n", status={"conditions": [LATER]}),
            [],
            id="a heartbeat",
        ),
        pytest.param(annotated(), annotated(a="b"), [Action.UPDATE_NODE_ANNOTATION], id="annotations"),
        pytest.param(
            make_node("n"),
            make_node("n", status={"declaredFeatures": ["F"]}),
            [Action.UPDATE_NODE_DECLARED_FEATURE],
            id="declared features",
        ),
        pytest.param(
            make_node("n", cpu="4"),
            make_node("n", cpu="8", labels={"a": "b"}, taints=["a:NoSchedule"]),
            [Action.UPDATE_NODE_ALLOCATABLE, Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_TAINT],
            id="several at once",
        ),
    ],
)
def test_node_update_tells_what_changed(old: Node, new: Node, expected: list[Action]) -> None:
    assert actions(old, new) == expected


def pod(**fields: Any) -> Pod:
    return make_pod("p", metadata={"uid": "p", "labels": fields.pop("labels", {})}, **fields)


CLAIMED = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "p-c"}]}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(pod(), pod(labels={"a": "b"}), [Action.UPDATE_POD_LABEL], id="labels"),
        pytest.param(pod(cpu="2"), pod(cpu="1"), [Action.UPDATE_POD_SCALE_DOWN], id="scaled down"),
        pytest.param(pod(cpu="2", memory="1Gi"), pod(cpu="2"), [Action.UPDATE_POD_SCALE_DOWN], id="no request"),
        pytest.param(pod(cpu="1"), pod(cpu="2"), [Action.UPDATE], id="scaled up"),
        pytest.param(pod(cpu="1"), pod(cpu="1x"), [Action.UPDATE], id="a bad amount"),
        pytest.param(
            pod(spec={"schedulingGates": [{"name": "g"}]}),
            pod(),
            [Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED],
            id="the last gate gone",
        ),
        pytest.param(
            pod(spec={"schedulingGates": [{"name": "g"}, {"name": "h"}]}),
            pod(spec={"schedulingGates": [{"name": "h"}]}),
            [Action.UPDATE],
            id="one of two gates gone",
        ),
        pytest.param(
            pod(),
            pod(spec={"tolerations": [{"operator": "Exists"}]}),
            [Action.UPDATE_POD_TOLERATION],
            id="a toleration",
        ),
        pytest.param(
            pod(), pod(status=CLAIMED), [Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM], id="a generated claim"
        ),
        pytest.param(pod(), pod(status={"nominatedNodeName": "n"}), [Action.UPDATE], id="something else"),
        pytest.param(
            pod(cpu="2"),
            pod(cpu="1", labels={"a": "b"}),
            [Action.UPDATE_POD_LABEL, Action.UPDATE_POD_SCALE_DOWN],
            id="several at once",
        ),
    ],
)
def test_pod_update_tells_what_changed(old: Pod, new: Pod, expected: list[Action]) -> None:
    assert pod_changes(old, new) == tuple(QueueEvent(UNSCHEDULED_POD, action) for action in expected)


def test_pods_on_nodes_are_told_apart() -> None:
    old, new = pod(node_name="n"), pod(node_name="n", labels={"a": "b"})

    assert object_changes(old, new) == (QueueEvent(ASSIGNED_POD, Action.UPDATE_POD_LABEL),)
    assert object_changes(None, new) == (QueueEvent(ASSIGNED_POD, Action.ADD),)
    assert object_changes(pod(), None) == (QueueEvent(UNSCHEDULED_POD, Action.DELETE),)


@pytest.mark.parametrize(
    ("value", "resource"),
    [
        (make_node("n"), Resource.NODE),
        (PersistentVolumeClaim.from_dict({"metadata": {"name": "c"}}), Resource.PERSISTENT_VOLUME_CLAIM),
        (StorageClass.from_dict({"metadata": {"name": "s"}}), Resource.STORAGE_CLASS),
        (CSINode.from_dict({"metadata": {"name": "n"}}), Resource.CSI_NODE),
    ],
)
def test_coming_and_going_of_objects(value: KubeObject, resource: Resource) -> None:
    assert object_changes(None, value) == (QueueEvent(resource, Action.ADD),)
    assert object_changes(value, None) == (QueueEvent(resource, Action.DELETE),)
    if resource is not Resource.NODE:
        assert object_changes(value, value) == (QueueEvent(resource, Action.UPDATE),)


def test_objects_that_help_no_pod_are_not_told() -> None:
    service = Service.from_dict({"metadata": {"name": "s", "namespace": "default"}})

    assert object_changes(None, service) == ()
    assert object_changes(None, None) == ()


def test_custom_resources_are_told_by_name() -> None:
    assert resource_change("foos.v1.example.com", {}, {}) == QueueEvent("foos.v1.example.com", Action.UPDATE)
