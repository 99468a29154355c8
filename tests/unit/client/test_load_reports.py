"""Reports of load from the answers of three sources, and the watcher that asks for them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from bayplan.client.errors import ApiError
from bayplan.client.load_reports import ReportError, metrics_server_report, prometheus_metrics, watcher_report
from bayplan.client.load_watcher import UPDATE_SECONDS, LoadWatcher
from bayplan.framework.loads import LoadFeed, LoadReport, LoadSource, Metric
from bayplan.testing import VirtualClock

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


# --- asking ---------------------------------------------------------------------------------------


class Api:
    """An API server with a metrics server behind it, or without."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self._answer = answer

    async def request(self, method: str, path: str, body: object | None = None) -> dict[str, Any]:
        assert (method, path) == ("GET", "/apis/metrics.k8s.io/v1beta1/nodes")
        if self._answer is None:
            raise ApiError(404, reason="NotFound")
        return self._answer


async def filled(source: LoadSource, api: Api | None = None) -> LoadReport | None:
    watcher = LoadWatcher(api or Api(None), capacity, VirtualClock())
    feed = LoadFeed(source)
    await watcher.start([feed])
    await watcher.stop()
    return feed.report


@pytest.mark.asyncio
async def test_metrics_server_is_asked_through_the_api_server() -> None:
    report = await filled(LoadSource("KubernetesMetricsServer"), Api(NODE_METRICS))
    assert report is not None
    assert list(report.nodes) == ["a"]


@pytest.mark.asyncio
async def test_missing_metrics_server_leaves_the_feed_empty() -> None:
    """It is logged, and asked again half a minute later."""
    assert await filled(LoadSource("KubernetesMetricsServer")) is None
    assert UPDATE_SECONDS == 30


async def serve(handler: Any) -> tuple[web.AppRunner, str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    return runner, f"http://{host}:{port}"


@pytest.mark.asyncio
async def test_prometheus_is_asked_four_times() -> None:
    """Average and deviation of cpu and memory over fifteen minutes, with the token."""
    asked = []

    async def answer(request: web.Request) -> web.Response:
        assert request.path == "/api/v1/query"
        assert request.headers["Authorization"] == "Bearer secret"
        asked.append(request.query["query"])
        return web.json_response(vector(("a", "0.5")))

    runner, address = await serve(answer)
    report = await filled(LoadSource("Prometheus", address, token="secret"))  # noqa: S106
    await runner.cleanup()

    assert asked == [
        "avg_over_time(instance:node_cpu:ratio[15m])",
        "avg_over_time(instance:node_memory_utilisation:ratio[15m])",
        "stddev_over_time(instance:node_cpu:ratio[15m])",
        "stddev_over_time(instance:node_memory_utilisation:ratio[15m])",
    ]
    assert report is not None
    assert report.nodes["a"] == [
        Metric("CPU", "AVG", 50.0),
        Metric("Memory", "AVG", 50.0),
        Metric("CPU", "STD", 50.0),
        Metric("Memory", "STD", 50.0),
    ]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("status", "text"),
    [(200, json.dumps(WATCHER)), (500, ""), (200, "<html>")],
    ids=["report", "error", "no JSON"],
)
async def test_load_watcher_is_asked_at_its_address(status: int, text: str) -> None:
    """Whatever is wrong with its answer leaves the feed as it was."""

    async def answer(request: web.Request) -> web.Response:
        assert request.path == "/watcher"
        return web.Response(status=status, text=text)

    runner, address = await serve(answer)
    report = await filled(LoadSource("", watcher_address=address))
    await runner.cleanup()

    assert (report is not None) is (status == 200 and text.startswith("{"))


@pytest.mark.asyncio
async def test_nobody_at_the_address_is_no_end() -> None:
    assert await filled(LoadSource("", watcher_address="http://127.0.0.1:1")) is None
