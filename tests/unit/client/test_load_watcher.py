"""The load watcher: which requests it sends to each source, and what it does with failures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from tests.unit.client.test_load_reports import NODE_METRICS, WATCHER, capacity, vector

from bayplan.client.errors import ApiError
from bayplan.client.load_watcher import UPDATE_SECONDS, LoadWatcher
from bayplan.framework.load_metrics import LoadFeed, LoadReport, LoadSource, Metric
from bayplan.testing import VirtualClock


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
