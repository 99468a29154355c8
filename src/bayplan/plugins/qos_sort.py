"""QOSSort: the queue's order. Higher priority first, then better quality of service, then who waited longer."""

from __future__ import annotations

from typing import Final, Protocol

from bayplan.framework import Plugin
from bayplan.model import Pod

#: The smaller, the earlier.
_ORDER: Final = {"Guaranteed": 0, "Burstable": 1, "BestEffort": 2}


class _Queued(Protocol):
    """What the queue knows of a pod that waits."""

    @property
    def pod(self) -> Pod: ...

    @property
    def timestamp(self) -> float:
        """When the pod came into the queue, this time."""


class QOSSort(Plugin):
    name = "QOSSort"

    def sort_key(self, pod_info: _Queued) -> tuple[int, int, float]:
        pod = pod_info.pod
        return -pod.priority, _ORDER.get(pod.qos_class, len(_ORDER)), pod_info.timestamp
