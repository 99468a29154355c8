"""Cluster events: their labels, and the registrations that they match."""

from __future__ import annotations

import pytest
from tests.unit.queue.support import FOO_ADD, NODE_ADD, NODE_LABEL

from bayplan.framework import Action, ClusterEvent, Resource
from bayplan.queue.cluster_events import (
    ASSIGNED_POD_ADD,
    FORCE_ACTIVATE,
    POD_ADDED,
    UNSCHEDULED_POD,
    QueueEvent,
)

NODE_TAINT = QueueEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)
POD_UPDATE = QueueEvent(UNSCHEDULED_POD, Action.UPDATE)
CLAIM_UPDATE = QueueEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.UPDATE)


@pytest.mark.parametrize(
    ("registered", "event", "expected"),
    [
        pytest.param(ClusterEvent(Resource.NODE, Action.ADD), NODE_ADD, True, id="the same"),
        pytest.param(ClusterEvent(Resource.NODE, Action.ADD), NODE_LABEL, False, id="another action"),
        pytest.param(ClusterEvent(Resource.POD, Action.ADD), NODE_ADD, False, id="another resource"),
        pytest.param(ClusterEvent(Resource.NODE, Action.UPDATE), NODE_LABEL, True, id="any update"),
        pytest.param(ClusterEvent(Resource.ANY, Action.ADD), NODE_ADD, True, id="any resource"),
        pytest.param(ClusterEvent(Resource.ANY, Action.ADD), NODE_LABEL, False, id="any resource, one action"),
        pytest.param(ClusterEvent(Resource.ANY, Action.ALL), FOO_ADD, True, id="anything"),
        pytest.param(ClusterEvent(Resource.POD, Action.ADD), ASSIGNED_POD_ADD, True, id="pods on nodes"),
        pytest.param(ClusterEvent(Resource.POD, Action.UPDATE), POD_UPDATE, True, id="waiting pods"),
        pytest.param(
            ClusterEvent(Resource.POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE),
            POD_UPDATE,
            False,
            id="a general update does not match narrower ones",
        ),
        pytest.param(
            ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE),
            CLAIM_UPDATE,
            True,
            id="a general update of something else",
        ),
    ],
)
def test_event_matches_registrations(registered: ClusterEvent, event: QueueEvent, expected: bool) -> None:
    assert event.matches(registered) is expected


def test_labels_are_those_of_the_metrics() -> None:
    assert [event.label for event in (NODE_TAINT, ASSIGNED_POD_ADD, POD_UPDATE, CLAIM_UPDATE)] == [
        "NodeUpdateNodeTaint",
        "AssignedPodAdd",
        "UnschedulablePodUpdate",
        "PersistentVolumeClaimUpdate",
    ]
    assert QueueEvent(Resource.STORAGE_CLASS, Action.ADD).label == "storage.k8s.io/StorageClassAdd"
    assert FORCE_ACTIVATE.label == "ForceActivate"
    assert POD_ADDED == "UnschedulablePodAdd"


def test_wildcards_are_named_events() -> None:
    assert FORCE_ACTIVATE.is_wildcard
    assert not NODE_ADD.is_wildcard
