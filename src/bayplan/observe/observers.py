"""Observers: what the stations tell about their work, turned into metrics.

The stations know protocols only (`framework.Observer`, `queue.QueueObserver`, `cycle.AttemptObserver`), and
nothing here knows the stations: a scheduler without metrics is one without observers. Everything on the way of a
pod is a few additions; what can be asked for is asked for when somebody scrapes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from bayplan.observe.instruments import Distribution, Number
from bayplan.observe.metrics import SchedulerFamilies

#: upstream pluginMetricsSamplePercent: the share of the cycles in which plugins are timed one by one.
PLUGIN_SAMPLE_SHARE: Final = 0.1
#: upstream getAttemptsLabel: what is above is one value.
MAX_ATTEMPTS_LABEL: Final = 15
#: Sets of plugins that skip a pod; there are not nearly as many.
MAX_SETS: Final = 1024
#: Work that kube-scheduler hands to goroutines and a cycle does itself here.
PRIORITIZING_EXTENDER: Final = "prioritizing_extender"
IN_THE_CYCLE: Final = ("Filter", "Score", "InterPodAffinity", "DefaultPreemption")


class Switch(Protocol):
    """Where plugins are called: the framework's Caller. None switches timing off."""

    observer: Any


class Named(Protocol):
    """A plugin on an extension point, to those who only want its name."""

    @property
    def name(self) -> str: ...


class Info(Protocol):
    """What is read of a queued pod."""

    attempts: int
    initial_attempt_timestamp: float | None
    was_flushed: bool


class ProfileObserver:
    """Implements `framework.Observer` for one profile."""

    def __init__(self, families: SchedulerFamilies, profile: str) -> None:
        self._families = families
        self._profile = profile
        self._points: dict[tuple[str, int], Distribution] = {}
        self._plugins: dict[tuple[str, str, int], Distribution] = {}

    def point_done(self, point: str, code: Any, seconds: float) -> None:
        distribution = self._points.get((point, code))
        if distribution is None:
            distribution = self._families.extension_point_duration.labels(point, code.label, self._profile)
            self._points[point, code] = distribution
        distribution.observe(seconds)

    def plugin_called(self, point: str, plugin: str, code: Any, seconds: float) -> None:
        distribution = self._plugins.get((point, plugin, code))
        if distribution is None:
            distribution = self._families.plugin_execution_duration.labels(plugin, point, code.label)
            self._plugins[point, plugin, code] = distribution
        distribution.observe(seconds)


class _Asked(NamedTuple):
    """The counters of the plugins that have something to say about a pod."""

    pre_filter: Sequence[Number]
    filter: Sequence[tuple[str, Number]]


class ProfileMetrics:
    """What an attempt of one profile counts."""

    def __init__(self, families: SchedulerFamilies, profile: str, on: Callable[[str], Iterable[Named]]) -> None:
        """*on* gives the plugins on an extension point."""
        self._pre_filter = self._numbers(families, profile, "PreFilter", on("preFilter"))
        self._filter = self._numbers(families, profile, "Filter", on("filter"))
        self._pre_score = self._numbers(families, profile, "PreScore", on("preScore"))
        self._score = dict(self._numbers(families, profile, "Score", on("score")))
        self._preempts = any(bound.name == "DefaultPreemption" for bound in on("postFilter"))
        self._preemption_attempts = families.preemption_attempts_total.labels()
        self._victims = families.preemption_victims.labels()
        self._algorithm = families.scheduling_algorithm_duration.labels()
        self._results: dict[str, tuple[Number, Distribution]] = {}
        self._by_skipped: dict[frozenset[str], _Asked] = {}
        self._filter_times: dict[str, Distribution] = {}
        self._families, self._profile = families, profile

    @staticmethod
    def _numbers(
        families: SchedulerFamilies, profile: str, point: str, plugins: Iterable[Named]
    ) -> Sequence[tuple[str, Number]]:
        total = families.plugin_evaluation_total
        return [(plugin.name, total.labels(plugin.name, point, profile)) for plugin in plugins]

    def decided(self, state: Any, decision: Any) -> None:
        record = decision.record
        self._algorithm.observe(record.seconds)
        asked = self._asked(state.skip_filter)
        for number in asked.pre_filter:
            number.value += 1
        for step, seconds in record.steps:
            if step == "Filter":
                self._filter_done(decision.status, seconds, succeeded=record.filter is not None)
            elif step == "PostFilter" and self._preempts:
                self._preemption_attempts.value += 1
        if record.filter is not None:
            self._count_filter(record.filter, asked)
        if decision.scores is not None:
            self._count_scores(state.skip_score, decision.scores)
        if decision.victims:
            self._victims.observe(len(decision.victims))

    def _asked(self, skipped: Set[str]) -> _Asked:
        """The plugins that do not skip the pod; few sets of them come up again and again."""
        key = frozenset(skipped)
        asked = self._by_skipped.get(key)
        if asked is None:
            named = [(name, number) for name, number in self._filter if name not in key]
            asked = _Asked([number for name, number in self._pre_filter if name not in key], named)
            if len(self._by_skipped) < MAX_SETS:
                self._by_skipped[key] = asked
        return asked

    def _filter_done(self, status: Any, seconds: float, *, succeeded: bool) -> None:
        """Filter has no status of its own: that no node fits is the pod's, and a success of Filter."""
        label = "Success" if succeeded or status.is_success or status.is_rejection else "Error"
        done = self._filter_times.get(label)
        if done is None:
            duration = self._families.extension_point_duration
            done = self._filter_times[label] = duration.labels("Filter", label, self._profile)
        done.observe(seconds)

    @staticmethod
    def _count_filter(outcome: Any, asked: _Asked) -> None:
        """A plugin is asked about the nodes that no plugin before it has rejected."""
        n_left = len(outcome.nodes)
        n_rejected = {entry.plugin: int(np.count_nonzero(entry.where)) for entry in outcome.decided}
        for name, number in asked.filter:
            number.value += n_left
            if name in n_rejected:
                n_left -= n_rejected[name]

    def _count_scores(self, skipped: Set[str], scores: Any) -> None:
        for name, number in self._pre_score:
            if name not in skipped:
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


class SchedulerMetrics:
    """Implements `queue.QueueObserver` and `cycle.AttemptObserver`, and makes the observers of the profiles."""

    def __init__(self, now: Callable[[], float], rng: Callable[[], float] = random.random) -> None:
        """*now* is the scheduler's clock: pods have waited since a time of it."""
        self.families = SchedulerFamilies()
        self._now = now
        self._rng = rng
        self._observers: dict[str, ProfileObserver] = {}
        self._profiles: dict[str, ProfileMetrics] = {}
        self._switches: dict[str, Switch] = {}
        self._queued: dict[tuple[str, str], Number] = {}
        self._attempts = self.families.pod_scheduling_attempts.labels()
        self._after_flush = self.families.pod_scheduled_after_flush_total.labels()
        for operation in (*IN_THE_CYCLE, "binding"):
            self.families.goroutines.labels(operation)

    # --- profiles ---------------------------------------------------------------------------------

    def observer(self, profile: str) -> ProfileObserver:
        """For the plugins of *profile*."""
        return self._observers.setdefault(profile, ProfileObserver(self.families, profile))

    def add_profile(self, profile: str, on: Callable[[str], Iterable[Named]], switch: Switch) -> None:
        """*on* gives the profile's plugins on an extension point, *switch* is where they are called."""
        self._profiles[profile] = ProfileMetrics(self.families, profile, on)
        self._switches[profile] = switch

    # --- attempts ---------------------------------------------------------------------------------

    def started(self, profile: str) -> None:
        sampled = self._rng() < PLUGIN_SAMPLE_SHARE
        self._switches[profile].observer = self._observers[profile] if sampled else None

    def decided(self, profile: str, state: Any, decision: Any) -> None:
        self._profiles[profile].decided(state, decision)

    def failed(self, profile: str, *, is_rejection: bool, seconds: float) -> None:
        self._profiles[profile].ended("unschedulable" if is_rejection else "error", seconds)

    def bound(self, profile: str, info: Info, seconds: float) -> None:
        self._profiles[profile].ended("scheduled", seconds)
        self._attempts.observe(info.attempts)
        if info.initial_attempt_timestamp is not None:
            n_attempts = info.attempts
            label = str(n_attempts) if n_attempts < MAX_ATTEMPTS_LABEL else f"{MAX_ATTEMPTS_LABEL}+"
            waited = self._now() - info.initial_attempt_timestamp
            self.families.pod_scheduling_sli_duration.labels(label).observe(waited)
        if info.was_flushed:
            self._after_flush.value += 1

    def waited_on_permit(self, code: Any, seconds: float) -> None:
        self.families.permit_wait_duration.labels(code.label).observe(seconds)

    def preempted(self, seconds: float, *, succeeded: bool) -> None:
        result = "success" if succeeded else "error"
        self.families.preemption_goroutines_duration.labels(result).observe(seconds)
        self.families.preemption_goroutines_execution_total.labels(result).inc()

    # --- extenders --------------------------------------------------------------------------------

    def extender_asked(self, extender: str, *, prioritizes: bool) -> None:
        if prioritizes:
            self.families.goroutines.labels(PRIORITIZING_EXTENDER).inc()

    def extender_answered(
        self, extender: str, verb: str, seconds: float, *, failed: bool, prioritizes: bool
    ) -> None:
        if prioritizes:
            self.families.goroutines.labels(PRIORITIZING_EXTENDER).inc(-1)
        result = "error" if failed else "success"
        self.families.extender_request_duration.labels(extender, verb, result).observe(seconds)

    # --- queue and watch --------------------------------------------------------------------------

    def pod_queued(self, queue: str, event: str) -> None:
        number = self._queued.get((queue, event))
        if number is None:
            number = self._queued[queue, event] = self.families.queue_incoming_pods_total.labels(queue, event)
        number.value += 1

    def rejector_counted(self, plugin: str, profile: str, change: int) -> None:
        self.families.unschedulable_pods.labels(plugin, profile).inc(change)

    def event_handled(self, event: str, seconds: float) -> None:
        self.families.event_handling_duration.labels(event).observe(seconds)

    # --- at a scrape ------------------------------------------------------------------------------

    def set_sizes(
        self,
        *,
        pending: Mapping[str, int],
        cache: Mapping[str, int],
        in_flight: Mapping[str, int],
        n_binding: int,
    ) -> None:
        """How things stand: pods per queue, what the cache holds, events kept for pods in flight, binds."""
        for queue, count in pending.items():
            self.families.pending_pods.labels(queue).set(count)
        for kind, count in cache.items():
            self.families.cache_size.labels(kind).set(count)
        # An event that was kept once and is not any more is 0, as in Go.
        for _, number in self.families.inflight_events:
            number.set(0)
        for event, count in in_flight.items():
            self.families.inflight_events.labels(event).set(count)
        self.families.goroutines.labels("binding").set(n_binding)
