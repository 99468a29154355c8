"""QOSSort: sorts the queue by priority, then by quality-of-service class, then by time in the queue."""

from __future__ import annotations

from typing import Final

from bayplan.framework import Plugin, QueuedPod

#: The smaller, the earlier.
_ORDER: Final = {"Guaranteed": 0, "Burstable": 1, "BestEffort": 2}


class QOSSort(Plugin):
    name = "QOSSort"

    def sort_key(self, pod_info: QueuedPod) -> tuple[int, int, float]:
        pod = pod_info.pod
        return -pod.priority, _ORDER.get(pod.qos_class, len(_ORDER)), pod_info.timestamp
