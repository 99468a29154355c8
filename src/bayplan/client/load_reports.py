"""Load reports from the responses of metrics sources. No I/O; an invalid response raises ReportError."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from bayplan.framework.load_metrics import (
    AVERAGE,
    CPU_LOAD,
    LATEST,
    MEMORY_LOAD,
    STANDARD_DEVIATION,
    LoadReport,
    Metric,
)
from bayplan.model import CPU, MEMORY, QuantityError, parse_milli, parse_value

FIFTEEN_MINUTES: Final = "15m"
_CPU_SERIES: Final = "instance:node_cpu:ratio"
_MEMORY_SERIES: Final = "instance:node_memory_utilisation:ratio"
#: Function, series, and the type and operator of the resulting metric. The series are recording rules of
#: kube-prometheus; their label `instance` must be the node's name.
PROMETHEUS_QUERIES: Final = (
    ("avg_over_time", _CPU_SERIES, CPU_LOAD, AVERAGE),
    ("avg_over_time", _MEMORY_SERIES, MEMORY_LOAD, AVERAGE),
    ("stddev_over_time", _CPU_SERIES, CPU_LOAD, STANDARD_DEVIATION),
    ("stddev_over_time", _MEMORY_SERIES, MEMORY_LOAD, STANDARD_DEVIATION),
)


class ReportError(Exception):
    """The response of a source is not a report."""


# --- the Kubernetes metrics server ----------------------------------------------------------------


def metrics_server_report(
    answer: Mapping[str, Any], capacity: Callable[[str], Mapping[str, Any] | None], now: int
) -> LoadReport:
    """From a NodeMetricsList; unknown nodes are omitted."""
    nodes = {}
    try:
        for item in answer["items"]:
            name = item["metadata"]["name"]
            if (node_capacity := capacity(name)) is not None:
                nodes[name] = tuple(_usage(item["usage"], node_capacity))
    except (KeyError, TypeError, QuantityError) as error:
        raise ReportError(f"the metrics server answered no NodeMetricsList: {error!r}") from error
    return LoadReport(now, nodes)


def _usage(usage: Mapping[str, Any], capacity: Mapping[str, Any]) -> Iterator[Metric]:
    for name, type_, parse in ((CPU, CPU_LOAD, parse_milli), (MEMORY, MEMORY_LOAD, parse_value)):
        total = parse(capacity.get(name, 0))
        if total and name in usage:
            yield Metric(type_, LATEST, 100 * parse(usage[name]) / total)


# --- Prometheus -----------------------------------------------------------------------------------


def prometheus_metrics(answer: Any) -> Iterator[tuple[str, float]]:
    """Node and percent, from the response to an instant query."""
    try:
        if answer["data"]["resultType"] != "vector":
            raise ReportError(f"Prometheus answered a {answer['data']['resultType']}, not a vector")
        for each in answer["data"]["result"]:
            value = float(each["value"][1]) * 100
            if math.isfinite(value):
                yield each["metric"].get("instance", ""), value
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ReportError(f"Prometheus answered no vector: {error!r}") from error


# --- a load watcher -------------------------------------------------------------------------------


class _WatcherMetric(msgspec.Struct):
    type: str = ""
    operator: str = ""
    value: float = 0.0


class _WatcherNode(msgspec.Struct):
    metrics: list[_WatcherMetric] = []


class _WatcherData(msgspec.Struct, rename={"nodes": "NodeMetricsMap"}):
    nodes: dict[str, _WatcherNode] = {}


class _WatcherWindow(msgspec.Struct):
    end: int = 0


class _WatcherMetrics(msgspec.Struct):
    window: _WatcherWindow = msgspec.field(default_factory=_WatcherWindow)
    data: _WatcherData = msgspec.field(default_factory=_WatcherData)


def watcher_report(answer: Any) -> LoadReport:
    """From a load watcher's response to GET /watcher; nodes without metrics are omitted."""
    try:
        metrics = msgspec.convert(answer, _WatcherMetrics)
    except msgspec.ValidationError as error:
        raise ReportError(f"the load watcher answered no metrics: {error}") from error
    nodes = {
        name: tuple(Metric(each.type, each.operator, each.value) for each in node.metrics)
        for name, node in metrics.data.nodes.items()
        if node.metrics
    }
    return LoadReport(metrics.window.end, nodes)
