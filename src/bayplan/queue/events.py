"""What happens in the cluster, as the queue hears of it, and what a queued pod owes its place to.

Comes in from `watch.changes` (an object changed) or from the scheduler itself. The labels are those of
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
    """One thing that happened; the counterpart of `framework.ClusterEvent`, which is waited for."""

    resource: str
    #: One action; the whole of UPDATE for an update that no narrower action describes.
    action: Action
    #: For events that have a name of their own.
    name: str = ""

    @property
    def label(self) -> str:
        return self.name or f"{self.resource}{action_label(self.action)}"

    @property
    def is_wildcard(self) -> bool:
        """Whether pods are to be tried again whatever rejected them."""
        return self.resource == Resource.ANY and self.action == Action.ALL

    def is_awaited_by(self, registered: ClusterEvent) -> bool:
        """Whether a plugin with this registration wants to hear of the event.

        A general UPDATE is not for those who registered narrower actions only.
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
UNSCHEDULED_POD_ADD: Final = QueueEvent(UNSCHEDULED_POD, Action.ADD)
UNSCHEDULED_POD_UPDATE: Final = QueueEvent(UNSCHEDULED_POD, Action.UPDATE)
UNSCHEDULABLE_TIMEOUT: Final = QueueEvent(Resource.ANY, Action.ALL, "UnschedulableTimeout")
PLUGINS_CHANGED: Final = QueueEvent(Resource.ANY, Action.ALL, "PluginsChanged")
FORCE_ACTIVATE: Final = QueueEvent(Resource.ANY, Action.ALL, "ForceActivate")

# Moves that no cluster event caused.
ATTEMPT_FAILED: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
