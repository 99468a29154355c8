"""The scheduling queue: which pod is tried next, and which pods wait for what.

Comes in: pods and what happens in the cluster. Goes out: the next pod. The queue does nothing by itself: whoever
owns the loop calls `pop` when it has time for a pod, and `flush` when `next_wakeup` says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bayplan.framework import ProfilePlugins
from bayplan.queue import events
from bayplan.queue.events import QueueEvent
from bayplan.queue.hints import QueueingHints, Strategy
from bayplan.queue.in_flight import InFlightPods
from bayplan.queue.nominator import PodNominator
from bayplan.queue.observer import NoObserver, PendingCounts, QueueObserver
from bayplan.queue.pending import PendingPod, describe
from bayplan.queue.places import Places
from bayplan.queue.pod_info import QueuedPodInfo

if TYPE_CHECKING:
    from bayplan.framework import Clock
    from bayplan.model import Pod

logger = logging.getLogger("bayplan.queue")

#: upstream DefaultPodMaxInUnschedulablePodsDuration: a missing hint costs a pod this long, not forever.
MAX_UNSCHEDULABLE_SECONDS: Final = 5 * 60.0
#: upstream Run: how often pods that were left unschedulable are looked for.
LEFTOVER_CHECK_SECONDS: Final = 30.0

#: Whether an event may concern a pod at all.
PreCheck: TypeAlias = "Callable[[QueuedPodInfo], bool]"


class QueueError(Exception):
    """A step that the pod's place does not allow: a bug in the caller."""


class SchedulingQueue:
    """Each pod is in one place at a time::

             add                       pop
        ──────────────▶ active ───────────────────▶ in flight ──────────▶ bound, deleted
             │           ▲  ▲ backed off     ▲       │    │      done
             │ gated     │  └───── backoff ──┘       │    │
             ▼           │           ▲ ▲  pop, when  │    │
        unschedulable ───┴───────────┘ │  active is  │    │
         (and gated)  event, activate, │  empty      │    │
             ▲        flush            └─────────────┘    │
             │                  broken, or missed an event│
             └────────────────────────────────────────────┘
                  rejected, and nothing has happened since

    PreEnqueue is asked on every way into active or backoff, the one between them aside: a pod that it refuses is
    gated, and stays among the unschedulable ones. Pods that wait for something outside (PENDING) skip the backoff.
    """

    def __init__(
        self,
        profiles: Mapping[str, ProfilePlugins],
        nominator: PodNominator,
        clock: Clock,
        *,
        initial_backoff_seconds: float = 1.0,
        max_backoff_seconds: float = 10.0,
        max_unschedulable_seconds: float = MAX_UNSCHEDULABLE_SECONDS,
        has_extenders: bool = False,
        observer: QueueObserver | None = None,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """*on_ready* is called whenever `pop` may have something that it did not have before."""
        self._clock = clock
        self._nominator = nominator
        self._observer: QueueObserver = observer if observer is not None else NoObserver()
        self._max_unschedulable_seconds = max_unschedulable_seconds
        self._next_leftover_check = clock.now() + LEFTOVER_CHECK_SECONDS
        self._has_extenders = has_extenders
        self._hints = QueueingHints(profiles, has_extenders=has_extenders)
        self._in_flight = InFlightPods()
        self._places = Places(
            profiles,
            clock,
            initial_backoff_seconds=initial_backoff_seconds,
            max_backoff_seconds=max_backoff_seconds,
            observer=self._observer,
            on_ready=on_ready,
        )
        #: Counts the pods popped.
        self.scheduling_cycle = 0

    # --- from the watch: pods that are not on a node ----------------------------------------------

    def add(self, pod: Pod) -> None:
        """A new pod that is for one of our profiles."""
        self._enter(pod, events.UNSCHEDULED_POD_ADD)

    def _enter(self, pod: Pod, event: QueueEvent) -> None:
        if self._places.move_to_active(QueuedPodInfo(pod, self._clock.now()), event.label):
            self._nominator.read(pod)

    def update(self, old: Pod, new: Pod, changes: Sequence[QueueEvent]) -> None:
        """A waiting pod changed, in the way that *changes* tell (`watch.changes.pod_changes`).

        Not to be called for a pod that is assumed on a node.
        """
        if new.uid in self._in_flight:
            # It comes back as the watch shows it then, if it comes back.
            for event in changes:
                self._in_flight.log(event, old, new)
            return
        info = self._places.get(new.key)
        if info is None:
            self._enter(new, events.UNSCHEDULED_POD_UPDATE)
            return
        info.pod = new
        self._nominator.update(old, new)
        if info.key in self._places.active:
            self._places.active.add(info)
        elif info.key in self._places.backoff:
            self._places.backoff.refresh(info)
        else:
            for event in changes:
                strategy = self._hints.strategy(info, event, old, new)
                if self._places.requeue(info, strategy, event.label):
                    return

    def is_nomination_old(self, pod: Pod) -> bool:
        """Whether the node that the pod's status promises was given back already."""
        return self._nominator.is_taken_back(pod)

    def delete(self, pod: Pod) -> None:
        """The pod is gone, or somebody else bound it. One in flight stays there until it is done."""
        self._nominator.forget(pod)
        places = self._places
        if places.active.remove(pod.key) is None and places.backoff.remove(pod.key) is None:
            info = places.unschedulable.remove(pod.key)
            if info is not None:
                self._count_rejectors(info, -1)

    # --- from the watch: everything else ----------------------------------------------------------

    def move_all_to_active_or_backoff(
        self, event: QueueEvent, old: Any = None, new: Any = None, pre_check: PreCheck | None = None
    ) -> None:
        """Something happened to an object: pods that it may help are tried again."""
        if event.is_wildcard:
            candidates = list(self._places.unschedulable)
        else:
            interested = self._hints.interested(event)
            if not interested:
                return
            # A pod that none of them rejected is not helped by the event.
            candidates = self._places.unschedulable.held_by(interested)
        if pre_check is not None:
            candidates = [info for info in candidates if pre_check(info)]
        self._move(candidates, event, old, new)

    def _move(self, candidates: Iterable[QueuedPodInfo], event: QueueEvent, old: Any, new: Any) -> None:
        for info in candidates:
            if info.is_gated and not event.is_wildcard and info.gating_plugin not in self._hints.interested(event):
                continue
            strategy = self._hints.strategy(info, event, old, new)
            if strategy is not Strategy.SKIP:
                self._places.unschedulable.remove(info.key)
                self._places.requeue(info, strategy, event.label)
        self._in_flight.log(event, old, new)

    # --- from the cycles --------------------------------------------------------------------------

    def pop(self) -> QueuedPodInfo | None:
        """The pod to try next, in flight from now on; None if there is none.

        Whoever pops calls either `done`, or `add_unschedulable`.
        """
        while (info := self._places.pop()) is not None:
            info.attempts += 1
            if self._in_flight.start(info):
                self.scheduling_cycle += 1
                info.cycle = self.scheduling_cycle
                self._count_rejectors(info, -1)
                return info
            logger.error("Pod is in flight already, so its second entry is dropped: pod=%s", info.key)
        return None

    @property
    def has_ready(self) -> bool:
        """Whether `pop` would give a pod."""
        return len(self._places.active) > 0 or self._places.backoff.n_poppable > 0

    def done(self, uid: str) -> None:
        """The pod will not come back: it is past Permit, or gone, or not to be scheduled after all."""
        self._in_flight.done(uid)

    def add_unschedulable(self, info: QueuedPodInfo) -> None:
        """An attempt failed. Before, note in *info* the pod as the watch shows it now, and who rejected it."""
        try:
            if self._places.get(info.key) is not None:
                raise QueueError(f"Pod {info.key} is already present in the queue")
            self._note_failed_attempt(info)
            self._places.requeue(info, self._strategy_after_flight(info), events.ATTEMPT_FAILED)
        finally:
            self._in_flight.done(info.pod.uid)

    def _note_failed_attempt(self, info: QueuedPodInfo) -> None:
        if info.rejectors:
            info.unschedulable_count += 1
            info.consecutive_errors_count = 0
        else:
            info.consecutive_errors_count += 1
        info.timestamp = self._clock.now()
        info.backoff_expiration = None
        info.was_flushed = False
        info.flush_timestamp = 0.0
        self._count_rejectors(info, 1)

    def _strategy_after_flight(self, info: QueuedPodInfo) -> Strategy:
        """What becomes of a pod that comes back, by what has happened since it was popped."""
        if not info.rejectors:
            return Strategy.AFTER_BACKOFF  # something broke, and no event would tell when it is mended
        if info.pod.uid not in self._in_flight:
            logger.error("Pod comes back that was not in flight: pod=%s", info.key)
            return Strategy.AFTER_BACKOFF
        strategy = Strategy.SKIP
        for event, old, new in self._in_flight.missed_by(info.pod.uid):
            answer = self._hints.strategy(info, event, old, new)
            if answer is Strategy.IMMEDIATELY or (answer is Strategy.AFTER_BACKOFF and not info.pending_plugins):
                return answer
            if answer is Strategy.AFTER_BACKOFF:
                strategy = answer
        return strategy

    def activate(self, pods: Iterable[Pod]) -> None:
        """Try these pods now, whatever their backoff; one in flight is queued again should it come back."""
        for pod in pods:
            if (info := self._places.unschedulable.get(pod.key)) is not None:
                self._places.move_to_active(info, events.FORCE_ACTIVATE.label)
            elif (info := self._places.backoff.remove(pod.key)) is not None:
                self._places.move_to_active(info, events.FORCE_ACTIVATE.label, is_checked=True)
            elif pod.uid in self._in_flight:
                self._in_flight.log(events.FORCE_ACTIVATE, None, pod)

    def use_plugins(self, profiles: Mapping[str, ProfilePlugins]) -> None:
        """The profiles have other plugins from now on, which may think otherwise of every pod that waits."""
        self._hints = QueueingHints(profiles, has_extenders=self._has_extenders)
        self._places.use_plugins(profiles)
        self._in_flight.log(events.PLUGINS_CHANGED, None, None)

    # --- from the clock ---------------------------------------------------------------------------

    def flush(self) -> None:
        """Do what is due: see `next_wakeup`."""
        self.flush_backoff_completed()
        now = self._clock.now()
        if now >= self._next_leftover_check:
            n_periods = (now - self._next_leftover_check) // LEFTOVER_CHECK_SECONDS + 1
            self._next_leftover_check += n_periods * LEFTOVER_CHECK_SECONDS
            self.flush_unschedulable_leftover()

    def flush_backoff_completed(self) -> None:
        """Pods that have backed off become active."""
        for info in self._places.backoff.pop_completed():
            self._places.move_to_active(info, events.BACKOFF_COMPLETE, is_checked=True)

    def flush_unschedulable_leftover(self) -> None:
        """Pods that nothing has helped for too long are tried again, in case a hint was wrong."""
        now = self._clock.now()
        late = [
            info
            for info in self._places.unschedulable
            if now - max(info.timestamp, info.flush_timestamp) > self._max_unschedulable_seconds
        ]
        for info in late:
            info.was_flushed = True
            info.flush_timestamp = now
        if late:
            self._move(late, events.UNSCHEDULABLE_TIMEOUT, None, None)

    def next_wakeup(self, now: float) -> float | None:
        """When `flush` has something to do, not before *now*; None if not until something else happens."""
        due = [self._next_leftover_check] if len(self._places.unschedulable) else []
        completion = self._places.backoff.next_completion()
        if completion is not None:
            due.append(completion)
        return max(now, min(due)) if due else None

    # --- for people and metrics -------------------------------------------------------------------

    def _count_rejectors(self, info: QueuedPodInfo, change: int) -> None:
        for plugin in info.rejectors:
            self._observer.rejector_counted(plugin, info.pod.spec.scheduler_name, change)

    def get(self, key: str) -> QueuedPodInfo | None:
        """What is known of a waiting pod (`namespace/name`)."""
        return self._places.get(key)

    def counts(self) -> PendingCounts:
        """For scheduler_pending_pods."""
        return self._places.counts()

    def in_flight_events(self) -> dict[str, int]:
        """What is kept for pods in flight, by label, the pods themselves included: scheduler_inflight_events."""
        return self._in_flight.counts()

    def pending_pods(self) -> list[PendingPod]:
        """Every pod: where it is and why."""
        places = self._places
        return list(describe(self._in_flight, places.active, places.backoff, places.unschedulable))

    def validate(self) -> None:
        """Raises QueueError, with all that is wrong, unless everything is as it should be."""
        problems = [*self._places.problems(), *self._in_flight.problems()]
        if problems:
            raise QueueError("; ".join(problems))
