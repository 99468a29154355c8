"""The load watcher: fetches node metrics twice a minute, and fills the feeds of plugins with reports.

Three sources: the Kubernetes metrics server (through the API server), Prometheus, and a load-watcher service.
Failures are logged; the last report stays until there is a newer one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from bayplan.client.errors import ClientError
from bayplan.client.load_reports import (
    FIFTEEN_MINUTES,
    PROMETHEUS_QUERIES,
    ReportError,
    metrics_server_report,
    prometheus_metrics,
    watcher_report,
)
from bayplan.framework import Clock
from bayplan.framework.load_metrics import LoadFeed, LoadReport, LoadSource, Metric
from bayplan.observe import klog

if TYPE_CHECKING:
    import aiohttp

log = klog.get_logger("bayplan.client")

UPDATE_SECONDS: Final = 30.0
PROMETHEUS: Final = "Prometheus"
DEFAULT_PROMETHEUS: Final = "http://prometheus-k8s:9090"
_NODE_METRICS: Final = "/apis/metrics.k8s.io/v1beta1/nodes"
_TIMEOUT_SECONDS: Final = 10.0

#: Node → its capacity as written in its status; None for an unknown node.
Capacity = Callable[[str], Mapping[str, Any] | None]


class ApiRequests(Protocol):
    """The method of `KubeClient` that is used."""

    async def request(self, method: str, path: str, body: object | None = None) -> dict[str, Any]: ...


class LoadWatcher:
    """Fills feeds, each in a task of its own, from `start` to `stop`."""

    def __init__(self, client: ApiRequests, capacity: Capacity, clock: Clock) -> None:
        self._client = client
        self._capacity = capacity
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, feeds: Iterable[LoadFeed]) -> None:
        """Returns when every source was fetched once, so that the first pods find reports."""
        feeds = tuple(feeds)
        await asyncio.gather(*map(self.fill, feeds))
        self._tasks = [asyncio.create_task(self._keep_filled(feed), name="load watcher") for feed in feeds]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def _keep_filled(self, feed: LoadFeed) -> None:
        while True:
            await self._clock.sleep(UPDATE_SECONDS)
            await self.fill(feed)

    async def fill(self, feed: LoadFeed) -> None:
        """Fetch once. A failure leaves the feed unchanged."""
        import aiohttp  # slow to import, and few profiles have a plugin that uses loads

        try:
            feed.report = await self._fetch(feed.source)
        except (ClientError, ReportError, aiohttp.ClientError, TimeoutError) as error:
            where = feed.source.watcher_address or feed.source.provider
            log.error(error, "Load watcher client failed", source=where)

    async def _fetch(self, source: LoadSource) -> LoadReport:
        if source.watcher_address:
            return watcher_report(await self._get(source, f"{source.watcher_address}/watcher", {}))
        now = int(self._clock.now())
        if source.provider == PROMETHEUS:
            return LoadReport(now, await self._query_prometheus(source))
        return metrics_server_report(await self._client.request("GET", _NODE_METRICS), self._capacity, now)

    async def _query_prometheus(self, source: LoadSource) -> dict[str, list[Metric]]:
        url = f"{(source.address or DEFAULT_PROMETHEUS).rstrip('/')}/api/v1/query"
        found: dict[str, list[Metric]] = {}
        for function, name, type_, operator in PROMETHEUS_QUERIES:
            answer = await self._get(source, url, {"query": f"{function}({name}[{FIFTEEN_MINUTES}])"})
            for node_name, value in prometheus_metrics(answer):
                found.setdefault(node_name, []).append(Metric(type_, operator, value))
        return found

    async def _get(self, source: LoadSource, url: str, query: Mapping[str, str]) -> Any:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS))
        headers = {"Authorization": f"Bearer {source.token}"} if source.token else {}
        verify = not source.insecure_skip_verify
        async with self._session.get(url, params=query, headers=headers, ssl=verify) as response:
            if response.status != 200:
                raise ReportError(f"received status code {response.status} from {url}")
            try:
                return await response.json(content_type=None)
            except ValueError as error:
                raise ReportError(f"{url} answered with invalid JSON: {error}") from error
