"""Waiting pods: held by Permit until every plugin that holds them lets go, one rejects, or time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol

from bayplan.config.duration import Duration
from bayplan.framework import SUCCESS, Code, Status
from bayplan.framework.calls import wrapped

if TYPE_CHECKING:
    from bayplan.model import Pod


#: Gangs that are complete, or give up, mostly are within milliseconds.
MOMENT_SECONDS: Final = 0.5


class Timer(Protocol):
    def cancel(self) -> object: ...


class Future(Protocol):
    """What a waiting pod awaits: the part of `asyncio.Future` that is used."""

    def done(self) -> bool: ...

    def set_result(self, result: Status, /) -> None: ...

    def cancel(self) -> object: ...

    def __await__(self) -> Generator[Any, None, Status]: ...


class Loop(Protocol):
    """Where timers run: an asyncio loop, or one of virtual time."""

    def create_future(self) -> Future: ...

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: Any) -> Timer: ...


class HeldPod:
    """Implements `framework.WaitingPod`."""

    def __init__(self, pod: Pod, waits: Mapping[str, float], loop: Loop) -> None:
        self._pod = pod
        self._loop = loop
        self._decided: Future = loop.create_future()
        #: Whether it was decided that the pod does not go on.
        self.is_leaving = False
        #: Done when the pod is decided about, or has waited for a moment.
        self._moment: Future = loop.create_future()
        #: Plugin → the timer that rejects the pod in its name.
        self._pending = {
            plugin: loop.call_later(seconds, self._time_out, plugin, seconds) for plugin, seconds in waits.items()
        }

    @property
    def pod(self) -> Pod:
        return self._pod

    @property
    def pending_plugins(self) -> Sequence[str]:
        return tuple(self._pending)

    def allow(self, plugin_name: str) -> None:
        timer = self._pending.pop(plugin_name, None)
        if timer is not None:
            timer.cancel()
        if not self._pending:
            self._decide(SUCCESS)

    def reject(self, plugin_name: str, message: str) -> bool:
        return self._decide(Status(Code.UNSCHEDULABLE, (message,), plugin=plugin_name))

    def preempt(self, plugin_name: str, message: str) -> bool:
        """Reject because the pod's place is wanted; it is tried again after a backoff, not when a rule changes."""
        return self._decide(Status(Code.ERROR, (message,), plugin=plugin_name))

    def abandon(self) -> None:
        """Nobody will decide any more: whoever waits for the decision is cancelled."""
        self._decided.cancel()
        self._moment.cancel()
        for timer in self._pending.values():
            timer.cancel()

    async def outlasts(self, seconds: float) -> bool:
        """Whether the pod still waits after so long; False as soon as it does not."""
        timer = self._loop.call_later(seconds, self._end_moment)
        await self._moment
        timer.cancel()
        return not self._decided.done()

    def _end_moment(self) -> None:
        if not self._moment.done():
            self._moment.set_result(SUCCESS)

    async def decision(self) -> Status:
        return await self._decided

    def _time_out(self, plugin_name: str, seconds: float) -> None:
        waited = Duration(round(seconds * 1e9))
        self.reject(plugin_name, f"rejected due to timeout after waiting {waited} at plugin {plugin_name}")

    def _decide(self, status: Status) -> bool:
        if self._decided.done():
            return False
        self._decided.set_result(status)
        self.is_leaving = not status.is_success
        self._end_moment()
        for timer in self._pending.values():
            timer.cancel()
        return True


class HeldPods:
    """Implements `framework.WaitingPods`."""

    def __init__(
        self,
        on_decided: Callable[[Code, float], None] = lambda code, seconds: None,
        loop: Callable[[], Loop] = asyncio.get_running_loop,
    ) -> None:
        """*on_decided* is told how a wait ended, and how long it was; *loop* gives the one whose time counts."""
        self._by_uid: dict[str, HeldPod] = {}
        self._on_decided = on_decided
        self._loop = loop

    def hold(self, pod: Pod, waits: Mapping[str, float]) -> None:
        self._by_uid[pod.uid] = HeldPod(pod, waits, self._loop())

    def get(self, uid: str) -> HeldPod | None:
        return self._by_uid.get(uid)

    async def decision(self, uid: str, after_a_moment: Callable[[], Awaitable[None]]) -> Status:
        """How the waiting of the pod ended; success at once for a pod that nobody holds. One that is not decided
        about at once is worth a word: *after_a_moment* is called."""
        held = self._by_uid.get(uid)
        if held is None:
            return SUCCESS
        start = perf_counter()
        try:
            if await held.outlasts(MOMENT_SECONDS):
                await after_a_moment()
            status = await held.decision()
        finally:
            del self._by_uid[uid]
        self._on_decided(status.code, perf_counter() - start)
        if status.is_success or status.is_rejection:
            return status
        return wrapped("waiting on permit for pod", status, status.plugin)

    def abandon(self) -> None:
        """We are about to end: to the cluster, these pods were never tried."""
        for held in self:
            held.abandon()

    def __iter__(self) -> Iterator[HeldPod]:
        return iter(tuple(self._by_uid.values()))

    def __len__(self) -> int:
        return len(self._by_uid)
