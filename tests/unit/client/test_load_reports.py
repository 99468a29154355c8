"""Load reports from the responses of three sources."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.client.load_reports import ReportError, metrics_server_report, prometheus_metrics, watcher_report
from bayplan.framework.load_metrics import LoadReport, Metric

NODE_METRICS = {
    "kind": "NodeMetricsList",
    "items": [
        {"metadata": {"name": "a"}, "usage": {"cpu": "500m", "memory": "1Gi"}},
        {"metadata": {"name": "unknown"}, "usage": {"cpu": "1", "memory": "1Gi"}},
    ],
}
WATCHER = {
    "timestamp": 7,
    "window": {"duration": "15m", "start": 1, "end": 42},
    "source": "Prometheus",
    "data": {
        "NodeMetricsMap": {
            "a": {"metrics": [{"name": "x", "type": "CPU", "operator": "AVG", "value": 12.5}], "tags": {}},
            "b": {"tags": {}},
        }
    },
}


def capacity(name: str) -> dict[str, str] | None:
    return {"cpu": "2", "memory": "4Gi"} if name == "a" else None


def vector(*values: tuple[str, str]) -> dict[str, Any]:
    result = [{"metric": {"instance": name}, "value": [1.0, value]} for name, value in values]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def test_metrics_server_in_percent_of_capacity() -> None:
    """Usage against the node's capacity; nodes that the scheduler does not know are left out."""
    report = metrics_server_report(NODE_METRICS, capacity, now=9)
    assert report == LoadReport(9, {"a": (Metric("CPU", "Latest", 25.0), Metric("Memory", "Latest", 25.0))})


def test_prometheus_ratios_become_percent() -> None:
    """The label `instance` is the node; a value that is no number is left out."""
    assert list(prometheus_metrics(vector(("a", "0.25"), ("b", "NaN")))) == [("a", 25.0)]


def test_watcher_answer_is_taken_as_it_is() -> None:
    """The window's end, and the metrics of the nodes that have some."""
    assert watcher_report(WATCHER) == LoadReport(42, {"a": (Metric("CPU", "AVG", 12.5),)})


@pytest.mark.parametrize(
    "read",
    [
        lambda: metrics_server_report({"items": [{"metadata": {}}]}, capacity, 0),
        lambda: metrics_server_report(
            {"items": [{"metadata": {"name": "a"}, "usage": {"cpu": "much"}}]}, capacity, 0
        ),
        lambda: list(prometheus_metrics({"status": "error"})),
        lambda: list(prometheus_metrics({"data": {"resultType": "matrix", "result": []}})),
        lambda: watcher_report({"data": []}),
    ],
    ids=["no name", "no amount", "no data", "no vector", "no map"],
)
def test_wrong_answers_say_what_is_wrong(read: Any) -> None:
    with pytest.raises(ReportError, match="answered"):
        read()
