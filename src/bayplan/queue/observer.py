"""Who wants to know what goes on in the queue: metrics hang on this."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class QueueObserver(Protocol):
    def pod_queued(self, queue: str, event: str) -> None:
        """A pod came into a queue (`active`, `backoff`, `unschedulable`): scheduler_queue_incoming_pods_total."""

    def rejector_counted(self, plugin: str, profile: str, change: int) -> None:
        """A plugin holds one pod more, or less: scheduler_unschedulable_pods."""


class NoObserver:
    """Implements `QueueObserver` for nobody."""

    def pod_queued(self, queue: str, event: str) -> None:
        pass

    def rejector_counted(self, plugin: str, profile: str, change: int) -> None:
        pass


class PendingCounts(NamedTuple):
    """How many pods are where, by the words of scheduler_pending_pods."""

    active: int
    backoff: int
    unschedulable: int
    gated: int
