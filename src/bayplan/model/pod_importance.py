"""The importance of pods when some must be evicted: by priority, then by how long they have been running."""

from collections.abc import Iterable
from datetime import datetime

from bayplan.model.pod import Pod
from bayplan.model.times import time_of


def pod_start_time(pod: Pod, now: datetime) -> datetime:
    """When the pod started; a pod that has not started yet counts as starting now."""
    return time_of(pod.status.start_time) or now


def importance_key(pod: Pod, now: datetime) -> tuple[int, datetime]:
    """A sort key: higher priority first, then the earlier start. Less is more important."""
    return -pod.priority, pod_start_time(pod, now)


def sort_by_importance(pods: list[Pod], now: datetime, *, keeps_first_unstarted: bool = False) -> None:
    """Sort pods of a node, the most important first.

    Of equally important pods that have not started yet, kube-scheduler has the one first that came to the node
    last: it reads the clock for each, so any of them started before the one it is compared with. A newer one reads
    the clock once for each pod, in their order (*keeps_first_unstarted*).
    """
    last_first = not keeps_first_unstarted
    numbers = {pod.uid: -i if last_first and pod.status.start_time is None else i for i, pod in enumerate(pods)}
    pods.sort(key=lambda pod: (*importance_key(pod, now), numbers[pod.uid]))


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
