"""The process: a service with its connection, its lease, its endpoints and its signals, from start to end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from bayplan.client import (
    USER_AGENT,
    AccessError,
    Callbacks,
    ElectionTimes,
    EventBroadcaster,
    KubeClient,
    LeaderElector,
    LeaseLock,
    Outcome,
    Transport,
    event_client,
    load_access,
    new_identity,
)
from bayplan.clock import SystemClock
from bayplan.config import to_yaml
from bayplan.observe import klog
from bayplan.observe.health import Check
from bayplan.observe.process_metrics import KUBERNETES
from bayplan.process.collecting import Collector
from bayplan.process.observability import (
    ELECTION_TOLERANCE_SECONDS,
    Observability,
    Serving,
    make_endpoints,
)
from bayplan.process.reloading import Reloader
from bayplan.process.settings import Settings
from bayplan.server import ServingError
from bayplan.service import SchedulerService
from bayplan.version import __version__

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Registry

log = klog.get_logger("bayplan.process")

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
#: Renewals are one at a time; the second is for the event about them.
_LEASE_CONNECTIONS: Final = 2


def main(
    loaded: Loaded,
    registry: Registry,
    settings: Settings,
    *,
    reload: Callable[[Registry], Loaded] | None = None,
) -> int:
    """Run until a signal, or until the lease is lost; the exit status. *reload* is for `Reloader`, if wanted."""
    of_log = settings.log
    verbosity = klog.set_up(
        of_log.verbosity, form=of_log.form, modules=of_log.modules, split_stream=of_log.split_stream
    )
    try:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    except ImportError:
        runner = asyncio.Runner()
    with runner:
        try:
            running = run(loaded, registry, settings, verbosity, reload=reload, collector=Collector())
            return runner.run(running)
        except (AccessError, ServingError) as error:
            print(f"Error: {error}", file=sys.stderr)
            return EXIT_FAILED


async def run(
    loaded: Loaded,
    registry: Registry,
    settings: Settings,
    verbosity: klog.Verbosity | None = None,
    *,
    reload: Callable[[Registry], Loaded] | None = None,
    collector: Collector | None = None,
) -> int:
    """*collector* is for a process that does nothing else."""
    shown = verbosity or klog.Verbosity(settings.log.verbosity)
    process = Process(loaded, registry, settings, shown, collector=collector)
    if reload is not None:
        process.reload_with(registry, reload)
    return await process.run()


class Process:
    """One scheduler, wired up; `run` it once."""

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        settings: Settings,
        verbosity: klog.Verbosity,
        *,
        collector: Collector | None = None,
    ) -> None:
        self._loaded = loaded
        self._collector = collector
        self._settings = settings
        self._clock = SystemClock()
        self._stop = asyncio.Event()
        self._synced = False
        #: Whether something that must never end has ended.
        self._failed = False
        self._election: LeaderElector | None = None
        self._reloader: Reloader | None = None
        self._observability = Observability(settings, self._clock)
        access = load_access(settings.kubeconfig, master=settings.master)
        self._transport = Transport(access, self._clock, observer=self._observability.process)
        connection = loaded.config.client_connection
        self._client = KubeClient(
            self._transport,
            self._clock,
            qps=connection.qps,
            burst=connection.burst,
            may_bind=self._may_bind,
        )
        self._event_client = event_client(self._transport, self._clock, qps=connection.qps, burst=connection.burst)
        self._broadcaster = EventBroadcaster(self._event_client, self._clock)
        self._service = SchedulerService(
            loaded,
            registry,
            self._client,
            self._broadcaster,
            clock=self._clock,
            max_unschedulable_seconds=settings.max_unschedulable_seconds,
            metrics=self._observability.scheduler,
            breaker=settings.extender_breaker,
        )
        self._observability.watch(self._service, self._broadcaster, lambda: self._election)
        self._serving = Serving(settings, self._transport, self._clock)
        self._server = self._serving.server(
            make_endpoints(
                settings,
                loaded,
                self._service,
                self._observability,
                verbosity=verbosity,
                is_leading=self._may_bind,
                checks=self._checks(),
            )
        )

    def reload_with(self, registry: Registry, configure: Callable[[Registry], Loaded]) -> None:
        """Load the plugin files of *registry* anew when they are saved."""
        self._reloader = Reloader(self._service, registry, configure)

    def _may_bind(self) -> bool:
        if not self._loaded.config.leader_election.leader_elect:
            return True
        return self._election is not None and self._election.is_leader()

    def _checks(self) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
        """Of /healthz and of /readyz, under the names that kube-scheduler's have."""
        elected: tuple[Check, ...] = ()
        if self._loaded.config.leader_election.leader_elect:
            elected = (Check("leaderElection", self._election_trouble),)
        return elected, (
            *elected,
            Check("shutdown", lambda: "process is shutting down" if self._stop.is_set() else None),
            Check("sched-handler-sync", lambda: None if self._synced else "handlers are not fully synchronized"),
        )

    def _election_trouble(self) -> str | None:
        return self._election.overdue(ELECTION_TOLERANCE_SECONDS) if self._election is not None else None

    # --- running ----------------------------------------------------------------------------------

    async def run(self) -> int:
        self._greet()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        config = self._loaded.config
        watching = asyncio.create_task(self._stop_when_blind())
        try:
            if self._server is not None:
                await self._server.start()
            if not (config.delay_cache_until_active and config.leader_election.leader_elect):
                await self._sync()
            if config.leader_election.leader_elect:
                status = await self._lead()
            else:
                await self._schedule()
                status = EXIT_OK
            return EXIT_FAILED if self._failed else status
        finally:
            watching.cancel()
            await self._close()

    async def _stop_when_blind(self) -> None:
        """A scheduler that is blind to a part of the cluster decides wrongly for ever: better a new one."""
        failure = await self._service.informers.wait_failed()
        log.error(failure.error, "Watch ended for good, stopping", trace=failure.error, resource=failure.name)
        self._failed = True
        self._stop.set()

    def _greet(self) -> None:
        settings = self._settings
        for name, value in settings.flags.items():
            log.info(f'FLAG: --{name}="{value}"', v=1)
        for flag, reason in settings.without_effect.items():
            log.info("Flag has no effect here", flag=flag, reason=reason)
        log.info("Starting Bayplan", version=__version__, kubernetes=f"v{KUBERNETES}")
        profiles = list(self._service.scheduler.profiles)
        log.info("Connecting", server=self._transport.access.server, profiles=profiles)
        if log.enabled(2):
            log.info("Using component config", v=2, config=to_yaml(self._loaded.effective()))

    async def _sync(self) -> None:
        if self._collector is not None:
            self._collector.before_reading()
        await _until(self._service.sync(), self._stop)
        self._synced = self._service.informers.is_synced
        if self._collector is not None:
            self._collector.after_reading()
        if self._synced:
            log.info("Handlers synced", v=3)

    async def _schedule(self) -> None:
        """Try pods until the stop; the controllers, if they are wanted, work as long as that."""
        beside: list[asyncio.Task[None]] = []
        if self._settings.controllers:
            beside.append(asyncio.create_task(_controllers(self._client, self._clock), name="controllers"))
        if self._collector is not None:
            beside.append(asyncio.create_task(self._collector.run(self._clock), name="garbage collector"))
        if self._reloader is not None:
            beside.append(asyncio.create_task(self._reloader.run(), name="reloader"))
        try:
            await self._service.schedule(self._stop)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _lead(self) -> int:
        """Schedule while we lead. A lost lease ends the process: somebody else may be at it already."""
        config = self._loaded.config
        leading = asyncio.Event()
        times = ElectionTimes.of(config.leader_election)
        transport = self._transport.sibling(
            timeout_seconds=times.request_timeout,
            max_connections=_LEASE_CONNECTIONS,
            user_agent=f"{USER_AGENT} leader-election",
        )
        client = KubeClient(transport, self._clock)
        lock = LeaseLock(
            client,
            self._clock,
            namespace=config.leader_election.resource_namespace,
            name=config.leader_election.resource_name,
            identity=new_identity(),
            component=self._loaded.profiles[0].scheduler_name,
        )
        election = self._election = LeaderElector(lock, times, self._clock, Callbacks(started=leading.set))
        running = asyncio.create_task(election.run())
        running.add_done_callback(lambda task: self._stop.set())
        try:
            await _until(leading.wait(), self._stop)
            if leading.is_set():
                if config.delay_cache_until_active:
                    await self._sync()
                await self._schedule()
            election.stop()
            if await running is Outcome.LOST:
                log.error(None, "Leaderelection lost")
                return EXIT_FAILED
            log.info("Requested to terminate, exiting")
            return EXIT_OK
        finally:
            await client.close()

    async def _close(self) -> None:
        await self._service.close()
        if self._server is not None:
            await self._server.stop()
        await self._serving.close()
        await self._event_client.close()
        await self._client.close()


async def _controllers(client: KubeClient, clock: SystemClock) -> None:
    from bayplan.controllers.manager import FAMILY, Manager  # few want them, and they take long to import

    await Manager(client, clock, FAMILY).run()


async def _until(running: Coroutine[Any, Any, object], stop: asyncio.Event) -> None:
    """Wait for *running*, but not beyond *stop*."""
    task = asyncio.create_task(running)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        task.cancel()
        stopping.cancel()
