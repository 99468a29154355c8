"""Cluster events as the queue gets them, and the labels of the moves that they cause.

They come from `core.cluster_changes` (an object changed) or from the scheduler itself. The labels are those of
kube-scheduler's `event` metric label.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from bayplan.framework import Action, ClusterEvent, Resource

#: Pods that are on a node and pods that are not. Plugins register for `Pod`, which stands for both.
ASSIGNED_POD: Final = "AssignedPod"
UNSCHEDULED_POD: Final = "UnschedulablePod"


class QueueEvent(NamedTuple):
    """An event that happened; `framework.ClusterEvent` is one that a plugin registers for."""

    resource: str
    #: One action; the whole of UPDATE for an update that no narrower action describes.
    action: Action
    #: Replaces the label made of resource and action.
    name: str = ""

    @property
    def label(self) -> str:
        return self.name or f"{self.resource}{action_label(self.action)}"

    @property
    def is_wildcard(self) -> bool:
        """Whether pods are retried regardless of which plugins rejected them."""
        return self.resource == Resource.ANY and self.action == Action.ALL

    def matches(self, registered: ClusterEvent) -> bool:
        """Whether the event is one of those that a plugin registered for.

        A general UPDATE does not match a registration of narrower actions only.
        """
        resource, action = registered.resource, int(registered.action)
        if resource == Resource.ANY and action == Action.ALL:
            return True
        if not action & self.action or self.action > action:
            return False
        if resource == Resource.POD:
            return self.resource in (Resource.POD, ASSIGNED_POD, UNSCHEDULED_POD)
        return resource in (Resource.ANY, self.resource)


@cache
def action_label(action: Action) -> str:
    """`UpdateNodeTaint` for UPDATE_NODE_TAINT."""
    return "".join(word.capitalize() for word in (action.name or "").split("_"))


ASSIGNED_POD_ADD: Final = QueueEvent(ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_DELETE: Final = QueueEvent(ASSIGNED_POD, Action.DELETE)
UNSCHEDULABLE_TIMEOUT: Final = QueueEvent(Resource.ANY, Action.ALL, "UnschedulableTimeout")
PLUGINS_CHANGED: Final = QueueEvent(Resource.ANY, Action.ALL, "PluginsChanged")
FORCE_ACTIVATE: Final = QueueEvent(Resource.ANY, Action.ALL, "ForceActivate")

# Labels of the other moves.
POD_ADDED: Final = QueueEvent(UNSCHEDULED_POD, Action.ADD).label
POD_UPDATED: Final = QueueEvent(UNSCHEDULED_POD, Action.UPDATE).label
ATTEMPT_FAILED: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
