"""Attempts: one pod from the queue, through both cycles, to a bind or back to the queue.

The stations are brought together here and nowhere else; a live scheduler, a replay and a simulation differ in what
stands behind the recorder, the writer and the bind, and in who calls `attempt`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from bayplan.cycle.commit import Commitment, Committer, failed_unexpectedly
from bayplan.cycle.failure import Failure, FailureHandler
from bayplan.framework import CycleState
from bayplan.queue import ASSIGNED_POD_DELETE

if TYPE_CHECKING:
    from bayplan.cache import Cache
    from bayplan.cycle.binding import BindingCycle
    from bayplan.cycle.decision import Decision
    from bayplan.cycle.scheduling import SchedulingCycle
    from bayplan.model import Pod
    from bayplan.observe.record import Ring
    from bayplan.queue import QueuedPodInfo, SchedulingQueue

logger = logging.getLogger("bayplan.cycle")


class ProfileCycles(Protocol):
    """What an attempt needs of a profile."""

    @property
    def cycle(self) -> SchedulingCycle: ...

    @property
    def committer(self) -> Committer: ...

    @property
    def binding_cycle(self) -> BindingCycle: ...

    @property
    def failures(self) -> FailureHandler: ...

    def make_room(self, preemptor: Pod, decision: Decision) -> None:
        """Evict the victims from the node that was promised to *preemptor*."""


class Attempts:
    """Tries pods."""

    def __init__(
        self,
        profiles: Mapping[str, ProfileCycles],
        cache: Cache,
        queue: SchedulingQueue,
        *,
        start: Callable[[Coroutine[Any, Any, None]], object],
        records: Ring | None = None,
    ) -> None:
        self._profiles = profiles
        self._cache = cache
        self._queue = queue
        #: Runs a binding cycle in the background.
        self._start = start
        self._records = records

    def attempt(self, info: QueuedPodInfo) -> Decision | None:
        """One scheduling cycle; the binding cycle goes on by itself. None if the pod needs none any more."""
        pod = info.pod
        profile = self._profiles.get(pod.spec.scheduler_name)
        if profile is None or pod.is_terminating or self._cache.is_assumed(pod.uid):
            self._queue.done(pod.uid)
            return None
        try:
            return self._decide(info, profile)
        except Exception as error:
            # A bug of ours costs one attempt of one pod.
            logger.exception("Attempt broke: pod=%s", pod.key)
            if self._cache.is_assumed(pod.uid):
                self._cache.forget(pod.uid)
            profile.failures.handle(info, failed_unexpectedly(error))
            return None

    def _decide(self, info: QueuedPodInfo, profile: ProfileCycles) -> Decision:
        pod, state = info.pod, CycleState()
        decision = profile.cycle.schedule(pod, state)
        if self._records is not None:
            self._records.add(decision.record)
        if not decision.node_name:
            if decision.nominate:
                profile.make_room(pod, decision)
            profile.failures.handle(info, Failure.of_decision(decision))
            return decision
        committed = profile.committer.commit(pod, state, decision)
        if isinstance(committed, Failure):
            profile.failures.handle(info, committed)
        else:
            self._start(self._bind(info, profile, committed))
        return decision

    async def _bind(self, info: QueuedPodInfo, profile: ProfileCycles, commitment: Commitment) -> None:
        try:
            failure = await profile.binding_cycle.run(commitment)
        except Exception as error:
            logger.exception("Bind broke: pod=%s", commitment.pod.key)
            failure = failed_unexpectedly(error)
        if failure is None:
            self._cache.finish_binding(commitment.pod.uid)
            return
        profile.committer.withdraw(commitment)
        if failure.status.is_rejection:
            # The event would wake the pod itself, if it came before the pod is back in the queue.
            profile.failures.handle(info, failure)
            self._place_is_free(commitment.pod, but_not_for_itself=True)
        else:
            self._place_is_free(commitment.pod, but_not_for_itself=False)
            profile.failures.handle(info, failure)

    def _place_is_free(self, pod: Pod, *, but_not_for_itself: bool) -> None:
        """An assumed pod that does not take its place is as good as a deleted one."""
        check = (lambda other: other.uid != pod.uid) if but_not_for_itself else None
        self._queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None, check)
