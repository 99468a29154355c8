"""A recorded cluster that lives: objects change, the queue hears of it, pods are tried and bound. In virtual time.

This is the scheduler around the core in its smallest form: what the informers' handlers, the two cycles and the
API server do for each other, one step after the other, with as much of the PV controller as a pod waits for.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any, Final, TypeAlias, cast

import msgspec

from bayplan import config
from bayplan.cache.cache import on_node
from bayplan.config import Catalogue
from bayplan.conformance.cluster import KINDS
from bayplan.cycle import Decision, ProfileHandle
from bayplan.framework import SUCCESS, BindPlan, CycleState, Registry, ScoreOutcome, Status
from bayplan.model import (
    Condition,
    KubeObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    decode_object,
)
from bayplan.queue import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, QueuedPodInfo, SchedulingQueue
from bayplan.scheduler import Profile, Scheduler
from bayplan.watch.changes import object_changes, pod_changes

#: An attempt takes some time, so that pods have different times in the queue.
ATTEMPT_SECONDS: Final = 0.001
#: A controller sees a change a moment after the scheduler does.
CONTROLLER_SECONDS: Final = 0.02

#: Picks one of the nodes with the highest score; None leaves it to the cycle.
Choose: TypeAlias = Callable[[Pod, ScoreOutcome], str | None]


class ReplayClock:
    """Implements `framework.Clock`. Sleeping hands control to the replay, with the time to wake up."""

    def __init__(self, start: float) -> None:
        self.time = start

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        await _Sleep(self.time + seconds)


class _Sleep:
    def __init__(self, until: float) -> None:
        self._until = until

    def __await__(self) -> Generator[float, None, None]:
        yield self._until


class Replay:
    """A scheduler over the objects of a recorded line; stands in for the API server as well."""

    def __init__(self, line: dict[str, Any], catalogue: Catalogue, choose: Choose) -> None:
        if not isinstance(catalogue, Registry):
            raise TypeError("attempts are made with a registry of plugins, not with a bare catalogue")
        loaded = config.load(json.dumps(line["config"]), source="config", catalogue=catalogue)
        # Between two whole seconds, because backoffs end with whole ones.
        self.clock = ReplayClock(1_700_000_000.25)
        self.scheduler = Scheduler(loaded, catalogue, clock=self.clock, seed=0)
        self.queue = SchedulingQueue(
            {name: profile.plugins for name, profile in self.scheduler.profiles.items()},
            self.scheduler.nominator,
            self.clock,
            initial_backoff_seconds=loaded.config.pod_initial_backoff_seconds,
            max_backoff_seconds=loaded.config.pod_max_backoff_seconds,
        )
        for profile in self.scheduler.profiles.values():
            handle = cast("ProfileHandle", next(iter(profile.plugins.plugins.values())).handle)
            handle.client = self
            handle.on_activate = self.queue.activate
        #: Every pod as the API server has it, by key.
        self.pods: dict[str, Pod] = {}
        #: Pod → how often it was tried.
        self.attempts: Counter[str] = Counter()
        self._choose = choose
        self._versions = itertools.count(10**9)
        #: What goes on at the same time: when to go on with it, a number, and how.
        self._tasks: list[tuple[float, int, Coroutine[Any, Any, None]]] = []
        for key, kind in KINDS.items():
            for each in line.get(key, ()):
                self.scheduler.objects.set(kind.from_dict(each))
        for each in line["nodes"]:
            self.apply(None, Node.from_dict(each))
        for each in line["bound"]:
            self.apply(None, Pod.from_dict(each))

    # --- time -------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let that much time pass: try pods while there are any, otherwise go to the next thing due."""
        end = self.clock.time + seconds
        while True:
            self._resume_due()
            self.queue.flush()
            info = self.queue.pop()
            if info is not None:
                self._attempt(info)
                self.clock.time += ATTEMPT_SECONDS
                continue
            due = [task[0] for task in self._tasks]
            if (wakeup := self.queue.next_wakeup(self.clock.time)) is not None:
                due.append(wakeup)
            self.clock.time = max(self.clock.time, min((*due, end)))
            if self.clock.time >= end:
                return

    def _start(self, task: Coroutine[Any, Any, None], delay: float = 0.0) -> None:
        self._tasks.append((self.clock.time + delay, next(self._versions), task))

    def _resume_due(self) -> None:
        while due := [task for task in self._tasks if task[0] <= self.clock.time]:
            first = min(due, key=lambda task: task[:2])
            self._tasks.remove(first)
            try:
                until = first[2].send(None)
            except StopIteration:
                continue
            self._tasks.append((until, first[1], first[2]))

    # --- the API server, and what the informers tell ----------------------------------------------

    def apply(self, old: KubeObject | None, new: KubeObject | None) -> None:
        """An object was created (*old* is None), updated or deleted (*new* is None)."""
        if isinstance(old or new, Pod):
            self._pod_changed(cast("Pod | None", old), cast("Pod | None", new))
        elif isinstance(old or new, Node):
            self._node_changed(cast("Node | None", old), cast("Node | None", new))
        else:
            objects = self.scheduler.objects
            if new is not None:
                objects.set(new)
            elif old is not None:
                objects.remove(old)
            self._tell(old, new)
            if isinstance(new, PersistentVolume):
                self._start(self._control_volume(new.name), CONTROLLER_SECONDS)

    def _tell(self, old: KubeObject | None, new: KubeObject | None) -> None:
        for event in object_changes(old, new):
            self.queue.move_all_to_active_or_backoff(event, old, new)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self.scheduler.cache.set_node(new)
        self._tell(old, new)
        if new is None and old is not None:
            self.scheduler.cache.remove_node(old.name)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None:
            self.pods[new.key] = new
        elif old is not None:
            del self.pods[old.key]
        if new is None:
            if old is not None:
                self._pod_deleted(old)
        elif old is not None and old.node_name:
            self.scheduler.cache.update_pod(new)
            self._tell(old, new)
        elif new.node_name:
            self.scheduler.cache.add_pod(new)
            self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, new)
            if old is not None:
                self.queue.delete(old)
        elif self.scheduler.profile(new.spec.scheduler_name) is not None:
            if old is None:
                self.queue.add(new)
            elif not self.scheduler.cache.is_assumed(new.uid):
                self._waiting_pod_updated(old, new)

    def _waiting_pod_updated(self, old: Pod, new: Pod) -> None:
        self.queue.update(old, new, pod_changes(old, new))
        nominated = old.status.nominated_node_name
        if nominated and nominated != new.status.nominated_node_name:
            self._nomination_gone(old)

    def _pod_deleted(self, pod: Pod) -> None:
        if pod.node_name:
            self.scheduler.cache.remove_pod(pod.uid)
            self._tell(pod, None)
            return
        self.queue.delete(pod)
        if pod.status.nominated_node_name:
            self._nomination_gone(pod)

    def _nomination_gone(self, pod: Pod) -> None:
        """Pods of no higher priority had to leave room for the pod where it was nominated."""
        self.queue.move_all_to_active_or_backoff(
            ASSIGNED_POD_DELETE, pod, None, lambda other: other.priority <= pod.priority
        )

    # --- the API server, for plugins: implements `framework.Client` -------------------------------

    async def request(self, method: str, path: str, body: object | None = None) -> dict[str, Any]:
        """Writing an object is all that is asked for."""
        if method != "PUT" or not isinstance(body, dict):
            raise NotImplementedError(f"{method} {path} is not played")
        new = decode_object(self._versioned(body))
        self.apply(self.scheduler.objects.lister(type(new)).get(new.name, new.namespace), new)
        return dict(new.raw)

    async def bind(self, pod: Pod, node_name: str) -> None:
        old = self.pods[pod.key]
        self._patch_status(old, Condition(type="PodScheduled", status="True"), "", node_name)

    def _versioned(self, mapping: dict[str, Any]) -> dict[str, Any]:
        return {**mapping, "metadata": {**mapping["metadata"], "resourceVersion": str(next(self._versions))}}

    def _patch_status(self, old: Pod, condition: Condition, nominated: str, node_name: str = "") -> None:
        others = tuple(each for each in old.status.conditions if each.type != condition.type)
        status = msgspec.structs.replace(
            old.status, conditions=(*others, condition), nominated_node_name=nominated
        )
        if status == old.status:
            return
        metadata = msgspec.structs.replace(old.metadata, resource_version=str(next(self._versions)))
        patched = msgspec.structs.replace(old, metadata=metadata, status=status)
        self.apply(old, on_node(patched, node_name) if node_name else patched)

    # --- the PV controller ------------------------------------------------------------------------

    async def _control_volume(self, name: str) -> None:
        """A new volume becomes available; one that the scheduler gave to a claim is bound to it."""
        objects = self.scheduler.objects
        volume = objects.lister(PersistentVolume).get(name)
        if volume is None:
            return
        reference = volume.spec.claim_ref
        wanted = "Available" if reference is None else "Bound"
        if volume.status.phase != wanted:
            self.apply(volume, PersistentVolume.from_dict(self._merged(volume, status={"phase": wanted})))
        claims = objects.lister(PersistentVolumeClaim)
        claim = claims.get(reference.name, reference.namespace) if reference is not None else None
        if claim is not None and not claim.spec.volume_name:
            bound = self._merged(claim, spec={"volumeName": name}, status={"phase": "Bound"})
            annotations = {**claim.annotations, "pv.kubernetes.io/bind-completed": "yes"}
            bound["metadata"]["annotations"] = annotations
            self.apply(claim, PersistentVolumeClaim.from_dict(bound))

    def _merged(self, value: KubeObject, **parts: dict[str, Any]) -> dict[str, Any]:
        raw = dict(value.raw)
        return self._versioned({**raw, **{key: {**raw.get(key, {}), **part} for key, part in parts.items()}})

    # --- the scheduling cycle ---------------------------------------------------------------------

    def _attempt(self, info: QueuedPodInfo) -> None:
        pod = info.pod
        profile = self.scheduler.profiles[pod.spec.scheduler_name]
        if pod.is_terminating or self.scheduler.cache.is_assumed(pod.uid):
            self.queue.done(pod)
            return
        self.attempts[pod.key] += 1
        state = CycleState()
        decision = profile.cycle.schedule(pod, state)
        if not decision.node_name:
            self._failed(info, decision)
            return
        node_name = decision.node_name
        if decision.scores is not None:
            node_name = self._choose(pod, decision.scores) or node_name
        assumed = self.scheduler.cache.assume(pod, node_name)
        self.scheduler.nominator.remove(pod)
        status = profile.runner.reserve(state, assumed, node_name)
        if status.is_success:
            status = profile.runner.permit(state, assumed, node_name).status
        if not status.is_success:
            self._take_back(profile, state, assumed)
            self._refused(info, status)
            return
        self._start(self._bind(info, profile, state, assumed))

    def _take_back(self, profile: Profile, state: CycleState, assumed: Pod) -> None:
        profile.runner.unreserve(state, assumed, assumed.node_name)
        self.scheduler.cache.forget(assumed.uid)

    def _failed(self, info: QueuedPodInfo, decision: Decision) -> None:
        diagnosis = decision.diagnosis
        if diagnosis is not None:
            info.note_failure(diagnosis.unschedulable_plugins, diagnosis.pending_plugins, decision.message)
        else:
            info.note_failure(message=decision.message)
        self._give_back(info, decision.reason, decision.nominate)
        for victim in decision.victims:
            self.apply(self.pods[victim.key], None)

    def _refused(self, info: QueuedPodInfo, status: Status) -> None:
        rejected = status.is_rejection
        info.note_failure({status.plugin} if rejected else (), message=status.message)
        self._give_back(info, "Unschedulable" if rejected else "SchedulerError", "")

    def _give_back(self, info: QueuedPodInfo, reason: str, nominate: str | None) -> None:
        pod = self.pods.get(info.key)
        if pod is None or pod.node_name or pod.uid != info.pod.uid:
            self.queue.done(info.pod)
            return
        info.pod = pod
        self.queue.add_unschedulable_if_not_present(info)
        nominated = pod.status.nominated_node_name if nominate is None else nominate
        if nominated:
            self.scheduler.nominator.add(pod, nominated)
        else:
            self.scheduler.nominator.remove(pod)
        condition = Condition(type="PodScheduled", status="False", reason=reason, message=info.message)
        self._patch_status(pod, condition, nominated)

    # --- the binding cycle ------------------------------------------------------------------------

    async def _bind(self, info: QueuedPodInfo, profile: Profile, state: CycleState, assumed: Pod) -> None:
        node_name = assumed.node_name
        plan = profile.binding.plan(state, assumed, node_name)
        self.queue.done(assumed)
        status = plan if isinstance(plan, Status) else await self._send(profile, plan, state, assumed)
        if status.is_success:
            self.scheduler.cache.finish_binding(assumed.uid)
            await profile.binding.post_bind(state, assumed, node_name)
            return
        self._take_back(profile, state, assumed)
        self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, assumed, None)
        self._refused(info, Status.failed(status.message))

    async def _send(self, profile: Profile, plan: BindPlan, state: CycleState, assumed: Pod) -> Status:
        status = await profile.binding.pre_bind(plan, state, assumed, assumed.node_name, _one_by_one)
        return await profile.binding.bind(state, assumed, assumed.node_name) if status.is_success else status


async def _one_by_one(running: Sequence[Awaitable[Status]]) -> Status:
    first = SUCCESS
    for each in running:
        status = await each
        first = first if not first.is_success else status
    return first
