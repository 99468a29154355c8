"""A recorded cluster that lives: objects change, the queue hears of it, pods are tried and bound. In virtual time.

Everything that decides is the scheduler itself. What stands here is the world around it: the API server, and as
much of the PV controller as a pod waits for.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeAlias, cast

import msgspec

from bayplan import config
from bayplan.cache.cache import on_node
from bayplan.config import Catalogue
from bayplan.conformance.cluster import KINDS
from bayplan.conformance.virtual_time import ReplayClock, Tasks
from bayplan.cycle import Decision, SchedulingCycle
from bayplan.cycle.attempts import Attempts
from bayplan.cycle.binding import BindingCycle
from bayplan.cycle.commit import Committer
from bayplan.cycle.eviction import PLUGIN
from bayplan.cycle.failure import Failure, FailureHandler
from bayplan.cycle.waiting import HeldPods
from bayplan.framework import CycleState, Registry, ScoreOutcome
from bayplan.model import (
    Condition,
    KubeObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    decode_object,
)
from bayplan.queue import SchedulingQueue
from bayplan.scheduler import Profile, Scheduler
from bayplan.watch.handlers import ClusterHandlers

#: Between two whole seconds, because backoffs end with whole ones.
STANDARD_START: Final = 1_700_000_000.25
#: Pods that are there at the start come out of a list, one after another.
LISTED_SECONDS: Final = 0.000_01


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things take in the world that is played."""

    #: An attempt takes some time, so that pods have different times in the queue.
    attempt_seconds: float = 0.001
    #: A controller sees a change a moment after the scheduler does; evictions take as long.
    controller_seconds: float = 0.02
    #: A pod that Permit held goes on, or gives its place back, up to so much later: beside other attempts.
    lag_seconds: float = 0.0
    #: Of the stream that the lags are drawn from.
    seed: int = 0

    def lags(self) -> Callable[[], float]:
        stream = Random(self.seed)  # noqa: S311  no secret
        return lambda: stream.uniform(0.0, self.lag_seconds)


STANDARD_TIMING: Final = Timing()
#: Picks one of the nodes with the highest score; None leaves it to the cycle.
Choose: TypeAlias = Callable[[Pod, ScoreOutcome], str | None]


@dataclass(frozen=True, slots=True)
class _Cycles:
    """Implements `ProfileCycles`."""

    cycle: SchedulingCycle
    committer: Committer
    binding_cycle: BindingCycle
    failures: FailureHandler
    preempt: Callable[[Decision], None]

    def make_room(self, preemptor: Pod, decision: Decision) -> None:
        self.preempt(decision)


class _ChosenNodes:
    """A scheduling cycle that leaves the choice among equals to somebody else."""

    def __init__(self, cycle: SchedulingCycle, choose: Choose) -> None:
        self._cycle = cycle
        self._choose = choose

    def schedule(self, pod: Pod, state: CycleState) -> Decision:
        decision = self._cycle.schedule(pod, state)
        chosen = self._choose(pod, decision.scores) if decision.scores is not None else None
        return decision._replace(node_name=chosen) if chosen is not None else decision


class Replay:
    """A scheduler over the objects of a recorded line, and its API server."""

    def __init__(
        self,
        line: dict[str, Any],
        catalogue: Catalogue,
        choose: Choose,
        start: float = STANDARD_START,
        timing: Timing = STANDARD_TIMING,
    ) -> None:
        """*start* is when the scheduler starts, in seconds since the epoch; it matters beside recorded times."""
        if not isinstance(catalogue, Registry):
            raise TypeError("attempts are made with a registry of plugins, not with a bare catalogue")
        loaded = config.load(json.dumps(line["config"]), source="config", catalogue=catalogue)
        self._clock = ReplayClock(start)
        self._timing = timing
        self._tasks = Tasks(self._clock, timing.lags())
        self._versions = itertools.count(10**9)
        self._scheduler = scheduler = Scheduler(loaded, catalogue, clock=self._clock, seed=0)
        self._queue = SchedulingQueue(
            {name: profile.plugins for name, profile in scheduler.profiles.items()},
            scheduler.nominator,
            self._clock,
            initial_backoff_seconds=loaded.config.pod_initial_backoff_seconds,
            max_backoff_seconds=loaded.config.pod_max_backoff_seconds,
        )
        self._handlers = ClusterHandlers(
            scheduler.cache,
            scheduler.objects,
            self._queue,
            is_ours=lambda name: scheduler.profile(name) is not None,
            give_up=self._give_up,
        )
        #: Every pod as the API server has it, by key.
        self.pods = self._handlers.pods
        #: Pod → how often it was tried.
        self.attempts: Counter[str] = Counter()
        #: Pod → what its condition said when an attempt failed, in order.
        self.messages: defaultdict[str, list[str]] = defaultdict(list)
        self._held = HeldPods(loop=lambda: self._tasks)
        self._attempts = Attempts(
            {name: self._cycles(profile, choose) for name, profile in scheduler.profiles.items()},
            scheduler.cache,
            self._queue,
            start=self._tasks.start,
        )
        self._create(line)

    def _cycles(self, profile: Profile, choose: Choose) -> _Cycles:
        handle, held = profile.handle, self._held
        handle.client, handle.on_activate, handle.waiting_pods = self, self._queue.activate, held
        return _Cycles(
            cast("SchedulingCycle", _ChosenNodes(profile.cycle, choose)),
            Committer(profile.runner, self._scheduler.cache, self._scheduler.nominator, held),
            BindingCycle(profile.binding, held, self._queue, self, self),
            FailureHandler(self._queue, self._scheduler.nominator, self, self, lambda pod: self.pods.get(pod.key)),
            lambda decision: self._tasks.start(self._evict(decision), self._timing.controller_seconds),
        )

    def _create(self, line: dict[str, Any]) -> None:
        for key, kind in KINDS.items():
            for each in line.get(key, ()):
                self._scheduler.objects.set(kind.from_dict(each))
        for each in line["nodes"]:
            self.apply(None, Node.from_dict(each))
        for each in line["bound"]:
            self.apply(None, Pod.from_dict(each))

    # --- time -------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let that much time pass: try pods while there are any, otherwise go to the next thing due."""
        clock, queue = self._clock, self._queue
        end = clock.time + seconds
        while clock.time < end:
            self._tasks.resume_due()
            queue.flush()
            info = queue.pop()
            if info is not None:
                self.attempts[info.key] += 1
                self._attempts.attempt(info)
                clock.time += self._timing.attempt_seconds
                continue
            due = (self._tasks.next_due, queue.next_wakeup(clock.time), end)
            clock.time = max(clock.time, min(time for time in due if time is not None))

    def close(self) -> None:
        self._tasks.close()

    def list_pods(self, pods: Iterable[Pod]) -> None:
        """These pods are there when the scheduler starts: it sees all of them, by name, before it tries any."""
        for pod in sorted(pods, key=lambda pod: pod.key):
            self.apply(None, pod)
            self._clock.time += LISTED_SECONDS

    # --- the API server ---------------------------------------------------------------------------

    def apply(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """An object was created (*old* is None), updated or deleted (*new* is None)."""
        self._handlers.apply(old, new)
        if isinstance(new, PersistentVolume):
            self._tasks.start(self._control_volume(new.name), self._timing.controller_seconds)

    async def request(self, method: str, path: str, body: object | None = None) -> dict[str, Any]:
        """For plugins. To write an object is all that they ask for."""
        if method != "PUT" or not isinstance(body, dict):
            raise NotImplementedError(f"{method} {path} is not played")
        new = decode_object(self._versioned(body))
        self.apply(self._scheduler.objects.lister(type(new)).get(new.name, new.namespace), new)
        return dict(new.raw)

    async def bind(self, pod: Pod, node_name: str) -> None:
        old = self.pods[pod.key]
        self._patch(old, Condition(type="PodScheduled", status="True"), "", node_name)

    def write_status(self, pod: Pod, *, failure: Failure) -> None:
        condition = Condition(type="PodScheduled", status="False", reason=failure.reason, message=failure.message)
        self.messages[pod.key].append(failure.message)
        nominated = pod.status.nominated_node_name if failure.nominate is None else failure.nominate
        self._patch(pod, condition, nominated)

    async def write_nomination(self, pod: Pod, node_name: str) -> None:
        """Nobody looks at it while the pod is assumed, and the bind takes it away."""

    def event(self, regarding: Any, **fields: Any) -> None:
        """Events are not compared."""

    async def _evict(self, decision: Decision) -> None:
        for victim in decision.victims:
            held = self._held.get(victim.uid)
            if held is not None and held.preempt(PLUGIN, "preempted"):
                continue
            if (pod := self.pods.get(victim.key)) is not None:
                self.apply(pod, None)

    def _give_up(self, pod: Pod) -> bool:
        held = self._held.get(pod.uid)
        return held is not None and held.reject("", "removed")

    def _patch(self, old: Pod, condition: Condition, nominated: str, node_name: str = "") -> None:
        others = tuple(each for each in old.status.conditions if each.type != condition.type)
        status = msgspec.structs.replace(
            old.status, conditions=(*others, condition), nominated_node_name=nominated
        )
        if status == old.status:
            return
        metadata = msgspec.structs.replace(old.metadata, resource_version=str(next(self._versions)))
        patched = msgspec.structs.replace(old, metadata=metadata, status=status)
        self.apply(old, on_node(patched, node_name) if node_name else patched)

    def _versioned(self, mapping: dict[str, Any]) -> dict[str, Any]:
        return {**mapping, "metadata": {**mapping["metadata"], "resourceVersion": str(next(self._versions))}}

    # --- the PV controller ------------------------------------------------------------------------

    async def _control_volume(self, name: str) -> None:
        """A new volume becomes available; one that the scheduler gave to a claim is bound to it."""
        objects = self._scheduler.objects
        volume = objects.lister(PersistentVolume).get(name)
        if volume is None:
            return
        reference = volume.spec.claim_ref
        phase = "Available" if reference is None else "Bound"
        if volume.status.phase != phase:
            self.apply(volume, PersistentVolume.from_dict(self._merged(volume, status={"phase": phase})))
        claims = objects.lister(PersistentVolumeClaim)
        claim = claims.get(reference.name, reference.namespace) if reference is not None else None
        if claim is not None and not claim.spec.volume_name:
            bound = self._merged(claim, spec={"volumeName": name}, status={"phase": "Bound"})
            bound["metadata"]["annotations"] = {**claim.annotations, "pv.kubernetes.io/bind-completed": "yes"}
            self.apply(claim, PersistentVolumeClaim.from_dict(bound))

    def _merged(self, value: KubeObject, **parts: dict[str, Any]) -> dict[str, Any]:
        raw = dict(value.raw)
        return self._versioned({**raw, **{key: {**raw.get(key, {}), **part} for key, part in parts.items()}})
