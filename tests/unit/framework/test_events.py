"""ClusterEvent: which changes match a registered event."""

from __future__ import annotations

import pytest

from bayplan.framework import Action, ClusterEvent, Resource


@pytest.mark.parametrize(
    ("event", "resource", "action", "matches"),
    [
        (ClusterEvent(Resource.NODE, Action.ADD), Resource.NODE, Action.ADD, True),
        (ClusterEvent(Resource.NODE, Action.ADD), Resource.NODE, Action.DELETE, False),
        (ClusterEvent(Resource.NODE, Action.ADD), Resource.POD, Action.ADD, False),
        (ClusterEvent(Resource.ANY, Action.ALL), Resource.POD, Action.DELETE, True),
        (ClusterEvent(Resource.NODE, Action.UPDATE), Resource.NODE, Action.UPDATE_NODE_TAINT, True),
        (ClusterEvent("foos.v1.example.com", Action.ALL), "foos.v1.example.com", Action.ADD, True),
    ],
    ids=["the same", "other action", "other kind", "anything", "any update", "custom resource"],
)
def test_event_matches(event: ClusterEvent, resource: Resource | str, action: Action, matches: bool) -> None:
    """An event is registered for one or several actions on a kind of object, or on any kind."""
    assert event.matches(resource, action) is matches


def test_update_is_every_update() -> None:
    """UPDATE and ALL contain the actions that name what changed."""
    updates = [action for action in Action if action not in (Action.ADD, Action.DELETE)]
    assert all(action in Action.UPDATE for action in updates)
    assert Action.UPDATE | Action.ADD | Action.DELETE == Action.ALL
    assert Action.ADD not in Action.UPDATE
