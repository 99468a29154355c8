"""What waits in the queue and why, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bayplan.model import Pod
from bayplan.queue.backoff import LONG_AGO, WINDOW_SECONDS, BackoffQueue
from bayplan.queue.pod_info import QueuedPodInfo


class PendingPod(NamedTuple):
    """One pod and its place."""

    pod: Pod
    #: `in flight`, `active`, `backoff`, `unschedulable` or `gated`.
    place: str
    #: Since when it has been in the queue, this time.
    since: float
    attempts: int
    #: The plugins that rejected it or keep it out.
    rejectors: tuple[str, ...]
    #: What they said.
    message: str
    #: When it is tried again at the latest, in `backoff`.
    retry_at: float | None = None


def describe(
    in_flight: Iterable[QueuedPodInfo],
    active: Iterable[QueuedPodInfo],
    backoff: BackoffQueue,
    unschedulable: Iterable[QueuedPodInfo],
) -> Iterator[PendingPod]:
    """Every pod, the next to be tried first."""
    for info in in_flight:
        yield _pending(info, "in flight")
    for info in active:
        yield _pending(info, "active")
    for info in backoff:
        expiration = backoff.expiration(info)
        retry_at = None if expiration == LONG_AGO else expiration + WINDOW_SECONDS
        yield _pending(info, "backoff", retry_at)
    for info in unschedulable:
        yield _pending(info, "gated" if info.is_gated else "unschedulable")


def _pending(info: QueuedPodInfo, place: str, retry_at: float | None = None) -> PendingPod:
    return PendingPod(
        info.pod, place, info.timestamp, info.attempts, tuple(sorted(info.rejectors)), info.message, retry_at
    )
