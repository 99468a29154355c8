"""PrioritySort: the queue's order. Higher priority first, then whoever has waited longer."""

from __future__ import annotations

from typing import Protocol

from bayplan.framework import Plugin
from bayplan.model import Pod


class _Queued(Protocol):
    """What the queue knows of a pod that waits."""

    @property
    def pod(self) -> Pod: ...

    @property
    def timestamp(self) -> float:
        """When the pod came into the queue, this time."""


class PrioritySort(Plugin):
    name = "PrioritySort"

    def sort_key(self, pod_info: _Queued) -> tuple[int, float]:
        return -pod_info.pod.priority, pod_info.timestamp
