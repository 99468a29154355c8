"""The service: drives a core against an API server, on one asyncio loop.

Informers feed the core, a loop lets it try pods while there are any, and its instructions are carried out beside
the loop. Only a leader tries pods; the cluster is read in any case, so that a new leader can start at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, assert_never

from bayplan.client.errors import ClientError, NotFoundError
from bayplan.client.load_watcher import LoadWatcher
from bayplan.config import Loaded
from bayplan.core.messages import (
    AskExtenders,
    EndWait,
    ExtendersAnswered,
    Input,
    Instruction,
    RecordEvent,
    StartBinding,
    StartPreemption,
    StartWork,
    WaitEnded,
    WriteStatus,
)
from bayplan.framework.extenders import ExtenderError
from bayplan.model import Pod
from bayplan.observe import klog
from bayplan.observe.observers import SchedulerMetrics
from bayplan.observe.record import Ring
from bayplan.queue.queue import MAX_UNSCHEDULABLE_SECONDS
from bayplan.scheduler import new_core
from bayplan.shell.background_tasks import BackgroundTasks
from bayplan.shell.binding_cycle import BindingCycle
from bayplan.shell.cluster_feed import ClusterFeed
from bayplan.shell.eviction import Evictor
from bayplan.shell.extender_driver import call_extenders
from bayplan.shell.result_annotations import ATTEMPT_ENDED, ResultAnnotations

if TYPE_CHECKING:
    from bayplan.client import EventBroadcaster, KubeClient
    from bayplan.core.waiting_pods import WaitingPod
    from bayplan.extender import BreakerSettings
    from bayplan.framework import Clock, EventRecorder, Registry
    from bayplan.model import QuantityText
    from bayplan.observe.instruments import MetricsRegistry
    from bayplan.queue import SchedulingQueue

log = klog.get_logger("bayplan.service")

#: The loop tries pods for this long before it lets I/O have its turn.
SLICE_SECONDS: Final = 0.005
#: Decisions pause while this many pods wait for nothing but the answer to their bind, and go on at the second
#: number. More would not be bound sooner: they would only hold memory. Pods that a PreBind plugin works for do not
#: count, since it may wait for minutes, and for something that another pod has to bring about.
MAX_BINDING: Final = 1_000
_RESUME_BINDING: Final = 750
#: A stop waits no longer than this for binds that are under way.
FINISH_SECONDS: Final = 30.0


class SchedulerService:
    """Drives one core; see the module docstring."""

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        client: KubeClient,
        broadcaster: EventBroadcaster,
        *,
        clock: Clock,
        seed: int | None = None,
        max_unschedulable_seconds: float = MAX_UNSCHEDULABLE_SECONDS,
        metrics: SchedulerMetrics | None = None,
        plugin_metrics: MetricsRegistry | None = None,
        breaker: BreakerSettings | None = None,
        annotates_results: bool = False,
    ) -> None:
        """*annotates_results*: whether the results of attempts are written to the pods, as annotations."""
        self._clock = clock
        self.metrics = metrics if metrics is not None else SchedulerMetrics(clock.now)
        self._client = client
        self._broadcaster = broadcaster
        self._recorders: dict[str, EventRecorder] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        #: The loop of all tasks: asking for the running one each time is a system call.
        self._loop: asyncio.AbstractEventLoop | None = None
        #: Whether the loop has something to look at, and what it awaits while it has not.
        self._is_ready = False
        self._alarm: asyncio.Future[None] | None = None
        #: Binding cycles under way, and those of them that have nothing to do before Bind.
        self._n_binding = 0
        self._n_only_binding = 0
        #: Whether decisions wait for binds.
        self._is_paused = False
        self._background = BackgroundTasks(clock)
        self.records = Ring()
        self.core = new_core(
            loaded,
            registry,
            clock=clock,
            client=client,
            breaker=breaker,
            extender_observer=self.metrics,
            max_unschedulable_seconds=max_unschedulable_seconds,
            seed=seed,
            records=self.records,
            observer=self.metrics,
            wake=self.wake,
            background=self._background,
            metrics=plugin_metrics,
        )
        self._binding_cycle = BindingCycle(self._handle, self._write_nomination, self.core.extenders)
        self._evictor = Evictor(self._handle, client, self.metrics)
        self.feed = ClusterFeed(self.core, client, clock, self._handle)
        self.informers = self.feed.informers
        self._annotations = ResultAnnotations(self.core, self.records, client) if annotates_results else None
        self._load_watcher = LoadWatcher(client, self._capacity, clock)

    @property
    def queue(self) -> SchedulingQueue:
        return self.core.queue

    def replace_plugins(self, loaded: Loaded, registry: Registry) -> None:
        """Run the classes of *registry* from now on; to be called between two attempts.

        PluginError, and nothing has changed, if one cannot be made.
        """
        self.core.replace_plugins(loaded, registry)
        self.feed.watch_what_plugins_need()

    def refresh_metrics(self) -> None:
        """Set the gauges to their present values."""
        cache, queue = self.core.cache, self.core.queue
        self.metrics.flush()
        self.metrics.set_sizes(
            pending=queue.counts()._asdict(),
            cache={"nodes": cache.n_nodes, "pods": cache.n_pods, "assumed_pods": cache.n_assumed},
            in_flight=queue.in_flight_events(),
            n_binding=self._n_binding + len(self.core.waiting_pods),
        )

    # --- running ------------------------------------------------------------------------------------------

    async def sync(self) -> None:
        """Read the whole cluster, and go on watching it."""
        self._broadcaster.start(defer_while=self._are_binds_waiting)
        self._background.begin()
        self.feed.start()
        await self.informers.wait_synced()
        await self._load_watcher.start(self.core.loads)
        log.info(f"Caches are synced: {self.core.cache.n_nodes} nodes, {len(self.core.pods)} pods")

    async def schedule(self, stop: asyncio.Event, *, between_attempts: Callable[[], None] | None = None) -> None:
        """Try pods until *stop* is set; binds under way are finished then.

        *between_attempts* is called where no attempt is under way, before the next ones.
        """
        stopping = asyncio.create_task(stop.wait())
        stopping.add_done_callback(lambda _: self.wake())
        try:
            while not stop.is_set():
                self._is_ready = False
                if between_attempts is not None and not self.core.is_suspended:
                    between_attempts()
                self.core.run_due()
                if self._try_some(stop):
                    await asyncio.sleep(0)
                else:
                    await self._wait()
        finally:
            stopping.cancel()
        self.core.abandon_attempt()
        await self._finish()

    def _try_some(self, stop: asyncio.Event) -> bool:
        """Try pods for one slice; False if there are none, or if binds have to catch up first."""
        start = perf_counter()
        core = self.core
        self._carry_out(core.take_instructions())
        while not self._is_paused and core.schedule_one() is not None:
            self._carry_out(core.take_instructions())
            if perf_counter() - start > SLICE_SECONDS or stop.is_set():
                return True
        return False

    async def _wait(self) -> None:
        """Until there is something to do, or the clock has something for the core to do."""
        if self._is_ready:
            return
        loop = asyncio.get_running_loop()
        self._alarm = loop.create_future()
        due = self.core.next_wakeup()
        timer = None if due is None else loop.call_later(max(due - self._clock.now(), 0.0), self.wake)
        try:
            await self._alarm
        finally:
            self._alarm = None
            if timer is not None:
                timer.cancel()

    def wake(self) -> None:
        """Have the loop look whether there is something to do."""
        self._is_ready = True
        if self._alarm is not None and not self._alarm.done():
            self._alarm.set_result(None)

    async def _finish(self) -> None:
        """Wait for what is under way, and for what that starts: a bind that fails writes a status."""
        deadline = self._clock.monotonic() + FINISH_SECONDS
        while self._tasks and (left := deadline - self._clock.monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=left)

    def ask_to_stop(self) -> None:
        """Tell plugins that the scheduler is about to end; from any thread, in the middle of anything."""
        self.core.is_stopping = True

    async def close(self) -> None:
        await self._background.stop(self.core.close)
        await self.informers.stop()
        await self._load_watcher.stop()
        await self._broadcaster.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for extender in self.core.extenders:
            await extender.close()

    # --- inputs -------------------------------------------------------------------------------------------

    def _handle(self, event: Input) -> None:
        self.core.handle(event)
        self._carry_out(self.core.take_instructions())

    # --- instructions -------------------------------------------------------------------------------------

    def _carry_out(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            try:
                self._carry_out_one(instruction)
            except Exception as error:
                # One instruction that fails must not cost the ones after it.
                log.error(error, "An instruction failed", trace=error)

    def _carry_out_one(self, instruction: Instruction) -> None:
        if isinstance(instruction, StartBinding):
            self._start(self._bind(instruction, instruction.plan.is_empty))
            if instruction.plan.is_empty:
                self._n_only_binding += 1
                self._is_paused = self._is_paused or self._n_only_binding >= MAX_BINDING
        elif isinstance(instruction, RecordEvent):
            self._record_event(instruction)
        elif isinstance(instruction, WriteStatus):
            self._start(self._write_status(instruction))
        elif isinstance(instruction, StartPreemption):
            self._start(self._evictor.run(instruction.preemption))
        elif isinstance(instruction, StartWork):
            self._start(instruction.work())
        elif isinstance(instruction, EndWait):
            self._start(self._end_wait(instruction.waiting))
        elif isinstance(instruction, AskExtenders):
            self._start(self._ask_extenders(instruction))
        else:
            assert_never(instruction)

    async def _end_wait(self, waiting: WaitingPod) -> None:
        self._handle(WaitEnded(waiting))

    async def _bind(self, instruction: StartBinding, only_binds: bool) -> None:
        scheduler = instruction.assumed.scheduler
        self._n_binding += 1
        scheduler.n_binding += 1
        try:
            await self._binding_cycle.run(instruction)
        finally:
            self._n_binding -= 1
            scheduler.n_binding -= 1
            if only_binds:
                self._n_only_binding -= 1
                if self._is_paused and self._n_only_binding <= _RESUME_BINDING:
                    self._is_paused = False
                    self.wake()

    async def _write_nomination(self, pod: Pod, node_name: str) -> None:
        await self._client.patch_pod_status(pod, nominated_node_name=node_name)

    def _record_event(self, event: RecordEvent) -> None:
        self._recorder(event.profile_name).event(
            event.regarding,
            kind=event.kind,
            reason=event.reason,
            action=event.action,
            note=event.note,
            related=event.related,
        )
        if self._annotations is not None and event.reason in ATTEMPT_ENDED and isinstance(event.regarding, Pod):
            self._start(self._annotations.write(event.regarding))

    def _recorder(self, profile_name: str) -> EventRecorder:
        recorder = self._recorders.get(profile_name)
        if recorder is None:
            recorder = self._recorders[profile_name] = self._broadcaster.recorder(profile_name)
        return recorder

    async def _write_status(self, write: WriteStatus) -> None:
        pod, condition = write.pod, write.condition
        if condition is not None:
            log.info(
                "Updating pod condition",
                v=3,
                pod=pod,
                conditionType=condition.type,
                conditionStatus=condition.status,
                conditionReason=condition.reason,
            )
        try:
            await self._client.patch_pod_status(
                pod, condition=condition, nominated_node_name=write.nominated_node_name
            )
        except NotFoundError:
            pass  # the pod is gone, and with it the reason to write
        except ClientError as error:
            # The next attempt writes it again.
            log.error(error, "Error updating pod", pod=pod)

    async def _ask_extenders(self, question: AskExtenders) -> None:
        results: Sequence[Any] = [ExtenderError("the call was cancelled")] * len(question.calls)
        try:
            results = await call_extenders(question)
        finally:
            # A stop may have abandoned the attempt.
            if self.core.is_suspended:
                self._handle(ExtendersAnswered(results))
            self.wake()

    def _start(self, running: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        task = self._loop.create_task(running)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ------------------------------------------------------------------------------------------------------

    def _are_binds_waiting(self) -> bool:
        """Pods that wait at Permit do not count: they wait for something else."""
        return self._n_binding > 0 or self.core.queue.has_ready

    def _capacity(self, node_name: str) -> Mapping[str, QuantityText] | None:
        node = self.core.cache.node(node_name)
        return None if node is None else node.status.capacity
