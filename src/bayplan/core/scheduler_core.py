"""SchedulerCore: the whole scheduler without I/O. Inputs go in, instructions come out.

It owns the cache, the queue, the nominations, the waiting pods and the profiles. It knows neither asyncio nor
HTTP, and time only through the clock that it is given. A driver feeds it the cluster's changes, lets it try
pods, carries out its instructions and feeds the results back::

    core.handle(ObjectChanged(None, pod))
    while core.schedule_one() is not None:
        for instruction in core.take_instructions():
            ...  # StartBinding → later core.handle(PodBound(...))
    # sleep until core.next_wakeup() or the next input, then core.run_due()

Drivers: the live service (`bayplan.shell`), the conformance replay and the lab in virtual time, the mirror of a
served extender, the test harness.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bayplan import config
from bayplan.cache import Cache
from bayplan.cache.object_store import ObjectStores
from bayplan.core.background_work import BackgroundRunner, NoBackground
from bayplan.core.cached_evaluator import CachedEvaluator
from bayplan.core.decision import Decision, Failure
from bayplan.core.evaluation import ProfileEvaluation
from bayplan.core.event_handlers import EventHandlers
from bayplan.core.extender_session import ExtenderSteps
from bayplan.core.feasible_nodes import TieBreaker
from bayplan.core.messages import (
    BindingFailed,
    CustomObjectChanged,
    EndWait,
    ExtendersAnswered,
    Input,
    Instruction,
    ObjectChanged,
    OneVictimLeft,
    PodBound,
    PreemptionEnded,
    RecordEvent,
    SelectedObjectChanged,
    StartWork,
    VictimEvicted,
    WaitEnded,
    WriteStatus,
)
from bayplan.core.parts import CoreObserver, CoreParts
from bayplan.core.plugin_factory import PluginFactory
from bayplan.core.plugin_metrics import PluginMetrics
from bayplan.core.preemption import Preemptions
from bayplan.core.profile import Profile
from bayplan.core.profile_handle import NO_CLIENT, InstructionRecorder, ProfileHandle
from bayplan.core.schedule_one import ProfileScheduler
from bayplan.core.waiting_pods import WaitingPod, WaitingPods
from bayplan.devices import DeviceFeatures, DeviceManager, TaintedSlices
from bayplan.framework import BindingRunner, CycleState, PluginError, ProfilePlugins, Registry, Runner, Status
from bayplan.framework.load_metrics import LoadFeeds
from bayplan.model import DeviceTaintRule, Pod, ResourceClaim, ResourceSlice
from bayplan.observe import klog
from bayplan.queue import PodNominator, SchedulingQueue
from bayplan.queue.queue import MAX_UNSCHEDULABLE_SECONDS

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Client, Clock
    from bayplan.framework.extenders import Extender
    from bayplan.observe.instruments import MetricsRegistry
    from bayplan.observe.record import Ring
    from bayplan.queue import QueuedPodInfo

log = klog.get_logger("bayplan.core")


class SchedulerCore:
    """The scheduler without I/O; see the module docstring."""

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        *,
        clock: Clock,
        client: Client = NO_CLIENT,
        extenders: Sequence[Extender] = (),
        schedules_pods: bool = True,
        max_unschedulable_seconds: float = MAX_UNSCHEDULABLE_SECONDS,
        tie_breaker: TieBreaker | None = None,
        use_caches: bool = True,
        seed: int | None = None,
        records: Ring | None = None,
        observer: CoreObserver | None = None,
        wake: Callable[[], None] = lambda: None,
        background: BackgroundRunner | None = None,
        metrics: MetricsRegistry | None = None,
    ) -> None:
        """*client* is for plugins. Without *schedules_pods* pods are only mirrored: none enters the queue.

        Without *use_caches* every plugin is called for every pod and node: the same decisions, slowly.

        *wake* is called when there may be something to do that was not there before: a pod to try, or an
        instruction emitted while the driver was not calling the core.

        *background* runs what plugins spawn and closes them; without it nothing is run. *metrics* is where the
        metrics of plugins are added; without it they have a registry of their own.
        """
        self.config = loaded.config
        self.release = loaded.release
        self.clock = clock
        self.cache = Cache()
        self.objects = ObjectStores()
        self.nominator = PodNominator()
        self.loads = LoadFeeds()
        self.extenders = extenders
        self.waiting_pods = WaitingPods(clock, self._wait_decided)
        self._client = client
        self._tie_breaker = tie_breaker
        self._use_caches = use_caches
        self._schedules_pods = schedules_pods
        self._seed = seed
        self._observer = observer
        self._wake = wake
        #: The metrics that plugins have declared.
        self.plugin_metrics = PluginMetrics(metrics)
        self._background = background if background is not None else NoBackground()
        #: Whether the scheduler is about to end; plugins can ask for it.
        self.is_stopping = False
        #: Every pod as the watch last showed it, by key.
        self.pods: dict[str, Pod] = {}
        self._instructions: list[Instruction] = []
        #: The attempt that waits for extenders, and the inputs that came meanwhile.
        self._suspended: ExtenderSteps[None] | None = None
        self._deferred: deque[Input] = deque()
        self.preemptions = Preemptions(self.waiting_pods, self.nominator, self.pods, self._emit, self._activate)
        self._devices: DeviceManager | None = None
        self._factories: dict[str, PluginFactory] = {}
        self.profiles: dict[str, Profile] = {}
        for profile in loaded.profiles:
            self.profiles[profile.scheduler_name] = self._make_profile(profile, registry)
        self.queue = SchedulingQueue(
            self._plugins(),
            self.nominator,
            clock,
            initial_backoff_seconds=loaded.config.pod_initial_backoff_seconds,
            max_backoff_seconds=loaded.config.pod_max_backoff_seconds,
            max_unschedulable_seconds=max_unschedulable_seconds,
            has_extenders=bool(extenders),
            facts=self.release.facts,
            observer=observer,
            on_ready=wake,
            on_failure=self._pre_enqueue_failed,
        )
        self._parts = CoreParts(
            self.cache,
            self.queue,
            self.nominator,
            self.waiting_pods,
            self.preemptions,
            self.pods,
            extenders,
            clock,
            self._emit,
            records,
            observer,
        )
        self.schedulers = {profile.scheduler_name: self._make_scheduler(profile) for profile in loaded.profiles}
        self._handlers = EventHandlers(self._parts, self.objects, self.schedulers if schedules_pods else {})

    # --- inputs -------------------------------------------------------------------------------------------

    def handle(self, event: Input) -> None:
        """Take in what happened. While an attempt waits for extenders, everything else is deferred.

        The snapshot is the cache's own columns, so the cluster must not change under a suspended attempt.
        """
        if self._suspended is not None:
            if isinstance(event, ExtendersAnswered):
                self._resume(self._suspended, event.results)
            else:
                self._deferred.append(event)
            return
        self._apply(event)

    def _apply(self, event: Input) -> None:
        if isinstance(event, ObjectChanged):
            self._handlers.object_changed(event.old, event.new)
        elif isinstance(event, PodBound):
            event.assumed.scheduler.bound(event.assumed)
        elif isinstance(event, BindingFailed):
            event.assumed.scheduler.binding_failed(event.assumed, event.status, event.announced_node)
        elif isinstance(event, WaitEnded):
            event.waiting.assumed.scheduler.wait_ended(event.waiting)
        elif isinstance(event, CustomObjectChanged):
            self._handlers.custom_object_changed(event.api_version, event.plural, event.old, event.new)
        elif isinstance(event, SelectedObjectChanged):
            self._handlers.selected_object_changed(event.selection, event.old, event.new)
        elif isinstance(event, OneVictimLeft):
            self.preemptions.one_victim_left(event.preemption)
        elif isinstance(event, PreemptionEnded):
            self.preemptions.ended(event.preemption, awaits_deletion=event.awaits_deletion)
        elif isinstance(event, VictimEvicted):
            self.preemptions.victim_evicted(event.preemption, event.victim, was_waiting=event.was_waiting)
        else:
            raise RuntimeError("extenders answered, but no attempt waits for them")

    def run_due(self) -> None:
        """Do what time has made due: see `next_wakeup`."""
        self.queue.flush()
        for waiting in self.waiting_pods.expire() if self.waiting_pods.by_uid else ():
            waiting.announced_node = waiting.assumed.node_name
            self._emit(WriteStatus(waiting.pod, None, waiting.announced_node))

    def next_wakeup(self) -> float | None:
        """When `run_due` has something to do; None if not until something else happens."""
        due = self.queue.next_wakeup(self.clock.now())
        deadline = self.waiting_pods.next_deadline() if self.waiting_pods.by_uid else None
        return due if deadline is None else deadline if due is None else min(due, deadline)

    # --- attempts -----------------------------------------------------------------------------------------

    def schedule_one(self) -> QueuedPodInfo | None:
        """Try the next pod, and return it. None if no pod is ready, or an attempt waits for extenders."""
        if self._suspended is not None:
            return None
        info = self.queue.pop()
        if info is not None:
            scheduler = self.schedulers.get(info.pod.spec.scheduler_name)
            if scheduler is None:
                self.queue.done(info.pod.uid)
                return info
            attempt = scheduler.attempt(info)
            try:
                self._emit(next(attempt))
                self._suspended = attempt
            except StopIteration:
                pass  # as always without extenders
            except Exception as error:
                log.error(error, "Attempt raised an exception", trace=error, pod=info.pod)
        return info

    def _resume(self, attempt: ExtenderSteps[None], results: Sequence[Any]) -> None:
        try:
            self._emit(attempt.send(results))
            return
        except StopIteration:
            pass
        except Exception as error:
            log.error(error, "Attempt raised an exception", trace=error)
        self._suspended = None
        while self._deferred:
            self._catch_up(self._deferred.popleft())

    def abandon_attempt(self) -> None:
        """No answer of extenders will come any more: to the cluster, the pod was never tried."""
        if self._suspended is not None:
            self._suspended.close()
            self._suspended = None

    def _catch_up(self, event: Input) -> None:
        try:
            self._apply(event)
        except Exception as error:
            # One input that fails must not cost the ones after it.
            log.error(error, "A deferred input failed", trace=error)

    @property
    def is_suspended(self) -> bool:
        """Whether an attempt waits for extenders."""
        return self._suspended is not None

    def decide(self, pod: Pod, state: CycleState | None = None) -> Decision:
        """The decision alone; cache and queue stay as they are. Not for profiles with extenders.

        *state* is what plugins write to, for a caller that goes on with Reserve.
        """
        try:
            scheduler = self.schedulers[pod.spec.scheduler_name]
            next(scheduler.schedule_pod(pod, CycleState() if state is None else state))
        except StopIteration as end:
            decision: Decision = end.value
            return decision
        raise RuntimeError("this profile has extenders: they have to be called in the middle of the decision")

    # --- instructions -------------------------------------------------------------------------------------

    def take_instructions(self) -> Sequence[Instruction]:
        """The instructions since the last call, in order."""
        if not self._instructions:
            return ()
        instructions, self._instructions = self._instructions, []
        return instructions

    def _emit(self, instruction: Instruction) -> None:
        self._instructions.append(instruction)

    def _emit_and_wake(self, instruction: Instruction) -> None:
        """For what plugins do at any time, not only while the driver calls."""
        self._instructions.append(instruction)
        self._wake()

    def _wait_decided(self, waiting: WaitingPod) -> None:
        self._emit_and_wake(EndWait(waiting))

    def _start_work(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._emit_and_wake(StartWork(work))

    def _shared_devices(self) -> DeviceManager:
        """Made when a plugin first asks for it, because it watches claims and slices."""
        if self._devices is None:
            devices = self._devices = DeviceManager(DeviceFeatures.of(self.release))
            self.objects.on_change(ResourceClaim, devices.claims.claim_changed, owner=devices)
            if devices.features.taint_rules:
                slices = TaintedSlices(devices.index.slice_changed, self._taints_changed)
                self.objects.on_change(ResourceSlice, slices.slice_changed, owner=devices)
                self.objects.on_change(DeviceTaintRule, slices.rule_changed, owner=devices)
            else:
                self.objects.on_change(ResourceSlice, devices.index.slice_changed, owner=devices)
            self.objects.replay_to(devices)
        return self._devices

    def _taints_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """A rule has tainted devices of a slice, or no longer does: the queue is notified of the slice."""
        self._handlers.notify_queue(old, new)

    def _pre_enqueue_failed(self, pod: Pod, status: Status) -> None:
        """The pod is kept out of the queue by a failure: its condition and an event say so."""
        failure = Failure(status, status.message)
        name = pod.spec.scheduler_name
        self._emit(RecordEvent(name, pod, "Warning", "FailedScheduling", "Scheduling", status.message))
        self._emit_and_wake(WriteStatus(pod, failure.condition(pod), None))

    def _activate(self, pods: Iterable[Pod]) -> None:
        self.queue.activate(pods)

    # --- profiles -----------------------------------------------------------------------------------------

    def _plugins(self) -> Mapping[str, ProfilePlugins]:
        """The plugins that the queue calls."""
        if not self._schedules_pods:
            return {}
        return {name: profile.plugins for name, profile in self.profiles.items()}

    def _make_profile(self, profile: config.ExpandedProfile, registry: Registry) -> Profile:
        name = profile.scheduler_name
        handle = ProfileHandle(
            name,
            profiles=self.profiles,
            release=self.release,
            clock=self.clock,
            snapshot=self.cache.snapshot(),
            objects=self.objects,
            nominator=self.nominator,
            waiting_pods=self.waiting_pods,
            loads=self.loads,
            client=self._client,
            recorder=InstructionRecorder(name, self._emit_and_wake if self._schedules_pods else _discard),
            activate=self._activate,
            is_preempting=self.preemptions.is_running,
            devices=self._shared_devices,
            start=self._start_work if self._schedules_pods else _discard,
            metrics=self.plugin_metrics,
            extenders=self.extenders,
            is_stopping=lambda: self.is_stopping,
            seed=self._seed,
        )
        observer = self._observer.observer(name) if self._observer is not None else None
        factory = self._factories[name] = PluginFactory(handle, self.objects, self._background, observer)
        plugins = factory.make(profile, registry)
        factory.adopt(plugins)
        return self._assemble(name, factory, plugins)

    def _assemble(self, name: str, factory: PluginFactory, plugins: ProfilePlugins) -> Profile:
        snapshot = self.cache.snapshot()
        runner = Runner(plugins)
        if self._use_caches:
            runner = Runner(
                plugins,
                evaluator=lambda caller: CachedEvaluator(caller, snapshot),
                objects=self.objects,
            )
        if self._observer is not None:
            self._observer.add_profile(name, plugins.on, plugins.caller)
        evaluation = ProfileEvaluation(runner, snapshot, self.nominator)
        return Profile(name, plugins, runner, BindingRunner(plugins), evaluation, factory.handle)

    def _make_scheduler(self, profile: config.ExpandedProfile) -> ProfileScheduler:
        percentage = profile.percentage_of_nodes_to_score
        return ProfileScheduler(
            self.profiles[profile.scheduler_name],
            self._parts,
            percentage_of_nodes_to_score=(
                percentage if percentage is not None else self.config.percentage_of_nodes_to_score
            ),
            tie_breaker=self._tie_breaker,
            seed=self._seed,
        )

    def replace_plugins(self, loaded: Loaded, registry: Registry) -> None:
        """Between two attempts: run the same profiles with the classes of *registry*, configured as in *loaded*.

        A plugin whose class is the same stays. PluginError, and nothing has changed, if a new one cannot be made.
        Pods on their way to a node finish with the plugins they started with.
        """
        if self._suspended is not None:
            raise RuntimeError("plugins cannot be replaced in the middle of an attempt")
        made = {}
        try:
            for profile in loaded.profiles:
                made[profile.scheduler_name] = self._factories[profile.scheduler_name].make(profile, registry)
        except PluginError:
            for factory in self._factories.values():
                factory.abandon()
            raise
        for profile in loaded.profiles:
            name = profile.scheduler_name
            replaced, old = self._factories[name].adopt(made[name]), self.schedulers[name]
            self.profiles[name] = self._assemble(name, self._factories[name], made[name])
            self.schedulers[name] = self._make_scheduler(profile)
            for plugin in replaced:
                self._background.close_plugin(plugin, partial(self._is_in_use, old))
        self.replay_known_objects()
        self.queue.use_plugins(self._plugins())

    def _is_in_use(self, scheduler: ProfileScheduler) -> bool:
        """Whether pods are on their way to a node with a scheduler that was replaced."""
        return scheduler.n_binding > 0 or any(
            waiting.assumed.scheduler is scheduler for waiting in self.waiting_pods
        )

    def replay_known_objects(self) -> None:
        """A plugin may have asked for pods or nodes just now: it gets those that are there already."""
        self._handlers.replay_known_objects()

    def close(self) -> None:
        """The end: background work is stopped and plugins are closed, by the driver."""
        self.is_stopping = True
        for factory in self._factories.values():
            factory.close()


def _discard(instruction: object) -> None:
    """A core that schedules nothing has no driver that carries out instructions."""
