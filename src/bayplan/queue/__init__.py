"""The queue: pods that wait to be scheduled, and the nodes they were promised. Pure; the clock is injected."""

from bayplan.framework.extenders import EXTENDER
from bayplan.queue.events import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD,
    QueueEvent,
)
from bayplan.queue.nominator import PodNominator
from bayplan.queue.observer import PendingCounts, QueueObserver
from bayplan.queue.pending import PendingPod
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.queue.queue import QueueError, SchedulingQueue

__all__ = [
    "ASSIGNED_POD",
    "ASSIGNED_POD_ADD",
    "ASSIGNED_POD_DELETE",
    "EXTENDER",
    "UNSCHEDULED_POD",
    "PendingCounts",
    "PendingPod",
    "PodNominator",
    "QueueError",
    "QueueEvent",
    "QueueObserver",
    "QueuedPodInfo",
    "SchedulingQueue",
]
