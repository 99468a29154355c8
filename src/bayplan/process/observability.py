"""What a process shows of itself: metrics, health and the endpoints that serve them, put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from bayplan.client import KubeClient, Transport, load_access
from bayplan.observe.health import Check, HealthChecks, HealthResults
from bayplan.observe.instruments import Registry
from bayplan.observe.observers import SchedulerMetrics
from bayplan.observe.process_metrics import ProcessMetrics
from bayplan.observe.resources import PodResources
from bayplan.server import Authenticator, Authorizer, Endpoints, SecureServer

if TYPE_CHECKING:
    from bayplan.client import EventBroadcaster, LeaderElector
    from bayplan.config import Loaded
    from bayplan.framework import Clock
    from bayplan.observe.klog import Verbosity
    from bayplan.process.settings import Settings
    from bayplan.service import SchedulerService

#: upstream NewLeaderHealthzAdaptor: how long a leader that should have stopped is still called healthy.
ELECTION_TOLERANCE_SECONDS: Final = 20.0
#: upstream gives the lease this name in its metric, whatever the Lease is called.
LEASE_METRIC_NAME: Final = "kube-scheduler"
#: A review must not wait for binds, nor binds for it.
_REVIEW_CONNECTIONS: Final = 4
_REVIEW_SECONDS: Final = 10.0


class Observability:
    """The metrics of a process; made before anything that is measured."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.scheduler = SchedulerMetrics(clock.now)
        self.process = ProcessMetrics(settings.gates)
        self.registry = Registry(settings.disabled_metrics)
        self.registry.add(*self.scheduler.families.all())
        self.process.join(self.registry)

    def watch(
        self,
        service: SchedulerService,
        broadcaster: EventBroadcaster,
        election: Callable[[], LeaderElector | None],
    ) -> None:
        """Ask these how things stand, at every scrape."""

        def refresh() -> None:
            service.refresh_metrics()
            self.process.set_depths({"events": broadcaster.n_queued})
            self.process.set_events(asdict(broadcaster.counts))
            elector = election()
            if elector is not None:
                self.process.set_leading(LEASE_METRIC_NAME, elector.is_leader())

        self.registry.before_scrape(refresh)


class Serving:
    """The endpoints of a running process, and the connections behind them."""

    def __init__(self, settings: Settings, transport: Transport, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._transport = transport
        self._clients: dict[str, KubeClient] = {}

    def _client(self, kubeconfig: str) -> KubeClient:
        """For reviews: without a limit of its own, because what is remembered is limit enough."""
        if kubeconfig not in self._clients:
            transport = self._transport
            if kubeconfig:
                transport = Transport(load_access(kubeconfig), self._clock)
            sibling = transport.sibling(
                timeout_seconds=_REVIEW_SECONDS, max_connections=_REVIEW_CONNECTIONS, user_agent="bayplan-reviews"
            )
            self._clients[kubeconfig] = KubeClient(sibling, self._clock)
        return self._clients[kubeconfig]

    def server(self, endpoints: Endpoints) -> SecureServer | None:
        options, access = self._settings.serving, self._settings.access
        if options is None:
            return None
        reviews = self._client(access.authentication_kubeconfig)
        return SecureServer(
            options,
            endpoints,
            Authenticator(reviews, self._clock, ttl_seconds=access.token_ttl_seconds),
            Authorizer(
                self._client(access.authorization_kubeconfig),
                self._clock,
                allowed_ttl_seconds=access.allowed_ttl_seconds,
                denied_ttl_seconds=access.denied_ttl_seconds,
                always_allowed_paths=access.always_allowed_paths,
            ),
            self._clock,
            cluster=reviews,
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
) -> Endpoints:
    """*checks* are those of /healthz and of /readyz."""
    results = HealthResults()
    of_health, of_readiness = checks
    resources = PodResources(lambda: service.handlers.pods.values())
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
        set_verbosity=verbosity.set if loaded.config.enable_profiling else None,
    )
