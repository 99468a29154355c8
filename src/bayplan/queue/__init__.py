"""The queue: pods that wait to be scheduled, and the nodes they are nominated to. Pure; the clock is injected."""

from bayplan.queue.cluster_events import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD,
    QueueEvent,
)
from bayplan.queue.nominator import PodNominator
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.queue.queue import PendingCounts, QueueError, QueueObserver, SchedulingQueue

__all__ = [
    "ASSIGNED_POD",
    "ASSIGNED_POD_ADD",
    "ASSIGNED_POD_DELETE",
    "UNSCHEDULED_POD",
    "PendingCounts",
    "PodNominator",
    "QueueError",
    "QueueEvent",
    "QueueObserver",
    "QueuedPodInfo",
    "SchedulingQueue",
]
