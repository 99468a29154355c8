"""Reports of load, from what each source answers. Pure; a wrong answer is a ReportError that says what is wrong
about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from bayplan.framework.loads import AVERAGE, CPU_LOAD, LATEST, MEMORY_LOAD, STANDARD_DEVIATION, LoadReport, Metric
from bayplan.model import CPU, MEMORY, QuantityError, parse_milli, parse_value

FIFTEEN_MINUTES: Final = "15m"
_CPU_SERIES: Final = "instance:node_cpu:ratio"
_MEMORY_SERIES: Final = "instance:node_memory_utilisation:ratio"
#: Function, series, and what the result is. The series are recording rules of kube-prometheus; their label
#: `instance` must be the node's name.
PROMETHEUS_QUERIES: Final = (
    ("avg_over_time", _CPU_SERIES, CPU_LOAD, AVERAGE),
    ("avg_over_time", _MEMORY_SERIES, MEMORY_LOAD, AVERAGE),
    ("stddev_over_time", _CPU_SERIES, CPU_LOAD, STANDARD_DEVIATION),
    ("stddev_over_time", _MEMORY_SERIES, MEMORY_LOAD, STANDARD_DEVIATION),
)


class ReportError(Exception):
    """A source answered something that is no report."""


# --- the Kubernetes metrics server ----------------------------------------------------------------


def metrics_server_report(
    answer: Mapping[str, Any], capacity: Callable[[str], Mapping[str, Any] | None], now: int
) -> LoadReport:
    """From a NodeMetricsList; nodes that we do not know are left out."""
    nodes = {}
    try:
        for item in answer["items"]:
            name = item["metadata"]["name"]
            if (has := capacity(name)) is not None:
                nodes[name] = tuple(_usage(item["usage"], has))
    except (KeyError, TypeError, QuantityError) as error:
        raise ReportError(f"the metrics server answered no NodeMetricsList: {error!r}") from error
    return LoadReport(now, nodes)


def _usage(usage: Mapping[str, Any], capacity: Mapping[str, Any]) -> Iterator[Metric]:
    for name, type_, parse in ((CPU, CPU_LOAD, parse_milli), (MEMORY, MEMORY_LOAD, parse_value)):
        has = parse(capacity.get(name, 0))
        if has and name in usage:
            yield Metric(type_, LATEST, 100 * parse(usage[name]) / has)


# --- Prometheus -----------------------------------------------------------------------------------


def prometheus_metrics(answer: Any) -> Iterator[tuple[str, float]]:
    """Node and percent, from the answer to an instant query."""
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
    """From the answer of a load watcher to GET /watcher; a node without metrics is unknown."""
    try:
        told = msgspec.convert(answer, _WatcherMetrics)
    except msgspec.ValidationError as error:
        raise ReportError(f"the load watcher answered no metrics: {error}") from error
    nodes = {
        name: tuple(Metric(each.type, each.operator, each.value) for each in node.metrics)
        for name, node in told.data.nodes.items()
        if node.metrics
    }
    return LoadReport(told.window.end, nodes)
