"""QueuedPod: what a QueueSort plugin may read of a pod in the scheduling queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bayplan.model import Pod


class QueuedPod(Protocol):
    """Implemented by `queue.QueuedPodInfo`."""

    @property
    def pod(self) -> Pod: ...

    @property
    def timestamp(self) -> float:
        """When the pod last entered the queue."""

    @property
    def initial_attempt_timestamp(self) -> float | None:
        """When the pod first passed PreEnqueue; None before."""
