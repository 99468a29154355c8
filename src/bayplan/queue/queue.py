"""The scheduling queue: which pod is tried next, and which pods wait for what.

In: pods and cluster events. Out: the next pod. The queue does nothing by itself: the owner of the loop
calls `pop` when it has time for a pod, and `flush` at the time that `next_wakeup` gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from bayplan.framework import ProfilePlugins, Status
from bayplan.framework.calls import wrapped
from bayplan.observe import klog
from bayplan.queue import cluster_events as events
from bayplan.queue.cluster_events import QueueEvent
from bayplan.queue.hints import QueueingHints, QueueingStrategy
from bayplan.queue.nominator import PodNominator
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.queue.sub_queues import (
    WINDOW_SECONDS,
    BackoffQueue,
    InFlightPods,
    PodHeap,
    PodOrder,
    UnschedulablePods,
    by_priority,
    order_of,
)
from bayplan.release import DEFAULT, ReleaseFacts

if TYPE_CHECKING:
    from bayplan.framework import Clock
    from bayplan.model import Pod

log = klog.get_logger("bayplan.queue", "queue.py")

#: upstream DefaultPodMaxInUnschedulablePodsDuration: a missing hint delays a pod this long, not forever.
MAX_UNSCHEDULABLE_SECONDS: Final = 5 * 60.0
#: upstream Run: how often the queue looks for pods that have been unschedulable for too long.
LEFTOVER_CHECK_SECONDS: Final = 30.0

#: Whether an event may concern a pod at all.
PreCheck: TypeAlias = "Callable[[QueuedPodInfo], bool]"


class QueueError(Exception):
    """A call that the state of the pod does not allow: a bug in the caller."""


class PendingCounts(NamedTuple):
    """How many pods are in each queue, by the labels of scheduler_pending_pods."""

    active: int
    backoff: int
    unschedulable: int
    gated: int


class QueuePlace(NamedTuple):
    """Where a pod is in the queue."""

    #: active, backoff, unschedulable, gated, inFlight.
    queue: str
    #: None for a pod in flight.
    info: QueuedPodInfo | None
    #: When the pod is tried again at the latest; None if it is tried next, or only after an event.
    next_try: float | None


class QueueObserver(Protocol):
    """Told what happens in the queue, for metrics."""

    def pod_queued(self, queue: str, event: str) -> None:
        """A pod entered `active`, `backoff` or `unschedulable`: scheduler_queue_incoming_pods_total."""

    def rejector_counted(self, plugin: str, profile: str, change: int) -> None:
        """A plugin rejects one pod more, or one less: scheduler_unschedulable_pods."""


class _NoObserver:
    def pod_queued(self, queue: str, event: str) -> None:
        pass

    def rejector_counted(self, plugin: str, profile: str, change: int) -> None:
        pass


class SchedulingQueue:
    """Each pod is in one sub-queue at a time::

             add                       pop
        ──────────────▶ active ───────────────────▶ in flight ──────────▶ bound, deleted
             │           ▲  ▲ backoff over   ▲       │    │      done
             │ gated     │  └───── backoff ──┘       │    │
             ▼           │           ▲ ▲  pop, when  │    │
        unschedulable ───┴───────────┘ │  active is  │    │
         (and gated)  event, activate, │  empty      │    │
             ▲        flush            └─────────────┘    │
             │                  error, or missed an event │
             └────────────────────────────────────────────┘
                  rejected, and no event since

    PreEnqueue runs whenever a pod enters active or backoff, except from backoff to active: a pod that it rejects
    is gated and stays unschedulable. Pods that wait for something external (PENDING) skip the backoff.
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
        facts: ReleaseFacts = DEFAULT.facts,
        observer: QueueObserver | None = None,
        on_ready: Callable[[], None] = lambda: None,
        on_failure: Callable[[Pod, Status], None] = lambda pod, status: None,
    ) -> None:
        """*on_ready* is called whenever a pod that `pop` may give was added, *on_failure* when a PreEnqueue plugin
        failed and the pod is therefore gated: unlike a gate that a plugin wants, somebody has to know of it."""
        self._profiles = profiles
        self._clock = clock
        self._nominator = nominator
        self._observer: QueueObserver = observer if observer is not None else _NoObserver()
        self._on_ready = on_ready
        self._on_failure = on_failure
        self._max_unschedulable_seconds = max_unschedulable_seconds
        self._next_leftover_check = clock.now() + LEFTOVER_CHECK_SECONDS
        self._has_extenders = has_extenders
        self._facts = facts
        self._hints = QueueingHints(profiles, has_extenders=has_extenders, facts=facts)
        order = _order(profiles)
        self._active = PodHeap(order)
        self._backoff = BackoffQueue(
            clock, order, initial_seconds=initial_backoff_seconds, max_seconds=max_backoff_seconds
        )
        self._unschedulable = UnschedulablePods()
        self._in_flight = InFlightPods()
        #: How many pods have been popped.
        self.scheduling_cycle = 0

    # --- from the watch: pods that are not on a node ----------------------------------------------

    def add(self, pod: Pod) -> None:
        """Add a new pod of one of our profiles."""
        self._add(pod, events.POD_ADDED)

    def _add(self, pod: Pod, label: str) -> None:
        if self._move_to_active(QueuedPodInfo(pod, self._clock.now()), label):
            self._nominator.read(pod)

    def update(self, old: Pod, new: Pod, changes: Sequence[QueueEvent]) -> None:
        """A waiting pod changed; *changes* are the events of that (`core.cluster_changes.pod_changes`).

        Not to be called for a pod that is assumed on a node.
        """
        if new.uid in self._in_flight.pods:
            # If it comes back, then as the watch shows it at that time.
            for event in changes:
                self._in_flight.log(event, old, new)
            return
        info = self.get(new.key)
        if info is None:
            self._add(new, events.POD_UPDATED)
            return
        info.pod = new
        self._nominator.update(old, new)
        if info.key in self._active.entries:
            self._active.add(info)
        elif info.key in self._backoff.pods:
            self._backoff.update(info)
        else:
            for event in changes:
                strategy = self._hints.strategy(info, event, old, new)
                if self._requeue(info, strategy, event.label):
                    return

    def is_nomination_withdrawn(self, pod: Pod) -> bool:
        """Whether the nominated node in the pod's status was withdrawn already."""
        return self._nominator.is_withdrawn(pod)

    def delete(self, pod: Pod) -> None:
        """The pod was deleted, or bound by someone else. If it is in flight, it stays so until `done`."""
        self._nominator.forget(pod)
        if self._active.remove(pod.key) is None and self._backoff.remove(pod.key) is None:
            info = self._unschedulable.remove(pod.key)
            if info is not None:
                self._count_rejectors(info, -1)

    # --- from the watch: everything else ----------------------------------------------------------

    def move_all_to_active_or_backoff(
        self, event: QueueEvent, old: Any = None, new: Any = None, pre_check: PreCheck | None = None
    ) -> None:
        """An event happened: retry the unschedulable pods that it may help."""
        if event.is_wildcard:
            candidates = list(self._unschedulable.pods.values())
        else:
            interested = self._hints.interested(event)
            if not interested:
                return
            # The event does not help a pod that none of these plugins rejected.
            candidates = self._unschedulable.rejected_by(interested)
        if pre_check is not None:
            candidates = [info for info in candidates if pre_check(info)]
        self._move(candidates, event, old, new)

    def _move(self, candidates: Iterable[QueuedPodInfo], event: QueueEvent, old: Any, new: Any) -> None:
        for info in candidates:
            if info.is_gated and not event.is_wildcard and info.gating_plugin not in self._hints.interested(event):
                continue
            strategy = self._hints.strategy(info, event, old, new)
            if strategy is not QueueingStrategy.SKIP:
                self._unschedulable.remove(info.key)
                self._requeue(info, strategy, event.label)
        self._in_flight.log(event, old, new)

    # --- from the cycles --------------------------------------------------------------------------

    def pop(self) -> QueuedPodInfo | None:
        """The pod to try next, which is in flight from now on; None if there is none.

        The first active pod, or else the first pod that backs off after a rejection. Every popped pod must be
        given to `done` or to `add_unschedulable`.
        """
        while self._active.entries or self._backoff.pods:
            info = self._active.pop()
            if info is None:
                info = self._backoff.pop()
                if info is None:
                    return None
                self._observer.pod_queued("active", events.POP_FROM_BACKOFF)
            info.attempts += 1
            if self._in_flight.start(info):
                self.scheduling_cycle += 1
                info.cycle = self.scheduling_cycle
                if info.unschedulable_plugins or info.pending_plugins:
                    self._count_rejectors(info, -1)
                return info
            log.error(None, "Pod is in flight already, so its second entry is dropped", pod=info.pod)
        return None

    @property
    def has_ready(self) -> bool:
        """Whether `pop` would give a pod."""
        return bool(self._active.entries) or self._backoff.n_poppable > 0

    def done(self, uid: str) -> None:
        """The pod will not come back: it has passed Permit, was deleted, or needs no scheduling."""
        self._in_flight.done(uid)

    def add_unschedulable(self, info: QueuedPodInfo) -> None:
        """An attempt failed. *info* must have the pod as the watch shows it now, and who rejected it."""
        try:
            if self.get(info.key) is not None:
                raise QueueError(f"Pod {info.key} is already present in the queue")
            self._note_failed_attempt(info)
            self._requeue(info, self._strategy_after_attempt(info), events.ATTEMPT_FAILED)
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

    def _strategy_after_attempt(self, info: QueuedPodInfo) -> QueueingStrategy:
        """Where a pod goes that comes back, by the events since it was popped."""
        if not info.rejectors:
            return QueueingStrategy.AFTER_BACKOFF  # no event shows that the cause of an error is gone
        if info.pod.uid not in self._in_flight.pods:
            log.error(None, "Pod was requeued although it was not in flight", pod=info.pod)
            return QueueingStrategy.AFTER_BACKOFF
        strategy = QueueingStrategy.SKIP
        for event, old, new in self._in_flight.missed_by(info.pod.uid):
            found = self._hints.strategy(info, event, old, new)
            if found is QueueingStrategy.IMMEDIATELY or (
                found is QueueingStrategy.AFTER_BACKOFF and not info.pending_plugins
            ):
                return found
            if found is QueueingStrategy.AFTER_BACKOFF:
                strategy = found
        return strategy

    def activate(self, pods: Iterable[Pod]) -> None:
        """Retry these pods now, regardless of their backoff. A pod in flight is retried if it comes back."""
        for pod in pods:
            if (info := self._unschedulable.pods.get(pod.key)) is not None:
                self._move_to_active(info, events.FORCE_ACTIVATE.label)
            elif (info := self._backoff.remove(pod.key)) is not None:
                self._move_to_active(info, events.FORCE_ACTIVATE.label, from_backoff=True)
            elif pod.uid in self._in_flight.pods:
                self._in_flight.log(events.FORCE_ACTIVATE, None, pod)

    def use_plugins(self, profiles: Mapping[str, ProfilePlugins]) -> None:
        """Replace the plugins of the profiles, and retry every waiting pod: the new ones may decide otherwise."""
        self._profiles = profiles
        self._hints = QueueingHints(profiles, has_extenders=self._has_extenders, facts=self._facts)
        order = _order(profiles)
        self._active.sort_by(order)
        self._backoff.sort_by(order)
        for info in (*self._unschedulable.pods.values(), *self._backoff):
            self._move_to_active(info, events.PLUGINS_CHANGED.label)
        self._in_flight.log(events.PLUGINS_CHANGED, None, None)

    # --- moves between the sub-queues -------------------------------------------------------------

    def _requeue(self, info: QueuedPodInfo, strategy: QueueingStrategy, label: str) -> bool:
        """Put the pod where *strategy* wants it; True if `pop` may give it from there."""
        if strategy is QueueingStrategy.SKIP:
            self._move_to_unschedulable(info, label)
            return False
        # A backoff may have ended while the pod was unschedulable.
        if strategy is QueueingStrategy.AFTER_BACKOFF and self._backoff.is_backing_off(info):
            return self._move_to_backoff(info, label)
        return self._move_to_active(info, label)

    def _move_to_active(self, info: QueuedPodInfo, label: str, *, from_backoff: bool = False) -> bool:
        """False if the pod is gated. A pod *from_backoff* has passed PreEnqueue already."""
        if info.key in self._backoff.pods:
            self._backoff.remove(info.key)
        if not from_backoff and not self._run_pre_enqueue(info):
            self._move_to_unschedulable(info, label)
            return False
        if info.initial_attempt_timestamp is None:
            info.initial_attempt_timestamp = self._clock.now()
        if info.key in self._unschedulable.pods:
            self._unschedulable.remove(info.key)
        self._active.add(info)
        self._observer.pod_queued("active", label)
        if log.verbosity >= 5:
            _log_move(info, "Active", self._facts.event_label(label))
        self._on_ready()
        return True

    def _move_to_backoff(self, info: QueuedPodInfo, label: str) -> bool:
        """False if the pod is gated."""
        if not self._run_pre_enqueue(info):
            self._move_to_unschedulable(info, label)
            return False
        self._unschedulable.remove(info.key)
        self._backoff.add(info)
        self._observer.pod_queued("backoff", label)
        if log.verbosity >= 5:
            _log_move(info, "Backoff", self._facts.event_label(label))
        self._on_ready()
        return True

    def _move_to_unschedulable(self, info: QueuedPodInfo, label: str) -> None:
        if info.gating_plugin:
            info.was_flushed = False
        if self._unschedulable.put(info):
            self._observer.pod_queued("unschedulable", label)
            if log.verbosity >= 5:
                _log_move(info, "Unschedulable", self._facts.event_label(label))

    def _run_pre_enqueue(self, info: QueuedPodInfo) -> bool:
        """Run the PreEnqueue plugins until one rejects the pod; False if the pod is gated now."""
        gating_plugin, info.gating_plugin = info.gating_plugin, ""
        profile = self._profiles.get(info.pod.spec.scheduler_name)
        if profile is None:
            return True
        # The plugin that has gated the pod runs first: most often it still does.
        rejection = profile.pre_enqueue(info.pod, first=gating_plugin)
        if rejection is None:
            return True
        self._gate(info, *rejection)
        return False

    def _gate(self, info: QueuedPodInfo, plugin_name: str, status: Status) -> None:
        if plugin_name not in info.rejectors:
            self._observer.rejector_counted(plugin_name, info.pod.spec.scheduler_name, 1)
        info.unschedulable_plugins.add(plugin_name)
        info.gating_plugin = plugin_name
        if status.is_rejection:
            info.message = status.message
            log.info("Pod is gated", v=10, pod=info.pod, plugin=plugin_name, reason=status.message)
            return
        log.error(status.message, "PreEnqueue plugin failed", pod=info.pod, plugin=plugin_name)
        failed = wrapped(f'running PreEnqueue plugin "{plugin_name}"', status, plugin_name)
        if failed.message != info.message:  # once, however often the plugin is called
            info.message = failed.message
            self._on_failure(info.pod, failed)

    # --- from the clock ---------------------------------------------------------------------------

    def flush(self) -> None:
        """Do what is due by the clock: see `next_wakeup`."""
        if self._backoff.pods:
            for info in self._backoff.pop_completed():
                self._move_to_active(info, events.BACKOFF_COMPLETE, from_backoff=True)
        now = self._clock.now()
        if now >= self._next_leftover_check:
            n_periods = (now - self._next_leftover_check) // LEFTOVER_CHECK_SECONDS + 1
            self._next_leftover_check += n_periods * LEFTOVER_CHECK_SECONDS
            self._flush_unschedulable_leftover(now)

    def _flush_unschedulable_leftover(self, now: float) -> None:
        """Retry pods that have been unschedulable for too long, in case a hint was wrong."""
        leftover = [
            info
            for info in self._unschedulable.pods.values()
            if now - max(info.timestamp, info.flush_timestamp) > self._max_unschedulable_seconds
        ]
        for info in leftover:
            info.was_flushed = True
            info.flush_timestamp = now
        if leftover:
            self._move(leftover, events.UNSCHEDULABLE_TIMEOUT, None, None)

    def next_wakeup(self, now: float) -> float | None:
        """When `flush` has something to do, not before *now*; None if no pod waits for the clock."""
        due = self._next_leftover_check if self._unschedulable.pods else None
        if self._backoff.pods:
            completion = self._backoff.next_completion()
            if completion is not None and (due is None or completion < due):
                due = completion
        return None if due is None else max(now, due)

    # --- for users and metrics --------------------------------------------------------------------

    def _count_rejectors(self, info: QueuedPodInfo, change: int) -> None:
        for plugin in info.rejectors:
            self._observer.rejector_counted(plugin, info.pod.spec.scheduler_name, change)

    def get(self, key: str) -> QueuedPodInfo | None:
        """A waiting pod by its key (`namespace/name`)."""
        return self._active.get(key) or self._backoff.pods.get(key) or self._unschedulable.pods.get(key)

    def place_of(self, pod: Pod) -> QueuePlace | None:
        """Where a pod is, for users; None if the queue does not have it."""
        info = self.get(pod.key)
        if info is None:
            return QueuePlace("inFlight", None, None) if pod.uid in self._in_flight.pods else None
        if info.key in self._active.entries:
            return QueuePlace("active", info, None)
        if info.key in self._backoff.pods:
            return QueuePlace("backoff", info, self._backoff.expiration(info) + WINDOW_SECONDS)
        if info.is_gated:
            return QueuePlace("gated", info, None)
        # At the latest: an event may come before.
        return QueuePlace("unschedulable", info, info.timestamp + self._max_unschedulable_seconds)

    def waiting(self) -> list[QueuedPodInfo]:
        """Every pod of the active, the backoff and the unschedulable queue."""
        return [*self._active, *self._backoff, *self._unschedulable.pods.values()]

    def counts(self) -> PendingCounts:
        """For scheduler_pending_pods."""
        n_gated = self._unschedulable.n_gated
        n_unschedulable = len(self._unschedulable.pods) - n_gated
        return PendingCounts(len(self._active.entries), len(self._backoff.pods), n_unschedulable, n_gated)

    def in_flight_events(self) -> dict[str, int]:
        """The logged events by label, and the pods in flight themselves: scheduler_inflight_events."""
        return self._in_flight.counts()

    def validate(self) -> None:
        """Raises QueueError with all broken invariants, if there are any."""
        sub_queues = (self._active, self._backoff, self._unschedulable, self._in_flight)
        problems = [problem for sub_queue in sub_queues for problem in sub_queue.problems()]
        poppable = [*self._active, *self._backoff]
        problems += [f"{info.key} can be popped and is gated" for info in poppable if info.is_gated]
        keys = [info.key for info in (*poppable, *self._unschedulable.pods.values())]
        problems += [f"{key} is in two sub-queues" for key in set(keys) if keys.count(key) > 1]
        if problems:
            raise QueueError("; ".join(problems))


def _order(profiles: Mapping[str, ProfilePlugins]) -> PodOrder:
    # All profiles have the same QueueSort plugin.
    if not profiles:
        return PodOrder("", by_priority, by_priority)  # nothing is ever queued
    return order_of(next(iter(profiles.values())).on("queueSort")[0].plugin)


def _log_move(info: QueuedPodInfo, queue: str, label: str) -> None:
    log.info("Pod moved to an internal scheduling queue", v=5, pod=info.pod, event=label, queue=queue)
