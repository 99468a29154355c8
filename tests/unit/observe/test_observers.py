"""Observers turn what happens in the scheduler into metrics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bayplan.framework import Code, Status
from bayplan.observe.instruments import MetricsRegistry
from bayplan.observe.observers import SchedulerMetrics
from bayplan.release import release_named

PROFILE = "default-scheduler"


class Stage:
    """The metrics of a profile with a few plugins."""

    def __init__(self) -> None:
        self.now = 100.0
        self.dice = 0.5
        self.metrics = SchedulerMetrics(lambda: self.now, lambda: self.dice)
        self.caller = SimpleNamespace(observer=None)
        points = {
            "preFilter": ["Fit", "Ports"],
            "filter": ["Name", "Fit", "Ports"],
            "preScore": ["Fit"],
            "score": ["Fit"],
            "postFilter": ["DefaultPreemption"],
        }
        self.observer = self.metrics.observer(PROFILE)
        self.metrics.add_profile(
            PROFILE, lambda point: [SimpleNamespace(name=name) for name in points.get(point, ())], self.caller
        )

    def value(self, name: str, **labels: str) -> float:
        self.metrics.flush()
        registry = MetricsRegistry()
        registry.add(*self.metrics.families.all())
        for metric in registry.collect():
            for sample in metric.samples:
                if sample.name == f"scheduler_{name}" and sample.labels.items() >= labels.items():
                    return sample.value
        raise AssertionError(f"there is no {name} {labels}")


@pytest.fixture
def stage() -> Stage:
    return Stage()


def decision(**more: Any) -> Any:
    record = SimpleNamespace(seconds=0.002, steps=[("PreFilter", 0.001), ("Filter", 0.0005)], filter=None)
    values = {"record": record, "scores": None, "victims": (), "status": Status.success(), **more}
    return SimpleNamespace(**values)


STATE = SimpleNamespace(skip_filter={"Ports"}, skip_score=set())


def test_points_are_timed_by_status(stage: Stage) -> None:
    """Every extension point, with the word that Kubernetes has for its status."""
    stage.observer.point_done("PostFilter", Code.UNSCHEDULABLE, 0.3)

    labels = {"extension_point": "PostFilter", "status": "Unschedulable", "profile": PROFILE}
    assert stage.value("framework_extension_point_duration_seconds_count", **labels) == 1
    assert stage.value("framework_extension_point_duration_seconds_sum", **labels) == 0.3


def test_plugins_are_timed_in_a_tenth_of_the_cycles(stage: Stage) -> None:
    """Decided before the cycle."""
    stage.dice = 0.05
    stage.metrics.started(PROFILE)
    assert stage.caller.observer is stage.observer

    stage.dice = 0.5
    stage.metrics.started(PROFILE)
    assert stage.caller.observer is None


def test_filter_counts_the_nodes_it_ran_for(stage: Stage) -> None:
    """A plugin runs for nodes that none before it has rejected; skipped plugins do not run."""
    rejected = np.array([True, True, False, False])
    outcome = SimpleNamespace(nodes=range(4), decided=[SimpleNamespace(plugin="Name", where=rejected)])
    made = decision()
    made.record.filter = outcome
    stage.metrics.decided(PROFILE, STATE, made)

    def evaluated(plugin: str, point: str) -> float:
        return stage.value("plugin_evaluation_total", plugin=plugin, extension_point=point)

    assert [evaluated(plugin, "Filter") for plugin in ("Name", "Fit", "Ports")] == [4, 2, 0]
    assert [evaluated(plugin, "PreFilter") for plugin in ("Fit", "Ports")] == [1, 0]
    labels = {"extension_point": "Filter", "status": "Success"}
    assert stage.value("framework_extension_point_duration_seconds_sum", **labels) == 0.0005


def test_scores_count_feasible_nodes(stage: Stage) -> None:
    """Each plugin scores each of them."""
    scores = SimpleNamespace(nodes=[1, 2, 3], by_plugin={"Fit": None})
    stage.metrics.decided(PROFILE, STATE, decision(scores=scores))

    assert stage.value("plugin_evaluation_total", plugin="Fit", extension_point="Score") == 3
    assert stage.value("plugin_evaluation_total", plugin="Fit", extension_point="PreScore") == 1


def test_preemption_is_counted(stage: Stage) -> None:
    """Each time PostFilter runs, and how many victims it chose."""
    made = decision(status=Status.unschedulable("no"), victims=("a", "b"))
    made.record.steps.append(("PostFilter", 0.1))
    stage.metrics.decided(PROFILE, STATE, made)
    stage.metrics.preempted(0.5, succeeded=True)

    assert stage.value("preemption_attempts_total") == 1
    assert stage.value("preemption_victims_sum") == 2
    assert stage.value("preemption_goroutines_execution_total", result="success") == 1


def test_a_failed_filter_is_an_error(stage: Stage) -> None:
    """Where no node fits, Filter itself has succeeded."""
    stage.metrics.decided(PROFILE, STATE, decision(status=Status.failed("broken")))
    stage.metrics.decided(PROFILE, STATE, decision(status=Status.unschedulable("full")))

    for status in ("Error", "Success"):
        labels = {"extension_point": "Filter", "status": status}
        assert stage.value("framework_extension_point_duration_seconds_count", **labels) == 1


@pytest.mark.parametrize(("attempts", "label"), [(1, "1"), (14, "14"), (15, "15+"), (99, "15+")])
def test_a_bound_pod_is_timed(stage: Stage, attempts: int, label: str) -> None:
    """From its first attempt, over all its attempts."""
    info = SimpleNamespace(attempts=attempts, initial_attempt_timestamp=90.0, was_flushed=True)
    stage.metrics.bound(PROFILE, info, 0.25)

    assert stage.value("schedule_attempts_total", result="scheduled", profile=PROFILE) == 1
    assert stage.value("scheduling_attempt_duration_seconds_sum", result="scheduled") == 0.25
    assert stage.value("pod_scheduling_sli_duration_seconds_sum", attempts=label) == 10
    assert stage.value("pod_scheduling_attempts_sum") == attempts
    assert stage.value("pod_scheduled_after_flush_total") == 1


def test_rejections_and_errors_are_counted_apart(stage: Stage) -> None:
    """A rejection is not an error."""
    stage.metrics.failed(PROFILE, is_rejection=True, seconds=1)
    stage.metrics.failed(PROFILE, is_rejection=False, seconds=2)

    assert stage.value("schedule_attempts_total", result="unschedulable") == 1
    assert stage.value("scheduling_attempt_duration_seconds_sum", result="error") == 2


def test_queue_permit_and_events(stage: Stage) -> None:
    """Each with its labels."""
    stage.metrics.pod_queued("active", "NodeAdd")
    stage.metrics.pod_queued("active", "NodeAdd")
    stage.metrics.rejector_counted("Fit", PROFILE, 1)
    stage.metrics.waited_on_permit(Code.UNSCHEDULABLE, 3.0)
    stage.metrics.event_handled("NodeAdd", 0.1)

    assert stage.value("queue_incoming_pods_total", queue="active", event="NodeAdd") == 2
    stage.metrics.pod_queued("active", "BackoffComplete")
    assert len(list(stage.metrics.families.queue_incoming_entities_total)) == 1
    assert stage.value("unschedulable_pods", plugin="Fit", profile=PROFILE) == 1
    assert stage.value("permit_wait_duration_seconds_sum", result="Unschedulable") == 3
    assert stage.value("event_handling_duration_seconds_count", event="NodeAdd") == 1


def test_gauges_are_current(stage: Stage) -> None:
    """An event that is not logged any more is 0."""
    for in_flight in ({"PodPopped": 1, "NodeAdd": 2}, {"PodPopped": 0}):
        stage.metrics.set_sizes(
            pending={"active": 5, "gated": 0}, cache={"nodes": 3}, in_flight=in_flight, n_binding=4
        )

    assert stage.value("pending_pods", queue="active") == 5
    assert stage.value("cache_size", type="nodes") == 3
    assert stage.value("inflight_events", event="NodeAdd") == 0
    assert stage.value("goroutines", operation="binding") == 4


def test_requests_to_extenders_are_counted() -> None:
    """By extender, verb and result; requests for scores under way are kube-scheduler's own gauge."""
    metrics = SchedulerMetrics(lambda: 0.0)
    under_way = metrics.families.goroutines.labels("prioritizing_extender")
    metrics.extender_called("http://x", prioritizes=True)
    metrics.extender_called("http://x", prioritizes=False)
    assert under_way.value == 1

    metrics.extender_responded("http://x", "p", 0.1, failed=False, prioritizes=True)
    metrics.extender_responded("http://x", "f", 0.1, failed=True, prioritizes=False)

    assert under_way.value == 0
    counted = {
        tuple(labels.values()): sum(each.counts) for labels, each in metrics.families.extender_request_duration
    }
    assert counted == {("http://x", "p", "success"): 1, ("http://x", "f", "error"): 1}


@pytest.mark.parametrize(("release", "label"), [("1.36", "UnschedulablePodAdd"), ("1.37", "UnscheduledPodAdd")])
def test_events_of_waiting_pods_are_named_as_in_the_release(release: str, label: str) -> None:
    """In every metric that has them; the entity that a new pod is counts with the newer name."""
    metrics = SchedulerMetrics(lambda: 0.0, release=release_named(release))

    metrics.pod_queued("active", "UnschedulablePodAdd")
    metrics.event_handled("UnschedulablePodAdd", 0.1)
    metrics.set_sizes(pending={}, cache={}, in_flight={"UnschedulablePodAdd": 1}, n_binding=0)

    families = metrics.families
    for family in (families.queue_incoming_pods_total, families.event_handling_duration, families.inflight_events):
        assert [labels["event"] for labels, _ in family] == [label]
    entities = [labels["event"] for labels, _ in families.queue_incoming_entities_total]
    assert entities == ([label] if release == "1.37" else [])
