"""QueuedPodInfo: a pod that waits to be scheduled, and what its earlier attempts came to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.model import Pod


class QueuedPodInfo:
    """One per pod, from the day it enters the queue to the day it is bound or deleted.

    QueueSort plugins are given it and read `pod` and `timestamp`. It changes places, so nobody keeps a copy.
    """

    __slots__ = (
        "attempts",
        "backoff_expiration",
        "consecutive_errors_count",
        "cycle",
        "flush_timestamp",
        "gating_plugin",
        "initial_attempt_timestamp",
        "message",
        "pending_plugins",
        "pod",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, pod: Pod, timestamp: float) -> None:
        #: The pod as the watch last showed it; whoever hands the info back after an attempt refreshes it.
        self.pod = pod
        #: When the pod came into the queue, this time.
        self.timestamp = timestamp
        #: When it first passed PreEnqueue; None before. Where the time a pod waits is counted from.
        self.initial_attempt_timestamp: float | None = None
        self.attempts = 0
        #: The number of the scheduling cycle that tried it last; 0 before the first.
        self.cycle = 0
        #: Attempts that ended in a rejection; they make the backoff grow.
        self.unschedulable_count = 0
        #: Attempts in a row that broke; while there are any, they make the backoff instead.
        self.consecutive_errors_count = 0
        #: Plugins that rejected the pod in its last attempt or keep it out of the queue.
        self.unschedulable_plugins: set[str] = set()
        #: Those of them that wait for something outside: when it comes, there is no backoff.
        self.pending_plugins: set[str] = set()
        #: The PreEnqueue plugin that keeps the pod out; empty if none does.
        self.gating_plugin = ""
        #: When the backoff ends; None if not worked out since the last attempt.
        self.backoff_expiration: float | None = None
        #: Whether the pod's last move was that it had been left unschedulable for too long, and when that was.
        self.was_flushed = False
        self.flush_timestamp = 0.0
        #: Why the pod waits, for people.
        self.message = ""

    @property
    def key(self) -> str:
        return self.pod.key

    @property
    def is_gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> set[str]:
        """All plugins whose events may make the pod worth another attempt."""
        return self.unschedulable_plugins | self.pending_plugins

    def note_failure(
        self, unschedulable: Iterable[str] = (), pending: Iterable[str] = (), message: str = ""
    ) -> None:
        """An attempt failed: who rejected the pod. Nobody did where something broke."""
        self.unschedulable_plugins = set(unschedulable)
        self.pending_plugins = set(pending)
        self.message = message

    def __repr__(self) -> str:
        return f"<QueuedPodInfo {self.key}: {self.attempts} attempts>"
