"""PlayedCluster: a core and the API server around it, in virtual time and in one thread. Nothing is sent anywhere.

Everything that decides is the scheduler itself. What stands here is what its instructions do: a bind puts the pod
on its node, an eviction removes a pod, a status is written. Conformance replays recordings with it, the lab
traces.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.cache.cache import on_node
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
    StartWork,
    WaitEnded,
    WriteStatus,
)
from bayplan.core.waiting_pods import WaitingPod
from bayplan.model import Condition, KubeObject, Pod, decode_object
from bayplan.scheduler import new_core
from bayplan.shell.binding_cycle import BindingCycle
from bayplan.shell.eviction import PLUGIN
from bayplan.shell.virtual_time import ReplayClock, Tasks

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Registry
    from bayplan.queue import QueuedPodInfo

#: Between two whole seconds, because backoffs end with whole ones.
STANDARD_START: Final = 1_700_000_000.25


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


class PlayedCluster:
    """A scheduler and its API server; see the module docstring."""

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        *,
        start: float = STANDARD_START,
        timing: Timing = STANDARD_TIMING,
        **options: Any,
    ) -> None:
        """*start* is when the scheduler starts, in seconds since the epoch; *options* are those of the core."""
        self._clock = ReplayClock(start)
        self._timing = timing
        self._lag = timing.lags()
        self._tasks = Tasks(self._clock)
        self._versions = itertools.count(10**9)
        self.core = new_core(loaded, registry, clock=self._clock, client=self, **options)
        self._binding_cycle = BindingCycle(self._handle, _write_nothing)
        #: Every pod as the API server has it, by key.
        self.pods = self.core.pods

    # --- for subclasses ---------------------------------------------------------------------------

    def pod_attempted(self, info: QueuedPodInfo) -> None:
        """A pod was tried; what follows from it has been carried out."""

    def pod_bound(self, pod: Pod) -> None:
        """A pod is on its node."""

    def pod_evicted(self, pod: Pod) -> None:
        """A preemption removed a pod."""

    def status_written(self, write: WriteStatus) -> None:
        """An attempt failed, and the pod's condition says why."""

    # --- time -------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self._clock.time

    def run(self, seconds: float) -> None:
        """Let that much time pass."""
        self.run_until(self._clock.time + seconds)

    def run_until(self, end: float) -> None:
        """Try pods while there are any, otherwise go to the next thing due."""
        clock, core = self._clock, self.core
        while clock.time < end:
            self._run_due()
            tried = core.schedule_one()
            if tried is not None:
                self._carry_out(core.take_instructions())
                self.pod_attempted(tried)
                clock.time += self._timing.attempt_seconds
                continue
            due = self.next_due()
            clock.time = max(clock.time, end if due is None else min(due, end))

    def next_due(self) -> float | None:
        """When something happens by itself, if no pod is ready."""
        task, wakeup = self._tasks.next_due, self.core.next_wakeup()
        return wakeup if task is None else task if wakeup is None else min(task, wakeup)

    def _run_due(self) -> None:
        self._tasks.resume_due()
        self.core.run_due()
        self._carry_out(self.core.take_instructions())

    def close(self) -> None:
        self._tasks.close()

    # --- the API server ---------------------------------------------------------------------------

    def apply(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """An object was created (*old* is None), updated or deleted (*new* is None)."""
        self._handle(ObjectChanged(old, new))

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
            elif isinstance(instruction, StartWork):
                self._tasks.start(instruction.work())
            elif isinstance(instruction, AskExtenders):
                raise NotImplementedError("extenders cannot be called in virtual time")
            # Events are not looked at.

    async def request(
        self, method: str, path: str, body: object | None = None, *, content_type: str | None = None
    ) -> dict[str, Any]:
        """For plugins: to write a whole object, and to merge something into a pod."""
        old: KubeObject | None
        if method == "PATCH" and isinstance(body, dict) and content_type is None:
            old, new = self._patched_pod(path, body)
        elif method == "PUT" and isinstance(body, dict):
            new = decode_object(self._versioned(body))
            old = self.core.objects.lister(type(new)).get(new.name, new.namespace)
        else:
            raise NotImplementedError(f"{method} {path} is not played in virtual time")
        self.apply(old, new)
        return dict(new.whole)

    def _patched_pod(self, path: str, patch: dict[str, Any]) -> tuple[Pod, KubeObject]:
        parts = path.strip("/").split("/")
        if parts[:3] != ["api", "v1", "namespaces"] or parts[4:5] != ["pods"] or len(parts) != 6:
            raise NotImplementedError(f"PATCH {path} is not played in virtual time; only pods are")
        old = self.pods[f"{parts[3]}/{parts[5]}"]
        return old, Pod.from_dict(self._versioned(merged(old.to_dict(), patch)))

    async def bind(self, pod: Pod, node_name: str) -> None:
        old = self.pods[pod.key]
        self._patch(old, Condition(type="PodScheduled", status="True"), "", node_name)
        self.pod_bound(self.pods[pod.key])

    def _write_status(self, write: WriteStatus) -> None:
        if write.condition is None:
            return  # nobody looks at a nomination while the pod is assumed, and the bind takes it away
        self.status_written(write)
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
                self.pod_evicted(pod)
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


def merged(target: Any, patch: Any) -> Any:
    """A JSON merge patch, RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


async def _write_nothing(pod: Pod, node_name: str) -> None:
    """Nobody looks at a nomination while the pod is assumed, and the bind takes it away."""
