"""Attempts: one pod from the queue, through both cycles, to a bind or back to the queue.

The stations are brought together here and nowhere else; a live scheduler, a replay and a simulation differ in what
stands behind the recorder, the writer and the bind, and in who calls `attempt`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from bayplan.cycle.commit import Commitment, Committer, failed_unexpectedly
from bayplan.cycle.failure import Failure, FailureHandler
from bayplan.cycle.stillness import Stillness
from bayplan.framework import CycleState
from bayplan.observe import klog
from bayplan.queue import ASSIGNED_POD_DELETE

if TYPE_CHECKING:
    from bayplan.cache import Cache
    from bayplan.cycle.binding import BindingCycle
    from bayplan.cycle.decision import Decision
    from bayplan.cycle.scheduling import SchedulingCycle
    from bayplan.model import Pod
    from bayplan.observe.record import Ring
    from bayplan.queue import QueuedPodInfo, SchedulingQueue

log = klog.get_logger("bayplan.cycle")


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


class AttemptObserver(Protocol):
    """Told how attempts go: metrics hang on this."""

    def started(self, profile: str) -> None: ...

    def decided(self, profile: str, state: CycleState, decision: Decision) -> None: ...

    def failed(self, profile: str, *, is_rejection: bool, seconds: float) -> None:
        """The pod goes back to the queue, *seconds* after its attempt began."""

    def bound(self, profile: str, info: QueuedPodInfo, seconds: float) -> None: ...


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
        observer: AttemptObserver | None = None,
    ) -> None:
        self._profiles = profiles
        self._cache = cache
        self._queue = queue
        #: Runs a binding cycle in the background.
        self._start = start
        self._records = records
        self._observer = observer
        #: While a decision waits for extenders.
        self.stillness = Stillness()
        #: Binding cycles under way.
        self.n_binding = 0

    def attempt(self, info: QueuedPodInfo) -> Decision | None:
        """One scheduling cycle; the binding cycle goes on by itself. None if the pod needs none any more."""
        profile = self._profile_for(info.pod)
        if profile is None:
            return None
        start, state = perf_counter(), CycleState()
        try:
            return self._settle(info, profile, state, profile.cycle.schedule(info.pod, state), start)
        except Exception as error:
            self._broke(info, profile, error, start)
            return None

    async def attempt_awaiting(self, info: QueuedPodInfo) -> Decision | None:
        """The same with extenders, whose answers have to be waited for. Meanwhile the cluster stands still."""
        profile = self._profile_for(info.pod)
        if profile is None:
            return None
        start, state = perf_counter(), CycleState()
        try:
            with self.stillness.kept():
                decision = await profile.cycle.schedule_awaiting(info.pod, state)
                return self._settle(info, profile, state, decision, start)
        except Exception as error:
            self._broke(info, profile, error, start)
            return None

    def _profile_for(self, pod: Pod) -> ProfileCycles | None:
        """The profile to try *pod* with; None if there is nothing to try."""
        log.info("About to try and schedule pod", v=4, pod=pod)
        profile = self._profiles.get(pod.spec.scheduler_name)
        if profile is None or pod.is_terminating or self._cache.is_assumed(pod.uid):
            self._queue.done(pod.uid)
            return None
        log.info("Attempting to schedule pod", v=3, pod=pod)
        if self._observer is not None:
            self._observer.started(pod.spec.scheduler_name)
        return profile

    def _broke(self, info: QueuedPodInfo, profile: ProfileCycles, error: Exception, start: float) -> None:
        """A bug of ours costs one attempt of one pod."""
        pod = info.pod
        log.error(error, "Attempt broke", trace=error, pod=pod)
        if self._cache.is_assumed(pod.uid):
            self._cache.forget(pod.uid)
        self._fail(info, profile, failed_unexpectedly(error), start)

    def _settle(
        self, info: QueuedPodInfo, profile: ProfileCycles, state: CycleState, decision: Decision, start: float
    ) -> Decision:
        """What follows from a decision."""
        pod = info.pod
        if self._observer is not None:
            self._observer.decided(pod.spec.scheduler_name, state, decision)
        if self._records is not None:
            decision.record.message = "" if decision.node_name else decision.message
            self._records.add(decision.record)
        if not decision.node_name:
            if decision.nominate:
                profile.make_room(pod, decision)
            self._fail(info, profile, Failure.of_decision(decision), start)
            return decision
        committed = profile.committer.commit(pod, state, decision)
        if isinstance(committed, Failure):
            decision.record.message = committed.message
            self._fail(info, profile, committed, start)
        else:
            self._start(self._bind(info, profile, committed, start))
        return decision

    def _fail(self, info: QueuedPodInfo, profile: ProfileCycles, failure: Failure, start: float) -> None:
        if self._observer is not None:
            name, seconds = info.pod.spec.scheduler_name, perf_counter() - start
            self._observer.failed(name, is_rejection=failure.status.is_rejection, seconds=seconds)
        profile.failures.handle(info, failure)

    async def _bind(
        self, info: QueuedPodInfo, profile: ProfileCycles, commitment: Commitment, start: float
    ) -> None:
        self.n_binding += 1
        try:
            failure = await profile.binding_cycle.run(commitment)
        except Exception as error:
            log.error(error, "Bind broke", trace=error, pod=commitment.pod)
            failure = failed_unexpectedly(error)
        finally:
            self.n_binding -= 1
        if self.stillness.is_kept:
            await self.stillness.over()
        if failure is None:
            self._cache.finish_binding(commitment.pod.uid)
            if self._observer is not None:
                self._observer.bound(info.pod.spec.scheduler_name, info, perf_counter() - start)
            return
        commitment.record.message = failure.message
        profile.committer.withdraw(commitment)
        # The event would wake the pod itself, if it came before the pod is back in the queue.
        self._fail(info, profile, failure, start)
        self._place_is_free(profile, info, commitment)

    def _place_is_free(self, profile: ProfileCycles, holder: QueuedPodInfo, commitment: Commitment) -> None:
        """An assumed pod that does not take its place is as good as a deleted one."""
        self._queue.move_all_to_active_or_backoff(
            ASSIGNED_POD_DELETE,
            commitment.pod,
            None,
            lambda other: self._is_news(profile, holder, commitment, other),
        )

    def _is_news(
        self, profile: ProfileCycles, holder: QueuedPodInfo, commitment: Commitment, other: QueuedPodInfo
    ) -> bool:
        """Whether the place that *holder* gave back may help *other*: not if it was tried when the place was free,
        and promised to nobody, nor if it waits together with *holder*, unless that is gone for good. Else groups
        that do not fit would wake themselves and each other for ever, and nobody else would get a chance."""
        if other.cycle <= holder.cycle and not commitment.was_promised:
            return False
        is_gone = self._queue.get(holder.key) is None
        return is_gone or not profile.committer.are_waiting_together(holder.pod, other.pod)
