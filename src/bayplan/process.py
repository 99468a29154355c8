"""The process: a service with its connection, its lease and its signals, from start to end."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bayplan.client import (
    AccessError,
    Callbacks,
    ElectionTimes,
    EventBroadcaster,
    KubeClient,
    LeaderElector,
    LeaseLock,
    Outcome,
    Transport,
    load_access,
    new_identity,
)
from bayplan.clock import SystemClock
from bayplan.service import SchedulerService

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Registry

logger = logging.getLogger("bayplan.process")

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What flags say, beside the configuration."""

    kubeconfig: str = ""
    master: str = ""
    leader_elect: bool = True
    verbosity: int = 2


def main(loaded: Loaded, registry: Registry, settings: Settings) -> int:
    """Run until a signal, or until the lease is lost; the exit status."""
    _set_up_logging(settings.verbosity)
    try:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    except ImportError:
        runner = asyncio.Runner()
    with runner:
        try:
            return runner.run(run(loaded, registry, settings))
        except AccessError as error:
            print(f"Error: {error}", file=sys.stderr)
            return EXIT_FAILED


async def run(loaded: Loaded, registry: Registry, settings: Settings) -> int:
    clock = SystemClock()
    connection = loaded.config.client_connection
    access = load_access(settings.kubeconfig, master=settings.master)
    election: LeaderElector | None = None

    def may_bind() -> bool:
        return election is None or election.is_leader()

    client = KubeClient(
        Transport(access, clock), clock, qps=connection.qps, burst=connection.burst, may_bind=may_bind
    )
    broadcaster = EventBroadcaster(client, clock)
    service = SchedulerService(loaded, registry, client, broadcaster, clock=clock)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    logger.info("Starting: server=%s profiles=%s", access.server, ",".join(service.scheduler.profiles))
    try:
        await _until(service.sync(), stop)
        if not settings.leader_elect:
            await service.schedule(stop)
            return EXIT_OK
        leader_election = loaded.config.leader_election
        lock = LeaseLock(
            client,
            clock,
            namespace=leader_election.resource_namespace,
            name=leader_election.resource_name,
            identity=new_identity(),
        )
        leading = asyncio.Event()
        election = LeaderElector(lock, ElectionTimes.of(leader_election), clock, Callbacks(started=leading.set))
        return await _lead(service, election, leading, stop)
    finally:
        await service.close()
        await client.close()


async def _lead(
    service: SchedulerService, election: LeaderElector, leading: asyncio.Event, stop: asyncio.Event
) -> int:
    """Schedule while we lead. A lost lease ends the process: somebody else may be at it already."""
    running = asyncio.create_task(election.run())
    running.add_done_callback(lambda task: stop.set())
    await _until(leading.wait(), stop)
    if leading.is_set():
        await service.schedule(stop)
    election.stop()
    if await running is Outcome.LOST:
        logger.error("Leaderelection lost")
        return EXIT_FAILED
    return EXIT_OK


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


def _set_up_logging(verbosity: int) -> None:
    """klog's verbosity: 0 is what must be seen, 2 the usual, 4 and more for debugging."""
    level = logging.WARNING if verbosity <= 0 else logging.INFO if verbosity < 4 else logging.DEBUG
    logging.basicConfig(level=level, format="%(levelname).1s%(asctime)s %(name)s] %(message)s", stream=sys.stderr)
