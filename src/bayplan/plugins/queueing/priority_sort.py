"""PrioritySort: sorts the queue by priority, then by time in the queue."""

from __future__ import annotations

from bayplan.framework import Plugin, QueuedPod


class PrioritySort(Plugin):
    name = "PrioritySort"

    def sort_key(self, pod_info: QueuedPod) -> tuple[int, float]:
        return -pod_info.pod.priority, pod_info.timestamp
