"""The process of `bayplan shadow`: reads a cluster, judges the placements of its scheduler, writes records."""

from __future__ import annotations

import asyncio
import datetime
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

import msgspec
from aiohttp import web

from bayplan.client import AccessError, HttpTransport, KubeClient, load_access
from bayplan.clock import SystemClock
from bayplan.core.messages import CustomObjectChanged
from bayplan.explain.what_if_scheduler import ObjectChange
from bayplan.model import KubeObject, Node, Pod
from bayplan.observe import klog
from bayplan.observe.instruments import ALPHA, CONTENT_TYPE, Counter, Gauge, MetricsRegistry
from bayplan.server import ServingError
from bayplan.shadow.decision_order import SETTLE_SECONDS, ClusterChange, DecisionOrder, is_placement
from bayplan.shadow.shadow_judge import ShadowJudge
from bayplan.shadow.shadow_record import AGREEING, CLASSES, ShadowRecord, ShadowSummary, SummaryBuilder
from bayplan.watch.informers import InformerFactory

if TYPE_CHECKING:
    from bayplan.client import ClusterAccess
    from bayplan.config import Loaded
    from bayplan.framework import Clock, Registry

log = klog.get_logger("bayplan.shadow")

#: How often held back changes are looked at.
_INTERVAL_SECONDS: Final = 0.1
#: After how many changes the watches get their turn.
_SLICE: Final = 20
LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ShadowSettings:
    """What the flags say."""

    kubeconfig: str = ""
    context: str = ""
    #: None: no metrics; 0: any free port.
    metrics_port: int | None = None
    #: Ends after so many seconds, or so many pods; None: at a signal.
    seconds: float | None = None
    n_pods: int | None = None
    settle_seconds: float = SETTLE_SECONDS
    #: Whether the scheduler has the feature gate OpportunisticBatching.
    batches: bool = True


class NamedConfiguration(NamedTuple):
    name: str
    loaded: Loaded


class ShadowMetrics:
    """Counts of records, by configuration and class."""

    def __init__(self, configs: Iterable[str]) -> None:
        self.placements = Counter(
            "bayplan_shadow_placements_total",
            "Number of pods that the cluster's scheduler placed, by how Bayplan's decision compares.",
            *("config", "class"),
            stability=ALPHA,
        )
        self.agreement = Gauge(
            "bayplan_shadow_agreement_ratio",
            "The share of pods for which both decide alike, ties included.",
            "config",
            stability=ALPHA,
        )
        self.held_back = Gauge(
            "bayplan_shadow_held_back_changes", "Number of changes that wait to be put in order.", stability=ALPHA
        )
        self.registry = MetricsRegistry()
        self.registry.add(self.placements, self.agreement, self.held_back)
        self.registry.before_scrape(self._set_agreement)
        self._configs = tuple(configs)
        for config in self._configs:
            for each in CLASSES:
                self.placements.labels(config, each)

    def _set_agreement(self) -> None:
        for config in self._configs:
            counts = {each: self.placements.labels(config, each).value for each in CLASSES}
            total = sum(counts.values())
            alike = sum(counts[each] for each in AGREEING)
            self.agreement.labels(config).set(alike / total if total else 1.0)


class ShadowProcess:
    """One run beside a cluster's scheduler; `run` it once."""

    def __init__(
        self,
        configurations: Sequence[NamedConfiguration],
        registry: Registry,
        client: KubeClient,
        clock: Clock,
        settings: ShadowSettings,
        on_record: Callable[[ShadowRecord], None],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._judges = [
            ShadowJudge(name, loaded, registry, clock, batches=settings.batches) for name, loaded in configurations
        ]
        self._order = DecisionOrder(_ordered_schedulers(configurations), settings.settle_seconds)
        self._informers = InformerFactory(client, clock)
        #: Set when the cluster is read: what is placed from then on is judged.
        self.synced = asyncio.Event()
        self._on_record = on_record
        self._n_placed = 0
        self._stop = asyncio.Event()
        names = [each.name for each in configurations]
        self.metrics = ShadowMetrics(names)
        self._summary = SummaryBuilder(names)

    def stop(self) -> None:
        self._stop.set()

    @property
    def n_held_back(self) -> int:
        """How many changes wait to be put in order."""
        return self._order.n_held_back

    async def run(self) -> ShadowSummary:
        """Until `stop`, or the end that the settings set. Raises ServingError."""
        async with AsyncExitStack() as stack:
            await self._serve_metrics(stack)
            self._watch()
            stack.push_async_callback(self._informers.stop)
            if await self._sync():
                await self._judge_until_stopped()
        return self._summary.summary()

    def _watch(self) -> None:
        """Everything that the plugins of any configuration read."""
        kinds: set[type[KubeObject]] = {Pod, Node}
        custom: set[tuple[str, str]] = set()
        for judge in self._judges:
            kinds |= set(judge.core.objects.kinds)
            custom |= set(judge.core.objects.custom_kinds)
        for kind in kinds:
            self._informers.on_change(kind, self._object_changed)
        for api_version, plural in custom:
            self._informers.on_custom_change(
                api_version, plural, partial(self._custom_changed, api_version, plural)
            )
        self._informers.start()

    def _object_changed(self, old: KubeObject | None, new: KubeObject | None) -> None:
        self._order.add(ObjectChange(old, new), self._clock.monotonic(), is_new=self.synced.is_set())

    def _custom_changed(
        self, api_version: str, plural: str, old: dict[str, Any] | None, new: dict[str, Any] | None
    ) -> None:
        change = CustomObjectChanged(api_version, plural, old, new)
        self._order.add(change, self._clock.monotonic(), is_new=self.synced.is_set())

    async def _sync(self) -> bool:
        """Read the cluster; false if the process is to stop first."""
        synced = asyncio.create_task(self._informers.wait_synced())
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait((synced, stopped), return_when=asyncio.FIRST_COMPLETED)
        for task in (synced, stopped):
            task.cancel()
        for change in self._order.flush():
            self._follow(change)
        self.synced.set()
        core = self._judges[0].core
        log.info("The cluster is read", nodes=core.cache.n_nodes, pods=len(core.pods))
        return not self._stop.is_set()

    async def _judge_until_stopped(self) -> None:
        settings, began = self._settings, self._clock.monotonic()
        while not self._stop.is_set():
            await self._take(self._order.due(self._clock.monotonic()))
            self.metrics.held_back.labels().set(self.n_held_back)
            if settings.seconds is not None and self._clock.monotonic() - began >= settings.seconds:
                break
            if settings.n_pods is not None and self._n_placed >= settings.n_pods:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _INTERVAL_SECONDS)
        await self._take(self._order.flush())

    async def _take(self, changes: Iterable[ClusterChange]) -> None:
        for number, change in enumerate(changes, start=1):
            if isinstance(change, ObjectChange) and is_placement(change) and isinstance(change.new, Pod):
                self._judge(change.new)
            self._follow(change)
            if number % _SLICE == 0:
                await asyncio.sleep(0)

    def _follow(self, change: ClusterChange) -> None:
        for judge in self._judges:
            try:
                judge.follow(change)
            except ValueError as error:
                log.error(error, "Left out")

    def _judge(self, placed: Pod) -> None:
        time = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        records = [judge.judge(placed, self._order, time) for judge in self._judges]
        self._n_placed += any(record is not None for record in records)
        for record in records:
            if record is not None:
                self._summary.add(record)
                self.metrics.placements.labels(record.config, record.class_).inc()
                self._on_record(record)

    async def _serve_metrics(self, stack: AsyncExitStack) -> None:
        port = self._settings.metrics_port
        if port is None:
            return
        app = web.Application()
        app.router.add_get("/metrics", self._metrics_response)
        runner = web.AppRunner(app)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        try:
            await web.TCPSite(runner, LOOPBACK, port).start()
        except OSError as error:
            raise ServingError(f"cannot serve metrics on {LOOPBACK}:{port}: {error.strerror or error}") from None
        log.info("Serving metrics", address=f"http://{LOOPBACK}:{runner.addresses[0][1]}/metrics")

    async def _metrics_response(self, request: web.Request) -> web.Response:
        return web.Response(body=self.metrics.registry.text(), headers={"Content-Type": CONTENT_TYPE})


def _ordered_schedulers(configurations: Sequence[NamedConfiguration]) -> frozenset[str]:
    """The schedulerNames whose pods wait in the order of PrioritySort."""
    return frozenset(
        profile.scheduler_name
        for _, loaded in configurations
        for profile in loaded.profiles
        if [each.name for each in profile.points["queueSort"]] == ["PrioritySort"]
    )


def main(
    configurations: Sequence[NamedConfiguration],
    registry: Registry,
    settings: ShadowSettings,
    *,
    output: BinaryIO | None,
    on_record: Callable[[ShadowRecord], None],
) -> ShadowSummary | None:
    """Judge until the end; records go to *output* as JSONL, and to *on_record*. None if it could not begin."""

    def write(record: ShadowRecord) -> None:
        if output is not None:
            output.write(msgspec.json.encode(record) + b"\n")
            output.flush()
        on_record(record)

    try:
        access = load_access(settings.kubeconfig, context=settings.context)
        with asyncio.Runner() as runner:
            summary = runner.run(_run(configurations, registry, access, settings, write))
    except (AccessError, ServingError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return None
    if output is not None:
        output.write(msgspec.json.encode(summary) + b"\n")
    return summary


async def _run(
    configurations: Sequence[NamedConfiguration],
    registry: Registry,
    access: ClusterAccess,
    settings: ShadowSettings,
    write: Callable[[ShadowRecord], None],
) -> ShadowSummary:
    clock = SystemClock()
    client = KubeClient(HttpTransport(access, clock, user_agent="bayplan-shadow"), clock)
    process = ShadowProcess(configurations, registry, client, clock, settings, write)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, process.stop)
    try:
        return await process.run()
    finally:
        await client.close()
