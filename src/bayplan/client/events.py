"""The event recorder: tells about pods and nodes in events of events.k8s.io, without holding anybody up.

`Recorder.event` only remembers and queues; senders write, over connections and within a rate limit of their own.
An API server that is slow, out of reach, or answers 429 or 5xx is waited for: what it cannot take now is a backlog
that is written later. An event is lost only if the server refuses it for good, if it is older than a server would
keep it, or if the backlog has no end; each is counted and logged, and scheduling goes on.

Binds come first. While pods wait for theirs, events are written one at a time, because a request that the server
answers for an event is one that it does not answer for a bind; the rest follows at full speed when the binds are
done. That goes for bursts: no event is held back for longer than `HOLD_SECONDS`.
"""

from __future__ import annotations

import asyncio
import math
import random
import socket
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec import UNSET

from bayplan.client.api import KubeClient
from bayplan.client.backoff import Random, jittered
from bayplan.client.calls import is_asked_to_wait, is_passing
from bayplan.client.errors import ApiError, ClientError, NotFoundError
from bayplan.client.event_form import Event, EventMeta, reference
from bayplan.client.event_series import (
    FINISH_SECONDS,
    REFRESH_SECONDS,
    Aggregator,
    EventNumbers,
    Occurrence,
    cut_note,
    event_name,
    micro_time,
)
from bayplan.client.transport import TIMEOUT_SECONDS, USER_AGENT, Transport
from bayplan.framework import Clock
from bayplan.model import KubeObject
from bayplan.observe import klog

log = klog.get_logger("bayplan.client")

#: Some 100 MB of memory, and more than half an hour of events at the default of 50 a second. client-go has no
#: limit here: its queue of 1,000 is emptied at once into as many goroutines as there are events.
MAX_QUEUED = 100_000
#: So long an API server keeps events (--event-ttl): an older one would be gone as soon as it is written.
GIVE_UP_SECONDS = 3600.0
RETRY_SECONDS = 10.0  # client-go's defaultSleepDuration
_RETRY_JITTER = 0.25
#: More than connections: one that was asked to send later holds up nobody else.
SENDERS = 64
CONNECTIONS = 8
#: Senders while binds are under way; never none, so that the event of a lone pod is written at once.
SENDERS_BESIDE_BINDS = 1
#: So long an event is held back for binds: what has gathered by then is written within `DRAIN_SECONDS` at a stop.
HOLD_SECONDS = 10.0
#: Whether events are still to be held back is asked this often; mostly sooner, when one of them is written.
_LOOK_AGAIN_SECONDS = 1.0
#: A stop waits no longer than this for the backlog; pods are given 30 seconds to end.
DRAIN_SECONDS = 10.0
#: What is dropped is logged this often.
_TELL_SECONDS = 10.0
_KINDS = ("Normal", "Warning")


class EventSink(Protocol):
    """Where events are written: `KubeClient`."""

    async def create_event(self, namespace: str, event: object) -> bool:
        """False if there is one of this name already."""

    async def patch_event(self, namespace: str, name: str, patch: object) -> None: ...


@dataclass(slots=True)
class EventCounts:
    """What became of the events so far."""

    written: int = 0
    #: By the server, for good.
    refused: int = 0
    #: Not written within the time that a server keeps events.
    expired: int = 0
    #: Because the queue was full, or at the end of the process.
    dropped: int = 0


def event_client(transport: Transport, clock: Clock, *, qps: float = 0.0, burst: int = 0) -> KubeClient:
    """A client for events alone, as kube-scheduler has one: they and binds do not wait for each other."""
    connections = transport.sibling(
        timeout_seconds=TIMEOUT_SECONDS, max_connections=CONNECTIONS, user_agent=USER_AGENT
    )
    return KubeClient(connections, clock, qps=qps, burst=burst)


class EventBroadcaster:
    """Draws equal events together, queues them and writes them; one for all recorders of a process."""

    def __init__(
        self, sink: EventSink, clock: Clock, *, senders: int = SENDERS, rng: Random = random.random
    ) -> None:
        self._sink = sink
        self._clock = clock
        self._rng = rng
        self._max_senders = senders
        #: Whether binds wait or are under way, and events had better not be in their way.
        self.are_binds_waiting: Callable[[], bool] = lambda: False
        self._waiting: deque[Occurrence] = deque()
        #: Each goes on until nothing waits any more, or until it is one too many.
        self._senders: set[asyncio.Task[None]] = set()
        self._aggregator = Aggregator()
        self._keeping_up: asyncio.Task[None] | None = None
        #: That of the senders, since there are any: asking for the running one is a system call.
        self._loop: asyncio.AbstractEventLoop
        self._look_again: asyncio.TimerHandle | None = None
        self._n_writing = 0
        self._numbers = EventNumbers()
        self.counts = EventCounts()
        #: When the next message about dropped events is due.
        self._tell_at = -math.inf

    def recorder(self, reporting_controller: str) -> Recorder:
        """The recorder of a profile, which reports under its scheduler name."""
        return Recorder(self, reporting_controller)

    @property
    def n_queued(self) -> int:
        """Events that are not written yet."""
        return len(self._waiting) + self._n_writing

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._keeping_up = self._loop.create_task(self._keep_up(), name="event series")
        self._start_senders()

    async def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Write what is queued, for as long as that takes *drain_seconds* at most; then stop."""
        self.are_binds_waiting = lambda: False
        self._start_senders()
        if self._senders:
            await asyncio.wait(self._senders, timeout=drain_seconds)
        if self.n_queued:
            left = self.n_queued
            self.counts.dropped += left
            log.error(None, "Events not written before the end", events=left, seconds=drain_seconds)
        if self._look_again is not None:
            self._look_again.cancel()
        tasks = [*self._senders, *([self._keeping_up] if self._keeping_up is not None else ())]
        self._keeping_up = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- taking -------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._clock.now()

    def next_name(self, regarding: str, now: float) -> str:
        """Of an event about an object of that name: no two events share one."""
        return event_name(regarding, self._numbers.next(now))

    def take(self, key: Hashable, occurrence: Occurrence) -> None:
        """An event has happened; events of equal *key* are drawn together."""
        known = self._aggregator.known(key)
        if known is not None:
            if self._aggregator.again(known, occurrence.last):
                self._enqueue(known)
        elif self._enqueue(occurrence):
            self._aggregator.add(key, occurrence)

    def _enqueue(self, occurrence: Occurrence) -> bool:
        if len(self._waiting) >= MAX_QUEUED:
            self.counts.dropped += 1
            if self._clock.monotonic() >= self._tell_at:
                self._tell_at = self._clock.monotonic() + _TELL_SECONDS
                log.error(None, "Event dropped: the queue is full", queued=MAX_QUEUED, dropped=self.counts.dropped)
            return False
        self._waiting.append(occurrence)
        if not self._senders or self._look_again is None:
            # Else events are held back, and whoever writes one, or the clock, looks after those that wait.
            self._start_senders()
        return True

    # --- writing ------------------------------------------------------------------------------------------

    def _start_senders(self) -> None:
        """As many as have something to do, and may."""
        if self._keeping_up is None:
            return
        n_allowed = self._n_senders_allowed()
        for _ in range(min(n_allowed - len(self._senders), len(self._waiting))):
            sender = self._loop.create_task(self._send(), name="event sender")
            self._senders.add(sender)
            sender.add_done_callback(self._sender_ended)
        if n_allowed < self._max_senders and self._look_again is None:
            # The one that is written may take long.
            self._look_again = self._loop.call_later(_LOOK_AGAIN_SECONDS, self._start_senders_again)

    def _sender_ended(self, sender: asyncio.Task[None]) -> None:
        self._senders.discard(sender)
        self._start_senders()  # several may have ended at once, and something may have come since

    def _start_senders_again(self) -> None:
        self._look_again = None
        self._start_senders()

    def _n_senders_allowed(self) -> int:
        if not self._waiting or not self.are_binds_waiting():
            return self._max_senders
        is_late = self._clock.now() - self._waiting[0].last > HOLD_SECONDS
        return self._max_senders if is_late else SENDERS_BESIDE_BINDS

    async def _send(self) -> None:
        while self._waiting and len(self._senders) <= self._n_senders_allowed():
            occurrence = self._waiting.popleft()
            self._n_writing += 1
            try:
                await self._write(occurrence)
            except Exception as error:
                log.error(error, "Unable to write event", trace=error, event=occurrence.name)
            finally:
                self._n_writing -= 1
            # The binds may be done by now.
            self._start_senders()

    async def _write(self, occurrence: Occurrence) -> None:
        """Until it is written, refused or too old."""
        while True:
            try:
                if occurrence.is_series:
                    await self._record_series(occurrence)
                else:
                    await self._sink.create_event(occurrence.namespace, occurrence.data)
                self.counts.written += 1
                return
            except ClientError as error:
                if _is_final(error):
                    self.counts.refused += 1
                    log.error(error, "Server rejected event (will not retry!)", event=occurrence.name)
                    return
                if self._clock.now() - occurrence.last >= GIVE_UP_SECONDS:
                    self.counts.expired += 1
                    log.error(error, "Unable to write event (retry limit exceeded!)", event=occurrence.name)
                    return
                log.error(error, "Unable to write event (may retry after sleeping)", event=occurrence.name)
            await self._clock.sleep(jittered(RETRY_SECONDS, _RETRY_JITTER, self._rng))

    async def _record_series(self, occurrence: Occurrence) -> None:
        try:
            await self._patch(occurrence)
        except NotFoundError:
            # Events live for an hour only, or the first one is not written yet; it may be by now.
            if not await self._sink.create_event(occurrence.namespace, occurrence.whole()):
                await self._patch(occurrence)

    async def _patch(self, occurrence: Occurrence) -> None:
        await self._sink.patch_event(occurrence.namespace, occurrence.name, {"series": occurrence.series()})

    async def _keep_up(self) -> None:
        """Write the counts of series, and the last ones of those that have ended."""
        refresh_at = self._clock.monotonic() + REFRESH_SECONDS
        while True:
            await self._clock.sleep(FINISH_SECONDS)
            for occurrence in self._aggregator.finish(self._clock.now()):
                self._enqueue(occurrence)
            if self._clock.monotonic() >= refresh_at:
                refresh_at += REFRESH_SECONDS
                for occurrence in self._aggregator.series():
                    self._enqueue(occurrence)


class Recorder:
    """Implements `framework.EventRecorder`."""

    def __init__(self, broadcaster: EventBroadcaster, reporting_controller: str) -> None:
        self._broadcaster = broadcaster
        self._controller = reporting_controller
        self._instance = f"{reporting_controller}-{socket.gethostname()}"

    def event(
        self, regarding: KubeObject, *, kind: str, reason: str, action: str, note: str, related: object = None
    ) -> None:
        if kind not in _KINDS:
            raise ValueError(f"an event is Normal or Warning, not {kind!r}")
        now = self._broadcaster.now()
        namespace, name = regarding.namespace or "default", self._broadcaster.next_name(regarding.name, now)
        about = reference(regarding)
        beside = reference(related) if isinstance(related, KubeObject) else UNSET
        event = Event(
            "events.k8s.io/v1",
            "Event",
            EventMeta(name, namespace),
            micro_time(now),
            self._controller,
            self._instance,
            action,
            reason,
            about,
            cut_note(note),
            kind,
            beside,
        )
        # Everything but the note and the times.
        key = (kind, action, reason, self._instance, about, beside)
        self._broadcaster.take(key, Occurrence(namespace, name, msgspec.json.encode(event), now))


def _is_final(error: ClientError) -> bool:
    """Whether the server has read the event and will not have it; anything else may be over soon."""
    return isinstance(error, ApiError) and not is_passing(error) and not is_asked_to_wait(error)
