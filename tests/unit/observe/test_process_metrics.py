"""The metrics that every component has."""

from __future__ import annotations

from bayplan.observe.instruments import MetricsRegistry
from bayplan.observe.process_metrics import ProcessMetrics
from bayplan.release import release_named


def scraped(metrics: ProcessMetrics) -> str:
    registry = MetricsRegistry()
    metrics.join(registry)
    return registry.text().decode()


def test_requests_are_counted_by_status() -> None:
    """A request without a response counts as an error."""
    metrics = ProcessMetrics()
    metrics.answered("api:6443", "GET", 200, 0.01)
    metrics.answered("api:6443", "GET", 200, 0.01)
    metrics.answered("api:6443", "POST", None, 0.5)

    text = scraped(metrics)

    assert 'rest_client_requests_total{code="200",host="api:6443",method="GET"} 2.0' in text
    assert 'rest_client_requests_total{code="<error>",host="api:6443",method="POST"} 1.0' in text
    assert 'rest_client_request_duration_seconds_sum{host="api:6443",verb="POST"} 0.5' in text


def test_build_gates_and_process_are_exposed() -> None:
    """The version, the enabled gates, and when the process started."""
    text = scraped(ProcessMetrics(release_named("1.36")))

    assert 'major="1",minor="36"' in text
    assert 'kubernetes_feature_enabled{name="SchedulerQueueingHints",stage=""} 1.0' in text
    assert "\nprocess_start_time_seconds " in text


def test_gauges_are_current() -> None:
    """Set at every scrape."""
    metrics = ProcessMetrics()
    assert "leader_election_master_status" not in scraped(metrics)

    metrics.set_leading("kube-scheduler", True)
    metrics.set_depths({"events": 3})
    metrics.set_events({"written": 7, "dropped": 0})

    text = scraped(metrics)
    assert 'leader_election_master_status{name="kube-scheduler"} 1.0' in text
    assert 'workqueue_depth{name="events"} 3.0' in text
    assert 'bayplan_events_total{result="written"} 7.0' in text
    assert 'bayplan_events_total{result="dropped"} 0.0' in text


def test_versions_of_watched_resources() -> None:
    """Of long ones the last digits, which a float holds exactly; a resource that is not listed yet has none."""
    metrics = ProcessMetrics(release_named("1.37"))
    metrics.set_store_versions(
        [
            ("/api/v1/pods", "12"),
            ("/apis/apps/v1/namespaces/a/replicasets", "9000000000000000013"),
            ("/api/v1/nodes", ""),
            ("/apis/storage.k8s.io/v1/storageclasses", "14"),
        ]
    )

    text = scraped(metrics)
    labels = 'informer_store_resource_version{group="%s",name="kube-scheduler",resource="%s",version="v1"}'
    assert f"{labels % ('', 'pods')} 12.0" in text
    assert f"{labels % ('apps', 'replicasets')} 13.0" in text
    assert f"{labels % ('storage.k8s.io', 'storageclasss')} 14.0" in text
    assert 'resource="nodes"' not in text
