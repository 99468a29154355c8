"""Eviction: makes room for a preemptor by removing its victims, without holding up the scheduling cycle.

The preemptor is held back by DefaultPreemption's PreEnqueue until its victims are on their way out; then the
events of their deletion try it again. If an eviction fails, or the last victim went by itself, the preemptor is
tried again at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from bayplan.cycle.waiting import HeldPod, HeldPods
from bayplan.framework import EventRecorder, Nominator
from bayplan.model import Pod
from bayplan.observe import klog

log = klog.get_logger("bayplan.cycle")

PLUGIN = "DefaultPreemption"


class Evictor(Protocol):
    """Does it to the API server; a pod that is gone already is no error."""

    async def evict(self, victim: Pod, *, message: str) -> bool:
        """Mark *victim* with the DisruptionTarget condition and delete it; False if it was gone already."""

    async def withdraw_nomination(self, pod: Pod) -> None: ...


class PreemptionObserver(Protocol):
    """Told when a preemption is over: metrics hang on this."""

    def preempted(self, seconds: float, *, succeeded: bool) -> None: ...


class _Victim(NamedTuple):
    pod: Pod
    #: As it was waiting at Permit when it was chosen; None if it was not.
    held: HeldPod | None

    @property
    def is_leaving(self) -> bool:
        """Whether its place becomes free anyhow."""
        return self.pod.is_terminating or (self.held is not None and self.held.is_leaving)


class Preemptions:
    """The preemptions that are under way."""

    def __init__(
        self,
        evictor: Evictor,
        held: HeldPods,
        nominator: Nominator,
        recorder: EventRecorder,
        activate: Callable[[Iterable[Pod]], None],
        current_pod: Callable[[Pod], Pod | None],
        observer: PreemptionObserver | None = None,
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]] = asyncio.ensure_future,
    ) -> None:
        self._evictor = evictor
        self._held = held
        self._nominator = nominator
        self._recorder = recorder
        self._activate = activate
        #: The pod as the watch last showed it.
        self._current_pod = current_pod
        self._observer = observer
        #: Runs a preemption in the background.
        self._start = start
        #: uid of a preemptor → the last victim it waits for; None while there are others before it.
        self._running: dict[str, Pod | None] = {}

    def is_running(self, preemptor: Pod) -> bool:
        """Whether *preemptor* must wait: its last victim is not on its way out yet."""
        if preemptor.uid not in self._running:
            return False
        last = self._running[preemptor.uid]
        if last is None:
            return True
        current = self._current_pod(last)
        return current is not None and not current.is_terminating

    def start(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> asyncio.Task[None] | None:
        """Evict *victims* from *node_name* in the background."""
        asked = [_Victim(victim, self._held.get(victim.uid)) for victim in victims]
        asked = [victim for victim in asked if not victim.is_leaving]
        if not asked:
            return None
        self._running[preemptor.uid] = None
        return self._start(self._run(preemptor, node_name, asked))

    async def _run(self, preemptor: Pod, node_name: str, victims: Sequence[_Victim]) -> None:
        message = "Start the preemption asynchronously"
        log.info(message, v=2, preemptor=preemptor, node=node_name, numVictims=len(victims))
        start, succeeded, is_news_to_come = perf_counter(), False, False
        try:
            # 1. Pods of lower priority that were promised this node lose the promise.
            await asyncio.gather(*(self._withdraw(pod) for pod in self._outranked(preemptor, node_name)))
            # 2. All victims but one, at the same time; the last one's deletion is what tries the preemptor again.
            await asyncio.gather(*(self._evict(preemptor, node_name, victim) for victim in victims[:-1]))
            self._running[preemptor.uid] = victims[-1].pod
            is_news_to_come = await self._evict(preemptor, node_name, victims[-1])
            succeeded = True
        except Exception as error:
            log.error(error, "Error occurred during async preemption", preemptor=preemptor, node=node_name)
        finally:
            self._running.pop(preemptor.uid, None)
            if self._observer is not None:
                self._observer.preempted(perf_counter() - start, succeeded=succeeded)
            if not is_news_to_come:
                self._activate([preemptor])

    def _outranked(self, preemptor: Pod, node_name: str) -> list[Pod]:
        return [pod for pod in self._nominator.nominated(node_name) if pod.priority < preemptor.priority]

    async def _withdraw(self, pod: Pod) -> None:
        self._nominator.remove(pod)
        await self._evictor.withdraw_nomination(pod)

    async def _evict(self, preemptor: Pod, node_name: str, victim: _Victim) -> bool:
        """Whether it was done. Else the victim went by itself, and that may have been told while the preemptor was
        held back."""
        if victim.is_leaving:
            return False
        note = f"Preempted by pod {preemptor.uid} on node {node_name}"
        if victim.held is not None and victim.held.preempt(PLUGIN, "preempted"):
            note += " (in kube-scheduler memory)."
        else:
            message = f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod"
            if not await self._evictor.evict(victim.pod, message=message):
                return False
        # Not related to the preemptor: upstream hands its recorder an object that makes no reference.
        self._recorder.event(victim.pod, kind="Normal", reason="Preempted", action="Preempting", note=note)
        return True
