"""Which pod matters more when some must go: by priority, then by how long it has been running."""

from collections.abc import Iterable
from datetime import datetime

from bayplan.model.pod import Pod
from bayplan.model.times import time_of


def pod_start_time(pod: Pod, now: datetime) -> datetime:
    """When the pod started; a pod that has not started yet counts as starting now."""
    return time_of(pod.status.start_time) or now


def more_important_pod(first: Pod, second: Pod, now: datetime) -> bool:
    """Whether the first is more important: higher priority, or the same and started earlier."""
    if first.priority != second.priority:
        return first.priority > second.priority
    return pod_start_time(first, now) < pod_start_time(second, now)


def importance_key(pod: Pod, now: datetime) -> tuple[int, datetime]:
    """A sort key: the most important pod comes first. Ties keep the order they are given in."""
    return -pod.priority, pod_start_time(pod, now)


def earliest_start_time(victims: Iterable[Pod], now: datetime) -> datetime | None:
    """The earliest start among the victims of the highest priority; None without victims."""
    priority: int | None = None
    earliest: datetime | None = None
    for pod in victims:
        start = pod_start_time(pod, now)
        if priority is None or earliest is None or pod.priority > priority:
            priority, earliest = pod.priority, start
        elif pod.priority == priority and start < earliest:
            earliest = start
    return earliest
