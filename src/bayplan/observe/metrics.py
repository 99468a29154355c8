"""The scheduler's metrics, with the names, labels, buckets and stability of kube-scheduler.

Definitions only; `observers` sets the values. The metrics of kube-scheduler that are missing here (Go's runtime,
opportunistic batching, pod groups) are listed in docs/guides/running.md.
"""

from __future__ import annotations

from typing import Final

from bayplan.observe.instruments import (
    ALPHA,
    BETA,
    STABLE,
    Counter,
    Distribution,
    Family,
    Gauge,
    Histogram,
    Number,
    exponential,
)
from bayplan.release import DEFAULT, Release

_ATTEMPT: Final = exponential(0.001, 2, 15)
_POINT: Final = exponential(0.0001, 2, 12)
_PLUGIN: Final = exponential(0.00001, 1.5, 20)
_LONG: Final = exponential(0.01, 2, 20)
_REQUEST: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
#: In the texts of releases that count pod groups.
_POD_GROUPS: Final = (
    "; 'incomplete' means number of pods in incompletePodGroupPods; 'pending' means number of pods in "
    "pendingPodGroupPods"
)
_BY_POD: Final = " for preemption initiated by a single pod"

AnyFamily = Family[Number] | Family[Distribution]


class SchedulerFamilies:
    """One attribute per metric, with its name without `scheduler_`."""

    def __init__(self, release: Release = DEFAULT) -> None:
        counts_entities = release.facts.counts_entities
        since_entities = BETA if counts_entities else ALPHA
        unschedulable = "unschedulableEntities" if counts_entities else "unschedulablePods"
        # --- attempts -----------------------------------------------------------------------------
        self.schedule_attempts_total = Counter(
            "scheduler_schedule_attempts_total",
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be "
            "scheduled, while 'error' means an internal scheduler problem.",
            "result",
            "profile",
            stability=STABLE,
        )
        self.scheduling_attempt_duration = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            "result",
            "profile",
            buckets=_ATTEMPT,
            stability=STABLE,
        )
        self.scheduling_algorithm_duration = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Scheduling algorithm latency in seconds",
            buckets=_ATTEMPT,
            stability=since_entities,
        )
        self.pod_scheduling_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod.",
            buckets=exponential(1, 2, 5),
            stability=STABLE,
        )
        self.pod_scheduling_sli_duration = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might "
            "involve multiple scheduling attempts.",
            "attempts",
            buckets=_LONG,
            stability=BETA,
        )
        self.pod_scheduled_after_flush_total = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            f"Number of pods that were successfully scheduled after being flushed from {unschedulable} due to "
            "timeout. This metric helps detect potential queueing hint misconfigurations or event handling "
            "issues.",
            stability=ALPHA,
        )
        # --- plugins ------------------------------------------------------------------------------
        self.extension_point_duration = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "Latency for running all plugins of a specific extension point.",
            "extension_point",
            "status",
            "profile",
            buckets=_POINT,
            stability=STABLE,
        )
        self.plugin_execution_duration = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "Duration for running a plugin at a specific extension point.",
            "plugin",
            "extension_point",
            "status",
            buckets=_PLUGIN,
            stability=since_entities,
        )
        self.plugin_evaluation_total = Counter(
            "scheduler_plugin_evaluation_total",
            "Number of attempts to schedule pods by each plugin and the extension point (available only in "
            "PreFilter, Filter, PreScore, and Score).",
            "plugin",
            "extension_point",
            "profile",
            stability=BETA,
        )
        self.permit_wait_duration = Histogram(
            "scheduler_permit_wait_duration_seconds",
            "Duration of waiting on permit.",
            "result",
            buckets=_ATTEMPT,
            stability=BETA,
        )
        self.plugin_stalls_total = Counter(
            "bayplan_plugin_stalls_total",
            "Number of times that a plugin, or code of unknown origin, has held up the scheduler for a second or "
            "longer without returning.",
            "plugin",
            "extension_point",
            stability=ALPHA,
        )
        # --- queue --------------------------------------------------------------------------------
        self.pending_pods = Gauge(
            "scheduler_pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means "
            f"number of pods in backoffQ; 'unschedulable' means number of pods in {unschedulable} that the "
            "scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the "
            "scheduler never attempted to schedule because they are gated"
            f"{_POD_GROUPS if counts_entities else ''}.",
            "queue",
            stability=STABLE,
        )
        self.queue_incoming_pods_total = Counter(
            "scheduler_queue_incoming_pods_total",
            "Number of pods added to scheduling queues by event and queue type.",
            "queue",
            "event",
            stability=STABLE,
        )
        self.queued_entities = Gauge(
            "scheduler_queued_entities",
            "Number of queued scheduling entities ('pod' or 'podgroup'; 'pod' stands for individual pods that are "
            "not members of any podgroup) by the queue type. 'active' means number of entities in activeQ; "
            "'backoff' means number of entities in backoffQ; 'unschedulable' means number of entities in "
            "unschedulableEntities that the scheduler attempted to schedule and failed; 'gated' is the number of "
            "unschedulable entities that the scheduler never attempted to schedule because they are gated.",
            "queue",
            "type",
            stability=ALPHA,
        )
        self.queue_incoming_entities_total = Counter(
            "scheduler_queue_incoming_entities_total",
            "Number of scheduling entities added to scheduling queues by event, queue type, and entity type. "
            "Entity types are either 'pod' (for individual pods that are not members of any podgroup) or "
            "'podgroup'.",
            "queue",
            "event",
            "type",
            stability=ALPHA,
        )
        self.unschedulable_pods = Gauge(
            "scheduler_unschedulable_pods",
            "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all "
            "plugins that caused it to not schedule and so this metric have meaning only when broken down by "
            "plugin.",
            "plugin",
            "profile",
            stability=BETA,
        )
        self.inflight_events = Gauge(
            "scheduler_inflight_events",
            "Number of events currently tracked in the scheduling queue.",
            "event",
            stability=ALPHA,
        )
        self.event_handling_duration = Histogram(
            "scheduler_event_handling_duration_seconds",
            "Event handling latency in seconds.",
            "event",
            buckets=_POINT,
            stability=ALPHA,
        )
        # --- preemption ---------------------------------------------------------------------------
        self.preemption_attempts_total = Counter(
            "scheduler_preemption_attempts_total",
            "Total preemption attempts in the cluster till now",
            stability=STABLE,
        )
        self.preemption_victims = Histogram(
            "scheduler_preemption_victims",
            f"Number of selected preemption victims{_BY_POD if counts_entities else ''}",
            buckets=exponential(1, 2, 7),
            stability=STABLE,
        )
        self.preemption_goroutines_duration = Histogram(
            "scheduler_preemption_goroutines_duration_seconds",
            "Duration in seconds for running goroutines for the preemption.",
            "result",
            buckets=_LONG,
            stability=ALPHA,
        )
        self.preemption_goroutines_execution_total = Counter(
            "scheduler_preemption_goroutines_execution_total",
            "Number of preemption goroutines executed.",
            "result",
            stability=ALPHA,
        )
        # --- extenders, for which kube-scheduler has no metric but goroutines ---------------------
        self.extender_request_duration = Histogram(
            "bayplan_extender_client_request_duration_seconds",
            "Latency of requests to extenders, by the verb and whether a usable answer came.",
            "extender",
            "verb",
            "result",
            buckets=_REQUEST,
            stability=ALPHA,
        )
        # --- the rest -----------------------------------------------------------------------------
        self.goroutines = Gauge(
            "scheduler_goroutines",
            "Number of running goroutines split by the work they do such as binding.",
            "operation",
            stability=BETA,
        )
        self.cache_size = Gauge(
            "scheduler_cache_size",
            "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
            "type",
            stability=ALPHA,
        )

        #: Metrics that the release does not have, or hides.
        self._hidden: tuple[AnyFamily, ...] = (self.queued_entities, self.queue_incoming_entities_total)
        if counts_entities:
            self._hidden = (self.preemption_goroutines_duration,)

    def all(self) -> list[AnyFamily]:
        """The exposed ones."""
        families = [each for each in vars(self).values() if isinstance(each, Family)]
        return [each for each in families if each not in self._hidden]


class ProcessFamilies:
    """The metrics that every Kubernetes component has."""

    def __init__(self, release: Release = DEFAULT) -> None:
        self._hides_informers = not release.facts.exposes_informers
        self.build_info = Gauge(
            "kubernetes_build_info",
            "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, "
            "build date, Go version, and compiler from which Kubernetes was built, and platform on which it is "
            "running.",
            *("major", "minor", "git_version", "git_commit", "git_tree_state"),
            *("build_date", "go_version", "compiler", "platform"),
            stability=BETA,
        )
        self.feature_enabled = Gauge(
            "kubernetes_feature_enabled",
            "This metric records the data about the stage and enablement of a k8s feature.",
            "name",
            "stage",
            stability=BETA,
        )
        self.leader_election_master_status = Gauge(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates "
            "master. 'name' is the string used to identify the lease. Please make sure to group by name.",
            "name",
            stability=ALPHA,
        )
        self.rest_client_request_duration = Histogram(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host.",
            "verb",
            "host",
            buckets=_REQUEST,
            stability=ALPHA,
        )
        self.rest_client_requests_total = Counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            "code",
            "method",
            "host",
            stability=ALPHA,
        )
        self.events_total = Counter(
            "bayplan_events_total",
            "Number of events by what became of them: written, refused by the API server, expired before they "
            "could be written, or dropped because too many were queued or the process ended.",
            "result",
            stability=ALPHA,
        )
        self.workqueue_depth = Gauge("workqueue_depth", "Current depth of workqueue", "name", stability=BETA)
        self.informer_store_resource_version = Gauge(
            "informer_store_resource_version",
            "The 15 least significant digits of the resource version of the store.",
            "name",
            "group",
            "version",
            "resource",
            stability=ALPHA,
        )

    def all(self) -> list[AnyFamily]:
        """The exposed ones."""
        families = [each for each in vars(self).values() if isinstance(each, Family)]
        hidden = (self.informer_store_resource_version,) if self._hides_informers else ()
        return [each for each in families if each not in hidden]
