"""Runs the process: the scheduler service with its connection, lease, endpoints and signals.

The service runs in the main thread. The Lease and the endpoints have a thread of their own, and so has the
watchdog: a plugin that does not return holds up the decisions and nothing else.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from bayplan.client import (
    USER_AGENT,
    AccessError,
    ElectionTimes,
    EventBroadcaster,
    HttpTransport,
    KubeClient,
    LeaderElector,
    LeaseLock,
    Outcome,
    event_client,
    load_access,
    new_identity,
)
from bayplan.clock import SystemClock
from bayplan.config import to_yaml
from bayplan.observe import klog
from bayplan.observe.health import Check
from bayplan.process.background_loop import BackgroundLoop
from bayplan.process.cache_debugger import CacheDebugger
from bayplan.process.event_loops import new_event_loop
from bayplan.process.followed_release import ask_release
from bayplan.process.garbage_collection import GcTuner
from bayplan.process.inspection import Inspections
from bayplan.process.observability import (
    ELECTION_TOLERANCE_SECONDS,
    Observability,
    SchedulerThread,
    Serving,
    make_endpoints,
)
from bayplan.process.reloading import Reloader
from bayplan.process.settings import Settings
from bayplan.process.stop_signals import StopSignals
from bayplan.process.watchdog import StallActions, Watchdog
from bayplan.server import ServingError
from bayplan.shell.service import SchedulerService
from bayplan.version import __version__

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Registry
    from bayplan.release import Release

log = klog.get_logger("bayplan.process")

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
#: One for renewals, one for the events about them.
_LEASE_CONNECTIONS: Final = 2
#: A process that is ended by force waits no longer than this for the Lease to be released.
_RELEASE_SECONDS: Final = 3.0


def main(
    loaded: Loaded,
    registry: Registry,
    settings: Settings,
    *,
    reload: Callable[[Registry], Loaded] | None = None,
    configure: Callable[[Release], tuple[Loaded, Registry, Settings]] | None = None,
) -> int:
    """Run until a signal, or until the lease is lost; returns the exit status. *reload*: enables the
    `Reloader`. *configure*: follow the release of the API server, with what this returns for it."""
    of_log = settings.log
    verbosity = klog.set_up(
        of_log.verbosity, form=of_log.form, modules=of_log.modules, split_stream=of_log.split_stream
    )
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        try:
            if configure is not None:
                release = runner.run(_server_release(settings))
                if release is not loaded.release:
                    loaded, registry, settings = configure(release)
            running = run(loaded, registry, settings, verbosity, reload=reload, collector=GcTuner())
            return runner.run(running)
        except (AccessError, ServingError) as error:
            print(f"Error: {error}", file=sys.stderr)
            return EXIT_FAILED


async def _server_release(settings: Settings) -> Release:
    followed = await ask_release(load_access(settings.kubeconfig, master=settings.master))
    if followed.warning:
        log.error(None, f"Warning: {followed.warning}")
    return followed.release


async def run(
    loaded: Loaded,
    registry: Registry,
    settings: Settings,
    verbosity: klog.Verbosity | None = None,
    *,
    reload: Callable[[Registry], Loaded] | None = None,
    collector: GcTuner | None = None,
) -> int:
    """*collector*: only for a process that runs nothing else."""
    shown = verbosity or klog.Verbosity(settings.log.verbosity)
    process = Process(loaded, registry, settings, shown, collector=collector)
    if reload is not None:
        process.reload_with(registry, reload)
    return await process.run()


class Process:
    """One scheduler with everything it needs; `run` it once."""

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        settings: Settings,
        verbosity: klog.Verbosity,
        *,
        collector: GcTuner | None = None,
    ) -> None:
        self._loaded = loaded
        self._collector = collector
        self._settings = settings
        self._clock = SystemClock()
        self._stop = asyncio.Event()
        self._synced = False
        #: Whether a watch has failed for good.
        self._failed = False
        self._election: LeaderElector | None = None
        self._electing: concurrent.futures.Future[Outcome] | None = None
        self._loop = asyncio.get_running_loop()
        #: Where the Lease is renewed and requests are answered, whatever plugins do; from `run` on.
        self._background: BackgroundLoop
        self._watchdog = Watchdog(
            self._loop,
            StallActions(
                count=lambda plugin, point: self._observability.scheduler.stalled(plugin, point),
                step_down=self._step_down,
                before_exit=self._release_lease,
            ),
            plugin_timeout=settings.plugin_timeout,
        )
        self._scheduler_thread = SchedulerThread(self._loop, self._watchdog)
        self._reloader: Reloader | None = None
        self._observability = Observability(settings, self._clock)
        access = load_access(settings.kubeconfig, master=settings.master)
        self._transport = HttpTransport(access, self._clock, observer=self._observability.process)
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
            plugin_metrics=self._observability.registry,
            breaker=settings.extender_breaker,
            annotates_results=settings.annotates_results,
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
                inspections=Inspections(
                    self._service, loaded, registry, self._clock, self._scheduler_thread
                ).handlers(),
            ),
            self._scheduler_thread,
        )

    def reload_with(self, registry: Registry, configure: Callable[[Registry], Loaded]) -> None:
        """Reload the plugin files of *registry* when they change."""
        self._reloader = Reloader(self._service, registry, configure)

    def _may_bind(self) -> bool:
        if not self._loaded.config.leader_election.leader_elect:
            return True
        return self._election is not None and self._election.is_leader()

    def _checks(self) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
        """Those of /healthz and those of /readyz, with the names of kube-scheduler."""
        elected: tuple[Check, ...] = ()
        if self._loaded.config.leader_election.leader_elect:
            elected = (Check("leaderElection", self._election_failure),)
        return elected, (
            *elected,
            Check("shutdown", lambda: "process is shutting down" if self._stop.is_set() else None),
            Check("sched-handler-sync", lambda: None if self._synced else "handlers are not fully synchronized"),
            Check("scheduler-loop", self._watchdog.why_not_ready),
        )

    def _election_failure(self) -> str | None:
        return self._election.overdue(ELECTION_TOLERANCE_SECONDS) if self._election is not None else None

    # --- running ----------------------------------------------------------------------------------

    async def run(self) -> int:
        self._log_startup()
        self._background = BackgroundLoop("background")
        self._watchdog.start()
        try:
            with (
                StopSignals(self._ask_to_stop),
                CacheDebugger(self._service.core, self._service.informers),
            ):
                return await self._run()
        finally:
            self._watchdog.stop()
            self._background.close()

    def _ask_to_stop(self) -> None:
        self._service.ask_to_stop()
        self._watchdog.stop_asked()
        self._loop.call_soon_threadsafe(self._stop.set)

    async def _run(self) -> int:
        config = self._loaded.config
        watching = asyncio.create_task(self._stop_on_failed_watch())
        try:
            if self._server is not None:
                await self._background.run(self._server.start())
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

    async def _stop_on_failed_watch(self) -> None:
        """Stop if a watch fails for good: without it the scheduler would decide on stale data."""
        failure = await self._service.informers.wait_failed()
        log.error(failure.error, "Watch failed permanently, stopping", trace=failure.error, resource=failure.name)
        self._failed = True
        self._stop.set()

    def _log_startup(self) -> None:
        settings = self._settings
        for name, value in settings.flags.items():
            log.info(f'FLAG: --{name}="{value}"', v=1)
        for flag, reason in settings.without_effect.items():
            log.info("Flag has no effect here", flag=flag, reason=reason)
        log.info("Starting Bayplan", version=__version__, kubernetes=f"v{settings.release.version}")
        profiles = list(self._service.core.profiles)
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
        """Schedule pods until the stop, with the controllers and other background tasks beside it."""
        background: list[asyncio.Task[None]] = []
        if self._settings.controllers:
            background.append(asyncio.create_task(_controllers(self._client, self._clock), name="controllers"))
        if self._collector is not None:
            background.append(asyncio.create_task(self._collector.run(self._clock), name="garbage collector"))
        if self._reloader is not None:
            background.append(asyncio.create_task(self._reloader.run(), name="reloader"))
        try:
            look = self._reloader.look if self._reloader is not None else None
            await self._service.schedule(self._stop, between_attempts=look)
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)

    async def _lead(self) -> int:
        """Schedule while this replica is the leader. A lost lease ends the process: another replica may already
        lead."""
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
        election = self._election = LeaderElector(
            lock, times, self._clock, on_started=lambda: self._loop.call_soon_threadsafe(leading.set)
        )
        self._electing = self._background.start(election.run())
        running = asyncio.wrap_future(self._electing)
        running.add_done_callback(lambda task: self._stop.set())
        try:
            await _until(leading.wait(), self._stop)
            if leading.is_set():
                if config.delay_cache_until_active:
                    await self._sync()
                await self._schedule()
            self._background.call(election.stop)
            if await running is not Outcome.STOPPED:
                log.error(None, "Leaderelection lost")
                return EXIT_FAILED
            log.info("Requested to terminate, exiting")
            return EXIT_OK
        finally:
            await self._background.run(client.close())

    def _step_down(self, reason: str) -> None:
        """A leader that cannot decide leaves the work to another replica; in the watchdog's thread."""
        election = self._election
        if election is not None and election.is_leader():
            self._background.call(lambda: election.step_down(reason))
            self._watchdog.stop_asked()

    def _release_lease(self) -> None:
        """Before the process is ended by force; in the watchdog's thread."""
        if self._election is not None and self._electing is not None:
            self._background.call(self._election.stop)
            with contextlib.suppress(Exception, concurrent.futures.CancelledError):
                self._electing.result(_RELEASE_SECONDS)

    async def _close(self) -> None:
        await self._service.close()
        if self._server is not None:
            await self._background.run(self._server.stop())
        await self._background.run(self._serving.close())
        await self._event_client.close()
        await self._client.close()


async def _controllers(client: KubeClient, clock: SystemClock) -> None:
    from bayplan.controllers.manager import (  # few want them, and they take long to import
        SCHEDULER_PLUGINS_CONTROLLERS,
        ControllerManager,
    )

    await ControllerManager(client, clock, SCHEDULER_PLUGINS_CONTROLLERS).run()


async def _until(running: Coroutine[Any, Any, object], stop: asyncio.Event) -> None:
    """Wait for *running*, or until *stop* is set."""
    task = asyncio.create_task(running)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        task.cancel()
        stopping.cancel()
