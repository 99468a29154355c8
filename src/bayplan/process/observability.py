"""Metrics, health checks and the endpoints that serve them, wired together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bayplan.client import HttpTransport, KubeClient, load_access
from bayplan.observe.health import Check, HealthChecks, HealthResults
from bayplan.observe.instruments import MetricsRegistry
from bayplan.observe.observers import SchedulerMetrics
from bayplan.observe.pod_resources import PodResources
from bayplan.observe.process_metrics import ProcessMetrics
from bayplan.server import DelegatingAuthenticator, DelegatingAuthorizer, Endpoints, SecureServer
from bayplan.server.profiling import Profiling

if TYPE_CHECKING:
    from bayplan.client import EventBroadcaster, LeaderElector
    from bayplan.config import Loaded
    from bayplan.framework import Clock
    from bayplan.observe.klog import Verbosity
    from bayplan.process.settings import Settings
    from bayplan.process.watchdog import Watchdog
    from bayplan.server.http_endpoints import Inspection
    from bayplan.shell.service import SchedulerService

T = TypeVar("T")

#: How long a request waits for the scheduler's thread.
_PATIENCE_SECONDS: Final = 0.5
#: upstream NewLeaderHealthzAdaptor: how long a leader that should have stopped still counts as healthy.
ELECTION_TOLERANCE_SECONDS: Final = 20.0
#: upstream uses this name in the metric, whatever the name of the Lease.
LEASE_METRIC_NAME: Final = "kube-scheduler"
#: Reviews have connections of their own, so that they and binds do not wait for each other.
_REVIEW_CONNECTIONS: Final = 4
_REVIEW_SECONDS: Final = 10.0


class Observability:
    """The metrics of a process; created before everything that is measured."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.scheduler = SchedulerMetrics(clock.now, release=settings.release)
        self.process = ProcessMetrics(settings.release)
        self.registry = MetricsRegistry(settings.disabled_metrics)
        self.registry.add(*self.scheduler.families.all())
        self.process.join(self.registry)

    def watch(
        self,
        service: SchedulerService,
        broadcaster: EventBroadcaster,
        election: Callable[[], LeaderElector | None],
    ) -> None:
        """Update the metrics of these at every scrape."""

        def refresh() -> None:
            service.refresh_metrics()
            self.process.set_depths({"events": broadcaster.n_queued})
            self.process.set_events(asdict(broadcaster.counts))
            self.process.set_store_versions(service.informers.store_versions())
            elector = election()
            if elector is not None:
                self.process.set_leading(LEASE_METRIC_NAME, elector.is_leader())

        self.registry.before_scrape(refresh)


class SchedulerThread:
    """Runs functions in the thread of the scheduler, for what reads the scheduler's data."""

    def __init__(self, loop: asyncio.AbstractEventLoop, watchdog: Watchdog) -> None:
        self._loop = loop
        self._watchdog = watchdog

    async def call(self, function: Callable[[], T]) -> T:
        """The result of *function*, called there between two attempts.

        If a plugin holds up the thread, it is called here: then nothing of the scheduler's changes meanwhile.
        """
        if not self.is_held_up:
            called = asyncio.run_coroutine_threadsafe(_as_coroutine(function), self._loop)
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(asyncio.wrap_future(called), _PATIENCE_SECONDS)
        return function()

    @property
    def is_held_up(self) -> bool:
        """Whether a plugin holds up the thread."""
        return self._watchdog.stalled_seconds >= _PATIENCE_SECONDS

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*, which runs there between attempts."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


async def _as_coroutine(function: Callable[[], T]) -> T:
    return function()


class Serving:
    """The endpoints of a running process, and the connections behind them."""

    def __init__(self, settings: Settings, transport: HttpTransport, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._transport = transport
        self._clients: dict[str, KubeClient] = {}

    def _client(self, kubeconfig: str) -> KubeClient:
        """The client for reviews; it needs no rate limit, because the results are cached."""
        if kubeconfig not in self._clients:
            transport = self._transport
            if kubeconfig:
                transport = HttpTransport(load_access(kubeconfig), self._clock)
            sibling = transport.sibling(
                timeout_seconds=_REVIEW_SECONDS, max_connections=_REVIEW_CONNECTIONS, user_agent="bayplan-reviews"
            )
            self._clients[kubeconfig] = KubeClient(sibling, self._clock)
        return self._clients[kubeconfig]

    def server(self, endpoints: Endpoints, scheduler: SchedulerThread) -> SecureServer | None:
        options, access = self._settings.serving, self._settings.access
        if options is None:
            return None
        reviews = self._client(access.authentication_kubeconfig)
        return SecureServer(
            options,
            endpoints,
            DelegatingAuthenticator(reviews, self._clock, ttl_seconds=access.token_ttl_seconds),
            DelegatingAuthorizer(
                self._client(access.authorization_kubeconfig),
                self._clock,
                allowed_ttl_seconds=access.allowed_ttl_seconds,
                denied_ttl_seconds=access.denied_ttl_seconds,
                always_allowed_paths=access.always_allowed_paths,
            ),
            self._clock,
            cluster=reviews,
            in_scheduler=scheduler.call,
        )

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


def make_endpoints(
    settings: Settings,
    loaded: Loaded,
    service: SchedulerService,
    observability: Observability,
    *,
    verbosity: Verbosity,
    is_leading: Callable[[], bool],
    checks: tuple[tuple[Check, ...], tuple[Check, ...]],
    inspections: Mapping[str, Inspection],
) -> Endpoints:
    """*checks*: those of /healthz, and those of /readyz."""
    results = HealthResults()
    of_health, of_readiness = checks
    profiles = loaded.config.enable_profiling
    resources = PodResources(lambda: service.core.pods.values())
    return Endpoints(
        health=(
            HealthChecks("healthz", of_health, results),
            HealthChecks("livez", (), results),
            HealthChecks("readyz", of_readiness, results),
        ),
        health_results=results,
        metrics=observability.registry,
        resources=lambda: resources.text() if is_leading() else None,
        configuration=loaded.effective,
        flags=settings.flags,
        release=settings.release,
        set_verbosity=verbosity.set if profiles else None,
        inspections={**inspections, **(Profiling().handlers() if profiles else {})},
    )
