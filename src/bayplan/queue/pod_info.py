"""QueuedPodInfo: a pod in the scheduling queue, with the results of its earlier attempts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.model import Pod


class QueuedPodInfo:
    """One per pod, from when it enters the queue until it is bound or deleted.

    QueueSort plugins get it and read `pod` and `timestamp`. It is mutable and moves between sub-queues, so there
    are no copies of it.
    """

    __slots__ = (
        "attempts",
        "backoff_expiration",
        "consecutive_errors_count",
        "cycle",
        "flush_timestamp",
        "gating_plugin",
        "initial_attempt_timestamp",
        "key",
        "message",
        "pending_plugins",
        "pod",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, pod: Pod, timestamp: float) -> None:
        #: The pod as the watch last showed it. To be refreshed before the info is given back after an attempt.
        self.pod = pod
        #: `namespace/name`
        self.key = pod.key
        #: When the pod was last added to the queue.
        self.timestamp = timestamp
        #: When it first passed PreEnqueue; None before. A pod's scheduling latency is measured from here.
        self.initial_attempt_timestamp: float | None = None
        self.attempts = 0
        #: The number of the scheduling cycle that tried it last; 0 before the first.
        self.cycle = 0
        #: Attempts that ended in a rejection; they determine the backoff.
        self.unschedulable_count = 0
        #: Consecutive attempts that ended in an error; if there are any, they determine the backoff instead.
        self.consecutive_errors_count = 0
        #: Plugins that rejected the pod in its last attempt, or that gate it.
        self.unschedulable_plugins: set[str] = set()
        #: Those of them that wait for something external (PENDING): once it happens, the pod skips the backoff.
        self.pending_plugins: set[str] = set()
        #: The PreEnqueue plugin that gates the pod; empty if none does.
        self.gating_plugin = ""
        #: When the backoff ends; None if not computed since the last attempt.
        self.backoff_expiration: float | None = None
        #: Whether the pod was last moved because it had been unschedulable for too long, and when.
        self.was_flushed = False
        self.flush_timestamp = 0.0
        #: Why the pod waits, for users.
        self.message = ""

    @property
    def is_gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> set[str]:
        """All plugins whose events may make the pod schedulable."""
        return self.unschedulable_plugins | self.pending_plugins

    def note_failure(
        self, unschedulable: Iterable[str] = (), pending: Iterable[str] = (), message: str = ""
    ) -> None:
        """An attempt failed: the plugins that rejected the pod, none if it ended in an error."""
        self.unschedulable_plugins = set(unschedulable)
        self.pending_plugins = set(pending)
        self.message = message

    def __repr__(self) -> str:
        return f"<QueuedPodInfo {self.key}: {self.attempts} attempts>"
