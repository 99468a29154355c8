"""A recorded cluster that lives: objects change, the queue hears of it, pods are tried and bound. In virtual time.

Everything that decides is the scheduler itself. What stands here is the world around it: the API server, and as
much of the PV controller as a pod waits for.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import msgspec

from bayplan import config
from bayplan.cache.cache import on_node
from bayplan.config import Catalogue
from bayplan.conformance.recorded_cluster import KINDS
from bayplan.conformance.virtual_time import ReplayClock, Tasks
from bayplan.core.feasible_nodes import TieBreaker
from bayplan.core.messages import (
    AskExtenders,
    EndWait,
    Input,
    Instruction,
    ObjectChanged,
    OneVictimLeft,
    PreemptionEnded,
    PreemptionPlan,
    StartBinding,
    StartPreemption,
    WaitEnded,
    WriteStatus,
)
from bayplan.core.waiting_pods import WaitingPod
from bayplan.framework import Registry
from bayplan.model import (
    Condition,
    KubeObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    decode_object,
)
from bayplan.scheduler import new_core
from bayplan.shell.binding_cycle import BindingCycle
from bayplan.shell.eviction import PLUGIN

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


class Replay:
    """A scheduler over the objects of a recorded line, and its API server."""

    def __init__(
        self,
        line: dict[str, Any],
        catalogue: Catalogue,
        tie_breaker: TieBreaker | None = None,
        start: float = STANDARD_START,
        timing: Timing = STANDARD_TIMING,
    ) -> None:
        """*start* is when the scheduler starts, in seconds since the epoch; it matters beside recorded times."""
        if not isinstance(catalogue, Registry):
            raise TypeError("attempts are made with a registry of plugins, not with a bare catalogue")
        loaded = config.load(json.dumps(line["config"]), source="config", catalogue=catalogue)
        self._clock = ReplayClock(start)
        self._timing = timing
        self._lag = timing.lags()
        self._tasks = Tasks(self._clock)
        self._versions = itertools.count(10**9)
        self.core = new_core(loaded, catalogue, clock=self._clock, client=self, tie_breaker=tie_breaker, seed=0)
        self._binding_cycle = BindingCycle(self._handle, _write_nothing)
        #: Every pod as the API server has it, by key.
        self.pods = self.core.pods
        #: Pod → how often it was tried.
        self.attempts: Counter[str] = Counter()
        #: Pod → the messages of its condition after failed attempts, in order.
        self.messages: defaultdict[str, list[str]] = defaultdict(list)
        self._create(line)

    def _create(self, line: dict[str, Any]) -> None:
        for key, kind in KINDS.items():
            for each in line.get(key, ()):
                self.core.objects.set(kind.from_dict(each))
        for each in line["nodes"]:
            self.apply(None, Node.from_dict(each))
        for each in line["bound"]:
            self.apply(None, Pod.from_dict(each))

    # --- time -------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let that much time pass: try pods while there are any, otherwise go to the next thing due."""
        clock, core = self._clock, self.core
        end = clock.time + seconds
        while clock.time < end:
            self._tasks.resume_due()
            core.run_due()
            self._carry_out(core.take_instructions())
            tried = core.schedule_one()
            if tried is not None:
                self.attempts[tried.key] += 1
                self._carry_out(core.take_instructions())
                clock.time += self._timing.attempt_seconds
                continue
            due = (self._tasks.next_due, core.next_wakeup(), end)
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
        self._handle(ObjectChanged(old, new))
        if isinstance(new, PersistentVolume):
            self._tasks.start(self._control_volume(new.name), self._timing.controller_seconds)

    def _handle(self, event: Input) -> None:
        self.core.handle(event)
        self._carry_out(self.core.take_instructions())

    def _carry_out(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, StartBinding):
                self._tasks.start(self._binding_cycle.run(instruction))
            elif isinstance(instruction, WriteStatus):
                self._write_status(instruction)
            elif isinstance(instruction, EndWait):
                self._tasks.start(self._end_wait(instruction.waiting), self._lag())
            elif isinstance(instruction, StartPreemption):
                self._tasks.start(self._evict(instruction.preemption), self._timing.controller_seconds)
            elif isinstance(instruction, AskExtenders):
                raise NotImplementedError("a replay has no extenders")
            # Events are not compared.

    async def request(self, method: str, path: str, body: object | None = None) -> dict[str, Any]:
        """For plugins. To write an object is all that they ask for."""
        if method != "PUT" or not isinstance(body, dict):
            raise NotImplementedError(f"{method} {path} is not played")
        new = decode_object(self._versioned(body))
        self.apply(self.core.objects.lister(type(new)).get(new.name, new.namespace), new)
        return dict(new.whole)

    async def bind(self, pod: Pod, node_name: str) -> None:
        old = self.pods[pod.key]
        self._patch(old, Condition(type="PodScheduled", status="True"), "", node_name)

    def _write_status(self, write: WriteStatus) -> None:
        if write.condition is None:
            return  # nobody looks at a nomination while the pod is assumed, and the bind takes it away
        self.messages[write.pod.key].append(write.condition.message)
        old = self.pods[write.pod.key]
        nominated = write.nominated_node_name
        self._patch(old, write.condition, old.status.nominated_node_name if nominated is None else nominated)

    async def _end_wait(self, waiting: WaitingPod) -> None:
        self._handle(WaitEnded(waiting))

    async def _evict(self, preemption: PreemptionPlan) -> None:
        for victim in preemption.victims:
            if victim is preemption.victims[-1]:
                self._handle(OneVictimLeft(preemption))
            if victim.waiting is not None and victim.waiting.preempt(PLUGIN, "preempted"):
                continue
            if (pod := self.pods.get(victim.pod.key)) is not None:
                self.apply(pod, None)
        self._handle(PreemptionEnded(preemption, awaits_deletion=True))

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
        objects = self.core.objects
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
        raw = dict(value.whole)
        return self._versioned({**raw, **{key: {**raw.get(key, {}), **part} for key, part in parts.items()}})


async def _write_nothing(pod: Pod, node_name: str) -> None:
    """Nobody looks at a nomination while the pod is assumed, and the bind takes it away."""
