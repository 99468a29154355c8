"""Observers: turn what happens in the scheduler into metrics.

The other packages know protocols only (`framework.Observer`, `queue.QueueObserver`,
`core.parts.AttemptObserver`), which are implemented here without importing them: a scheduler without metrics is
one without observers. A pod costs a few additions; gauges are set at a scrape where possible.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from bayplan.observe.instruments import Distribution, Number
from bayplan.observe.metrics import SchedulerFamilies
from bayplan.release import DEFAULT, Release

#: upstream pluginMetricsSamplePercent: the share of the cycles in which plugins are timed one by one.
PLUGIN_SAMPLE_SHARE: Final = 0.1
#: upstream getAttemptsLabel: from here on there is one label for all.
MAX_ATTEMPTS_LABEL: Final = 15
PRIORITIZING_EXTENDER: Final = "prioritizing_extender"
#: Durations are added to their histograms at a scrape, or when there are more than this: on the way of a pod an
#: entry in a list is all that they cost.
MAX_BUFFERED: Final = 4096
#: Work for which kube-scheduler starts goroutines, and which the scheduling cycle does itself here.
IN_THE_CYCLE: Final = ("Filter", "Score", "InterPodAffinity", "DefaultPreemption")

#: The events with which a scheduling entity enters a queue; after an attempt, or a change of the cluster, it stays
#: the same entity.
ENTITY_EVENTS: Final = frozenset({"UnscheduledPodAdd", "ForceActivate", "BackoffComplete"})
#: Where pods wait for their group: empty, since pods are scheduled one by one.
POD_GROUP_QUEUES: Final = ("incomplete", "pending")


class Observable(Protocol):
    """The framework's plugin caller."""

    #: Gets the time of every call; None for none.
    observer: Any


class Named(Protocol):
    """A plugin on an extension point, of which only the name is read."""

    @property
    def name(self) -> str: ...


class AttemptedPod(Protocol):
    """The queue's QueuedPodInfo, as far as it is read here."""

    attempts: int
    initial_attempt_timestamp: float | None
    was_flushed: bool


class ProfileObserver:
    """Implements `framework.Observer` for one profile."""

    def __init__(self, families: SchedulerFamilies, profile: str) -> None:
        self._families = families
        self._profile = profile
        #: Measured, but not yet in a histogram: (point, code's label, seconds).
        self._points: list[tuple[str, str, float]] = []
        #: The same for plugins: (point, plugin, code's label, seconds).
        self._plugins: list[tuple[str, str, str, float]] = []

    def point_done(self, point: str, code: Any, seconds: float) -> None:
        self._points.append((point, code.label, seconds))

    def plugin_called(self, point: str, plugin: str, code: Any, seconds: float) -> None:
        self._plugins.append((point, plugin, code.label, seconds))

    def filter_done(self, label: str, seconds: float) -> None:
        self._points.append(("Filter", label, seconds))

    @property
    def is_full(self) -> bool:
        return len(self._points) > MAX_BUFFERED or len(self._plugins) > MAX_BUFFERED

    def flush(self) -> None:
        """Add what was measured to the histograms."""
        durations = self._families.extension_point_duration
        for point, label, seconds in self._points:
            durations.labels(point, label, self._profile).observe(seconds)
        durations = self._families.plugin_execution_duration
        for point, plugin, label, seconds in self._plugins:
            durations.labels(plugin, point, label).observe(seconds)
        self._points.clear()
        self._plugins.clear()


class ProfileMetrics:
    """The metrics of the attempts of one profile."""

    def __init__(
        self,
        families: SchedulerFamilies,
        profile: str,
        on: Callable[[str], Iterable[Named]],
        observer: ProfileObserver,
    ) -> None:
        """*on* gives the plugins on an extension point."""
        self._observer = observer
        #: Measured, but not yet in the histogram.
        self._decision_seconds: list[float] = []
        self._pre_filter = self._counters(families, profile, "PreFilter", on("preFilter"))
        self._filter = self._counters(families, profile, "Filter", on("filter"))
        self._pre_score = self._counters(families, profile, "PreScore", on("preScore"))
        self._score = dict(self._counters(families, profile, "Score", on("score")))
        self._preempts = any(plugin.name == "DefaultPreemption" for plugin in on("postFilter"))
        self._preemption_attempts = families.preemption_attempts_total.labels()
        self._victims = families.preemption_victims.labels()
        self._algorithm = families.scheduling_algorithm_duration.labels()
        self._results: dict[str, tuple[Number, Distribution]] = {}
        self._families, self._profile = families, profile

    @staticmethod
    def _counters(
        families: SchedulerFamilies, profile: str, point: str, plugins: Iterable[Named]
    ) -> Sequence[tuple[str, Number]]:
        total = families.plugin_evaluation_total
        return [(plugin.name, total.labels(plugin.name, point, profile)) for plugin in plugins]

    def decided(self, state: Any, decision: Any) -> None:
        record = decision.record
        self._decision_seconds.append(record.seconds)
        for step, seconds in record.steps:
            if step == "Filter":
                # Filter has no status of its own: if no node fits, that is the pod's status, and Filter succeeded.
                status = decision.status
                succeeded = record.filter is not None or status.is_success or status.is_rejection
                self._observer.filter_done("Success" if succeeded else "Error", seconds)
            elif step == "PostFilter" and self._preempts:
                self._preemption_attempts.value += 1
        if decision.victims:
            self._victims.observe(len(decision.victims))
        self._count_evaluations(state, record.filter, decision.scores)

    def _count_evaluations(self, state: Any, outcome: Any, scores: Any) -> None:
        """Count how often each plugin ran: PreFilter and PreScore once, Filter and Score once per node."""
        skipped = state.skip_filter
        for name, number in self._pre_filter:
            if name not in skipped:
                number.value += 1
        if outcome is not None:
            # A Filter plugin runs for the nodes that no plugin before it has rejected.
            n_left = len(outcome.nodes)
            n_rejected: dict[str, int] = {}
            for entry in outcome.decided:
                n_rejected[entry.plugin] = int(np.count_nonzero(entry.where))
            for name, number in self._filter:
                if name not in skipped:
                    number.value += n_left
                    n_left -= n_rejected.get(name, 0)
        if scores is not None:
            for name, number in self._pre_score:
                if name not in state.skip_score:
                    number.value += 1
            n_nodes = len(scores.nodes)
            for name in scores.by_plugin:
                self._score[name].value += n_nodes

    def ended(self, result: str, seconds: float) -> None:
        counters = self._results.get(result)
        if counters is None:
            counters = self._results[result] = (
                self._families.schedule_attempts_total.labels(result, self._profile),
                self._families.scheduling_attempt_duration.labels(result, self._profile),
            )
        counters[0].value += 1
        counters[1].observe(seconds)
        if self._observer.is_full:
            self.flush()

    def flush(self) -> None:
        """Add what was measured to the histograms."""
        for seconds in self._decision_seconds:
            self._algorithm.observe(seconds)
        self._decision_seconds.clear()
        self._observer.flush()


class SchedulerMetrics:
    """Implements `queue.QueueObserver` and `core.parts.AttemptObserver`; creates the observers of profiles."""

    def __init__(
        self,
        now: Callable[[], float],
        rng: Callable[[], float] = random.random,
        release: Release = DEFAULT,
    ) -> None:
        """*now* is the scheduler's clock, which the timestamps of queued pods are from."""
        self.families = SchedulerFamilies(release)
        self._event_label = release.facts.event_label
        self._pod_group_queues = POD_GROUP_QUEUES if release.facts.counts_entities else ()
        self._now = now
        self._rng = rng
        self._observers: dict[str, ProfileObserver] = {}
        self._profiles: dict[str, ProfileMetrics] = {}
        self._callers: dict[str, Observable] = {}
        self._queued: dict[tuple[str, str], tuple[Number, ...]] = {}
        self._events: dict[str, Distribution] = {}
        self._attempts = self.families.pod_scheduling_attempts.labels()
        self._after_flush = self.families.pod_scheduled_after_flush_total.labels()
        for operation in (*IN_THE_CYCLE, "binding"):
            self.families.goroutines.labels(operation)

    # --- profiles ---------------------------------------------------------------------------------

    def observer(self, profile: str) -> ProfileObserver:
        """For the plugins of *profile*."""
        return self._observers.setdefault(profile, ProfileObserver(self.families, profile))

    def add_profile(self, profile: str, on: Callable[[str], Iterable[Named]], caller: Observable) -> None:
        """*on* gives the profile's plugins on an extension point; *caller* calls them."""
        self._profiles[profile] = ProfileMetrics(self.families, profile, on, self.observer(profile))
        self._callers[profile] = caller

    # --- attempts ---------------------------------------------------------------------------------

    def started(self, profile: str) -> None:
        sampled = self._rng() < PLUGIN_SAMPLE_SHARE
        self._callers[profile].observer = self._observers[profile] if sampled else None

    def decided(self, profile: str, state: Any, decision: Any) -> None:
        self._profiles[profile].decided(state, decision)

    def failed(self, profile: str, *, is_rejection: bool, seconds: float) -> None:
        self._profiles[profile].ended("unschedulable" if is_rejection else "error", seconds)

    def bound(self, profile: str, info: AttemptedPod, seconds: float) -> None:
        self._profiles[profile].ended("scheduled", seconds)
        self._attempts.observe(info.attempts)
        if info.initial_attempt_timestamp is not None:
            n_attempts = info.attempts
            label = str(n_attempts) if n_attempts < MAX_ATTEMPTS_LABEL else f"{MAX_ATTEMPTS_LABEL}+"
            waited = self._now() - info.initial_attempt_timestamp
            self.families.pod_scheduling_sli_duration.labels(label).observe(waited)
        if info.was_flushed:
            self._after_flush.value += 1

    def stalled(self, plugin: str, point: str) -> None:
        """*plugin* does not return; both are empty if it is not known what holds up the scheduler."""
        self.families.plugin_stalls_total.labels(plugin, point).inc()

    def waited_on_permit(self, code: Any, seconds: float) -> None:
        self.families.permit_wait_duration.labels(code.label).observe(seconds)

    def preempted(self, seconds: float, *, succeeded: bool) -> None:
        result = "success" if succeeded else "error"
        self.families.preemption_goroutines_duration.labels(result).observe(seconds)
        self.families.preemption_goroutines_execution_total.labels(result).inc()

    # --- extenders --------------------------------------------------------------------------------

    def extender_called(self, extender: str, *, prioritizes: bool) -> None:
        if prioritizes:
            self.families.goroutines.labels(PRIORITIZING_EXTENDER).inc()

    def extender_responded(
        self, extender: str, verb: str, seconds: float, *, failed: bool, prioritizes: bool
    ) -> None:
        if prioritizes:
            self.families.goroutines.labels(PRIORITIZING_EXTENDER).inc(-1)
        result = "error" if failed else "success"
        self.families.extender_request_duration.labels(extender, verb, result).observe(seconds)

    # --- queue and watch --------------------------------------------------------------------------

    def pod_queued(self, queue: str, event: str) -> None:
        numbers = self._queued.get((queue, event))
        if numbers is None:
            numbers = self._queued[queue, event] = self._queue_counters(queue, event)
        for number in numbers:
            number.value += 1

    def _queue_counters(self, queue: str, event: str) -> tuple[Number, ...]:
        label = self._event_label(event)
        of_pods = self.families.queue_incoming_pods_total.labels(queue, label)
        if label not in ENTITY_EVENTS:
            return (of_pods,)
        return of_pods, self.families.queue_incoming_entities_total.labels(queue, label, "pod")

    def rejector_counted(self, plugin: str, profile: str, change: int) -> None:
        self.families.unschedulable_pods.labels(plugin, profile).inc(change)

    def event_handled(self, event: str, seconds: float) -> None:
        distribution = self._events.get(event)
        if distribution is None:
            label = self._event_label(event)
            distribution = self._events[event] = self.families.event_handling_duration.labels(label)
        distribution.observe(seconds)

    # --- at a scrape ------------------------------------------------------------------------------

    def flush(self) -> None:
        """Add what was measured since the last scrape to the histograms."""
        for metrics in self._profiles.values():
            metrics.flush()

    def set_sizes(
        self,
        *,
        pending: Mapping[str, int],
        cache: Mapping[str, int],
        in_flight: Mapping[str, int],
        n_binding: int,
    ) -> None:
        """Set the gauges: pods per queue, cache size, events logged for pods in flight, binding cycles."""
        for queue, count in pending.items():
            self.families.pending_pods.labels(queue).set(count)
            self.families.queued_entities.labels(queue, "pod").set(count)
        for queue in self._pod_group_queues:
            self.families.pending_pods.labels(queue).set(0)
        for kind, count in cache.items():
            self.families.cache_size.labels(kind).set(count)
        # An event that is not logged any more is 0, as in Go.
        for _, number in self.families.inflight_events:
            number.set(0)
        for event, count in in_flight.items():
            self.families.inflight_events.labels(self._event_label(event)).set(count)
        self.families.goroutines.labels("binding").set(n_binding)
