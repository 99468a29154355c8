"""The service: a scheduler against an API server.

Informers feed the handlers, a loop tries pods while there are any, binding cycles run beside it. Only a leader
tries pods; everything is read in any case, so that a new leader can start at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from bayplan.client.load_watcher import LoadWatcher
from bayplan.config import Loaded
from bayplan.cycle.attempts import Attempts
from bayplan.cycle.binding import BindingCycle
from bayplan.cycle.commit import Committer
from bayplan.cycle.eviction import Preemptions
from bayplan.cycle.failure import FailureHandler
from bayplan.cycle.scheduling import SchedulingCycle
from bayplan.cycle.waiting import HeldPods
from bayplan.model import KubeObject, Node, Pod
from bayplan.observe.observers import SchedulerMetrics
from bayplan.observe.record import Ring
from bayplan.queue import SchedulingQueue
from bayplan.queue.queue import MAX_UNSCHEDULABLE_SECONDS
from bayplan.scheduler import Profile, Scheduler
from bayplan.watch.handlers import ClusterHandlers
from bayplan.watch.informers import Informers
from bayplan.writer import ApiWriter

if TYPE_CHECKING:
    from bayplan.client import EventBroadcaster, KubeClient
    from bayplan.cycle.decision import Decision
    from bayplan.extender import BreakerSettings
    from bayplan.framework import Clock, EventRecorder, ProfilePlugins, Registry
    from bayplan.model import QuantityText

logger = logging.getLogger("bayplan.service")

#: The loop tries pods for this long before it lets I/O have its turn.
SLICE_SECONDS: Final = 0.005
#: A stop waits no longer than this for binds that are under way.
FINISH_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class LiveProfile:
    """A profile with both cycles and what follows from a failure."""

    cycle: SchedulingCycle
    committer: Committer
    binding_cycle: BindingCycle
    failures: FailureHandler
    preemptions: Preemptions

    def make_room(self, preemptor: Pod, decision: Decision) -> None:
        if decision.nominate:
            self.preemptions.start(preemptor, decision.nominate, decision.victims)


class SchedulerService:
    """See the module's text."""

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
        breaker: BreakerSettings | None = None,
    ) -> None:
        self._clock = clock
        self.metrics = metrics if metrics is not None else SchedulerMetrics(clock.now)
        self._client = client
        self._broadcaster = broadcaster
        self._tasks: set[asyncio.Task[Any]] = set()
        #: That of all tasks, since there are any: asking for the running one is a system call.
        self._loop: asyncio.AbstractEventLoop | None = None
        #: Whether the loop has something to look at, and what it awaits while it has not.
        self._is_ready = False
        self._alarm: asyncio.Future[None] | None = None
        self.records = Ring()
        self.scheduler = Scheduler(
            loaded,
            registry,
            clock=clock,
            seed=seed,
            observer=self.metrics.observer,
            breaker=breaker,
            extender_observer=self.metrics,
        )
        self.held = HeldPods(self.metrics.waited_on_permit)
        self.queue = SchedulingQueue(
            self._plugins(),
            self.scheduler.nominator,
            clock,
            initial_backoff_seconds=loaded.config.pod_initial_backoff_seconds,
            max_backoff_seconds=loaded.config.pod_max_backoff_seconds,
            max_unschedulable_seconds=max_unschedulable_seconds,
            has_extenders=bool(loaded.config.extenders),
            observer=self.metrics,
            on_ready=self.wake,
        )
        self.handlers = ClusterHandlers(
            self.scheduler.cache,
            self.scheduler.objects,
            self.queue,
            lambda name: name in self.scheduler.profiles,
            self._give_up,
            self.metrics.event_handled,
        )
        self._writer = ApiWriter(client, self._start)
        self._profiles = {name: self._start_profile(profile) for name, profile in self.scheduler.profiles.items()}
        self._attempts = Attempts(
            self._profiles,
            self.scheduler.cache,
            self.queue,
            start=self._start,
            records=self.records,
            observer=self.metrics,
        )
        self.informers = Informers(client, clock)
        broadcaster.are_binds_waiting = self._are_binds_waiting
        self._watched_kinds: set[type[KubeObject]] = set()
        #: apiVersion and plural.
        self._watched_custom: set[tuple[str, str]] = set()
        #: Called where no cycle is under way, before the next ones.
        self.before_cycles: Callable[[], None] = lambda: None
        self._load_watcher = LoadWatcher(client, self._capacity, clock)

    def _start_profile(self, profile: Profile) -> LiveProfile:
        recorder = self._broadcaster.recorder(profile.name)
        preemptions = Preemptions(
            self._writer,
            self.held,
            self.scheduler.nominator,
            recorder,
            self.queue.activate,
            self._current_pod,
            self.metrics,
            self._start,
        )
        handle = profile.handle
        handle.client, handle.recorder, handle.waiting_pods = self._client, recorder, self.held
        handle.on_activate, handle.is_preempting = self.queue.activate, preemptions.is_running
        return self._live(profile, recorder, preemptions)

    def _live(self, profile: Profile, recorder: EventRecorder, preemptions: Preemptions) -> LiveProfile:
        nominator = self.scheduler.nominator
        self.metrics.add_profile(profile.name, profile.plugins.on, profile.plugins.caller)
        return LiveProfile(
            profile.cycle,
            Committer(profile.runner, self.scheduler.cache, nominator, self.held),
            BindingCycle(profile.binding, self.held, self.queue, recorder, self._writer, self.scheduler.extenders),
            FailureHandler(self.queue, nominator, recorder, self._writer, self._current_pod),
            preemptions,
        )

    def replace_plugins(self, loaded: Loaded, registry: Registry) -> None:
        """Run the classes of *registry* from now on; to be called between two cycles (`before_cycles`).

        PluginError, and nothing has changed, if one cannot be made. Pods on their way to a node finish with the
        plugins they started with.
        """
        self.scheduler.replace_plugins(loaded, registry)
        for name, profile in self.scheduler.profiles.items():
            recorder = self._broadcaster.recorder(name)
            self._profiles[name] = self._live(profile, recorder, self._profiles[name].preemptions)
        self._watch_what_is_asked_for()
        self._hand_on_pods()
        self.queue.use_plugins(self._plugins())

    def _hand_on_pods(self) -> None:
        """Pods are watched in any case, and handed on to plugins since one asked for them: maybe just now."""
        objects = self.scheduler.objects
        if objects.is_asked_for(Pod):
            known = objects.lister(Pod)
            for pod in self.handlers.pods.values():
                if known.get(pod.name, pod.namespace) is not pod:
                    objects.set(pod)

    def _plugins(self) -> Mapping[str, ProfilePlugins]:
        return {name: profile.plugins for name, profile in self.scheduler.profiles.items()}

    def refresh_metrics(self) -> None:
        """Set the gauges to what is the case now."""
        cache = self.scheduler.cache
        self.metrics.set_sizes(
            pending=self.queue.counts()._asdict(),
            cache={"nodes": cache.n_nodes, "pods": cache.n_pods, "assumed_pods": cache.n_assumed},
            in_flight=self.queue.in_flight_events(),
            n_binding=self._attempts.n_binding,
        )

    # --- running ----------------------------------------------------------------------------------

    async def sync(self) -> None:
        """Read the whole cluster, and go on watching it."""
        self._watch_what_is_asked_for()
        self._broadcaster.start()
        self.informers.start()
        await self.informers.wait_synced()
        await self._load_watcher.start(self.scheduler.loads)
        logger.info("Caches are synced: %d nodes, %d pods", self.scheduler.cache.n_nodes, len(self.handlers.pods))

    def _watch_what_is_asked_for(self) -> None:
        """Pods, nodes, and the kinds that plugins have asked for, each once."""
        objects = self.scheduler.objects
        kinds: set[type[KubeObject]] = {Pod, Node, *objects.kinds}
        for kind in kinds - self._watched_kinds:
            self._watched_kinds.add(kind)
            self.informers.on_change(kind, self._changed)
        for resource in {*objects.custom_kinds} - self._watched_custom:
            self._watched_custom.add(resource)
            self.informers.on_custom_change(*resource, partial(self._custom_changed, *resource))

    def wake(self) -> None:
        """Have the loop look whether there is something to do."""
        self._is_ready = True
        if self._alarm is not None and not self._alarm.done():
            self._alarm.set_result(None)

    async def schedule(self, stop: asyncio.Event) -> None:
        """Try pods until *stop* is set; binds under way are finished then."""
        stopping = asyncio.create_task(stop.wait())
        stopping.add_done_callback(lambda _: self.wake())
        try:
            while not stop.is_set():
                self._is_ready = False
                self.before_cycles()
                self.queue.flush()
                if await self._try_next() if self.scheduler.extenders else self._try_some(stop):
                    await asyncio.sleep(0)
                else:
                    await self._wait()
        finally:
            stopping.cancel()
        self.held.abandon()
        await self._finish()

    async def _finish(self) -> None:
        """Wait for what is under way, and for what that starts: a bind that fails writes a status."""
        deadline = self._clock.monotonic() + FINISH_SECONDS
        while self._tasks and (left := deadline - self._clock.monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=left)

    def _try_some(self, stop: asyncio.Event) -> bool:
        """Try pods for one slice; False if there are none."""
        start = perf_counter()
        while (info := self.queue.pop()) is not None:
            self._attempts.attempt(info)
            if perf_counter() - start > SLICE_SECONDS or stop.is_set():
                return True
        return False

    async def _try_next(self) -> bool:
        """Try a pod, and wait for what extenders say to it; False if there is none."""
        info = self.queue.pop()
        if info is None:
            return False
        await self._attempts.attempt_awaiting(info)
        return True

    async def _wait(self) -> None:
        """Until a pod is ready, or the clock has something for the queue to do."""
        if self._is_ready:
            return
        loop = asyncio.get_running_loop()
        self._alarm = loop.create_future()
        now = self._clock.now()
        due = self.queue.next_wakeup(now)
        timer = None if due is None else loop.call_later(max(due - now, 0.0), self.wake)
        try:
            await self._alarm
        finally:
            self._alarm = None
            if timer is not None:
                timer.cancel()

    async def close(self) -> None:
        await self.informers.stop()
        await self._load_watcher.stop()
        await self._broadcaster.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for extender in self.scheduler.extenders:
            await extender.close()

    # ----------------------------------------------------------------------------------------------

    def _changed(self, old: KubeObject | None, new: KubeObject | None) -> None:
        if self._attempts.stillness.is_kept:
            self._attempts.stillness.put_off(partial(self._changed, old, new))
            return
        try:
            self.handlers.apply(old, new)
        except ValueError as error:
            # An object that cannot be read is left out; nothing else stops.
            logger.error("Left out: %s", error)

    def _custom_changed(
        self, api_version: str, plural: str, old: dict[str, Any] | None, new: dict[str, Any] | None
    ) -> None:
        if self._attempts.stillness.is_kept:
            self._attempts.stillness.put_off(partial(self._custom_changed, api_version, plural, old, new))
            return
        kept = self.scheduler.objects.custom(api_version, plural)
        present = new if new is not None else old
        if present is None:
            return
        metadata = present["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        if new is None:
            kept.remove(namespace, name)
        else:
            kept.set(namespace, name, new)
        self.handlers.apply_custom(api_version, plural, old, new)

    def _capacity(self, node_name: str) -> Mapping[str, QuantityText] | None:
        node = self.scheduler.cache.node(node_name)
        return None if node is None else node.status.capacity

    def _current_pod(self, pod: Pod) -> Pod | None:
        return self.handlers.pods.get(pod.key)

    def _are_binds_waiting(self) -> bool:
        """Pods that Permit holds wait for something else."""
        return self._attempts.n_binding > len(self.held) or self.queue.has_ready

    def _give_up(self, pod: Pod) -> bool:
        held = self.held.get(pod.uid)
        return held is not None and held.reject("", "removed")

    def _start(self, running: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        task = self._loop.create_task(running)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
