"""The event broadcaster: records events about pods and nodes, and writes them without delaying the scheduler.

`Recorder.event` only queues; senders write, over connections and within a rate limit of their own. If the API
server is slow, unreachable, or answers 429 or 5xx, events stay queued and are written later. An event is lost only
if the server rejects it, if it is older than a server would keep it, or if the queue is full; each case is counted
and logged, and scheduling goes on.

Binds have priority. While pods wait for theirs (`defer_while`), events are written one at a time, because each
request for an event delays one for a bind; the other events follow at full speed afterwards. No event is deferred
for longer than `MAX_DEFER_SECONDS`.
"""

from __future__ import annotations

import asyncio
import math
import random
import socket
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec import UNSET

from bayplan.client.errors import ApiError, ClientError, NotFoundError
from bayplan.client.event_body import EventBody, EventMetadata, event_target
from bayplan.client.event_series import (
    FINISH_SECONDS,
    REFRESH_SECONDS,
    EventAggregator,
    TrackedEvent,
    UniqueTimestamps,
    event_name,
    micro_time,
    truncate_note,
)
from bayplan.client.flow_control import Random, is_throttled, is_transient, jittered
from bayplan.client.kube_client import KubeClient
from bayplan.client.transport import TIMEOUT_SECONDS, USER_AGENT, Transport
from bayplan.model import KubeObject
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.framework import Clock

log = klog.get_logger("bayplan.client", "event_broadcaster.py")

#: About 100 MB of memory, and more than half an hour of events at the default of 50 a second. client-go has no
#: limit here: its queue of 1,000 is emptied at once into as many goroutines as there are events.
MAX_QUEUED = 100_000
#: How long an API server keeps events (--event-ttl): an older one would be gone as soon as it is written.
GIVE_UP_SECONDS = 3600.0
RETRY_SECONDS = 10.0  # client-go's defaultSleepDuration
_RETRY_JITTER = 0.25
#: More than connections: an event that waits for its next try does not delay others.
MAX_SENDERS = 64
CONNECTIONS = 8
#: Senders while events are deferred; not 0, so that the event of a single pod is written at once.
SENDERS_WHILE_DEFERRED = 1
#: Short enough that what is queued by then can be written within `DRAIN_SECONDS` at a stop.
MAX_DEFER_SECONDS = 10.0
#: How often `defer_while` is called if no sender finishes an event in the meantime.
_RECHECK_SECONDS = 1.0
#: How long a stop waits for the queue; pods have 30 seconds to terminate.
DRAIN_SECONDS = 10.0
#: How often dropped events are logged.
_DROP_LOG_SECONDS = 10.0
_EVENT_TYPES = ("Normal", "Warning")


class EventSink(Protocol):
    """Where events are written: `KubeClient`."""

    async def create_event(self, namespace: str, event: object) -> bool:
        """False if there is one of this name already."""

    async def patch_event(self, namespace: str, name: str, patch: object) -> None: ...


@dataclass(slots=True)
class EventCounts:
    """The results of all events so far."""

    written: int = 0
    #: Rejected by the server.
    refused: int = 0
    #: Not written within the time that a server keeps events.
    expired: int = 0
    #: Because the queue was full, or at the end of the process.
    dropped: int = 0


def event_client(transport: Transport, clock: Clock, *, qps: float = 0.0, burst: int = 0) -> KubeClient:
    """A client for events only, as kube-scheduler has one: events and binds do not wait for each other."""
    connections = transport.sibling(
        timeout_seconds=TIMEOUT_SECONDS, max_connections=CONNECTIONS, user_agent=USER_AGENT
    )
    return KubeClient(connections, clock, qps=qps, burst=burst)


def _never() -> bool:
    return False


class EventBroadcaster:
    """Aggregates equal events, queues them and writes them; one for all recorders of a process."""

    def __init__(self, sink: EventSink, clock: Clock, *, rng: Random = random.random) -> None:
        self._sink = sink
        self._clock = clock
        self._rng = rng
        self._defer_while: Callable[[], bool] = _never
        self._queue: deque[TrackedEvent] = deque()
        #: Each ends when the queue is empty, or when there are more senders than allowed.
        self._senders: set[asyncio.Task[None]] = set()
        self._n_writing = 0
        self._aggregator = EventAggregator()
        #: None until `start`.
        self._refreshing: asyncio.Task[None] | None = None
        #: Set by `start`: `asyncio.get_running_loop` is a system call in Python 3.11.
        self._loop: asyncio.AbstractEventLoop
        #: Runs while events are deferred.
        self._recheck_timer: asyncio.TimerHandle | None = None
        self._timestamps = UniqueTimestamps()
        self.counts = EventCounts()
        self._next_drop_log = -math.inf

    def recorder(self, reporting_controller: str) -> Recorder:
        """The recorder of a profile, which reports under its scheduler name."""
        return Recorder(self, reporting_controller)

    @property
    def n_queued(self) -> int:
        """Events that are not written yet."""
        return len(self._queue) + self._n_writing

    def start(self, *, defer_while: Callable[[], bool] = _never) -> None:
        """Start to write events; *defer_while* says whether binds are waiting, so that events should wait."""
        self._defer_while = defer_while
        self._loop = asyncio.get_running_loop()
        self._refreshing = self._loop.create_task(self._refresh_series(), name="event series")
        self._start_senders()

    async def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Write what is queued, within *drain_seconds*; then stop."""
        self._defer_while = _never
        self._start_senders()
        if self._senders:
            await asyncio.wait(self._senders, timeout=drain_seconds)
        if self.n_queued:
            left = self.n_queued
            self.counts.dropped += left
            log.error(None, "Events not written before the end", events=left, seconds=drain_seconds)
        if self._recheck_timer is not None:
            self._recheck_timer.cancel()
        tasks = [*self._senders, *([self._refreshing] if self._refreshing is not None else ())]
        self._refreshing = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- called by recorders ------------------------------------------------------------------------------

    def now(self) -> float:
        return self._clock.now()

    def next_name(self, regarding: str, now: float) -> str:
        """A unique name for an event about the object called *regarding*."""
        return event_name(regarding, self._timestamps.next(now))

    def record(self, key: Hashable, event: TrackedEvent) -> None:
        """Queue *event*; events with equal *key* become a series."""
        tracked = self._aggregator.get(key)
        if tracked is not None:
            if self._aggregator.repeat(tracked, event.last_seen):
                self._enqueue(tracked)
        elif self._enqueue(event):
            self._aggregator.add(key, event)

    def _enqueue(self, event: TrackedEvent) -> bool:
        if len(self._queue) >= MAX_QUEUED:
            self.counts.dropped += 1
            if self._clock.monotonic() >= self._next_drop_log:
                self._next_drop_log = self._clock.monotonic() + _DROP_LOG_SECONDS
                log.error(None, "Event dropped: the queue is full", queued=MAX_QUEUED, dropped=self.counts.dropped)
            return False
        self._queue.append(event)
        if not self._senders or self._recheck_timer is None:
            # Otherwise events are deferred: the sender or the timer starts more senders when they are not.
            self._start_senders()
        return True

    # --- writing ------------------------------------------------------------------------------------------

    def _start_senders(self) -> None:
        """As many as are allowed and have something to write."""
        if self._refreshing is None:
            return
        n_allowed = self._n_senders_allowed()
        for _ in range(min(n_allowed - len(self._senders), len(self._queue))):
            sender = self._loop.create_task(self._send(), name="event sender")
            self._senders.add(sender)
            sender.add_done_callback(self._sender_ended)
        if n_allowed < MAX_SENDERS and self._recheck_timer is None:
            self._recheck_timer = self._loop.call_later(_RECHECK_SECONDS, self._recheck)

    def _sender_ended(self, sender: asyncio.Task[None]) -> None:
        self._senders.discard(sender)
        self._start_senders()  # several may have ended at once, with new events in the queue

    def _recheck(self) -> None:
        self._recheck_timer = None
        self._start_senders()

    def _n_senders_allowed(self) -> int:
        if not self._queue or not self._defer_while():
            return MAX_SENDERS
        is_late = self._clock.now() - self._queue[0].last_seen > MAX_DEFER_SECONDS
        return MAX_SENDERS if is_late else SENDERS_WHILE_DEFERRED

    async def _send(self) -> None:
        while self._queue and len(self._senders) <= self._n_senders_allowed():
            event = self._queue.popleft()
            self._n_writing += 1
            try:
                await self._write(event)
            except Exception as error:
                log.error(error, "Unable to write event", trace=error, event=event.name)
            finally:
                self._n_writing -= 1
            # Events may no longer be deferred.
            self._start_senders()

    async def _write(self, event: TrackedEvent) -> None:
        """Try until it is written, rejected or too old."""
        while True:
            try:
                if event.is_series:
                    await self._write_series(event)
                else:
                    await self._sink.create_event(event.namespace, event.data)
                self.counts.written += 1
                return
            except ClientError as error:
                if _is_rejected(error):
                    self.counts.refused += 1
                    log.error(error, "Server rejected event (will not retry!)", event=event.name)
                    return
                if self._clock.now() - event.last_seen >= GIVE_UP_SECONDS:
                    self.counts.expired += 1
                    log.error(error, "Unable to write event (retry limit exceeded!)", event=event.name)
                    return
                log.error(error, "Unable to write event (may retry after sleeping)", event=event.name)
            await self._clock.sleep(jittered(RETRY_SECONDS, _RETRY_JITTER, self._rng))

    async def _write_series(self, event: TrackedEvent) -> None:
        try:
            await self._patch(event)
        except NotFoundError:
            # The server has deleted the event after an hour, or it was not written yet and may be by now.
            if not await self._sink.create_event(event.namespace, event.body()):
                await self._patch(event)

    async def _patch(self, event: TrackedEvent) -> None:
        await self._sink.patch_event(event.namespace, event.name, {"series": event.series()})

    async def _refresh_series(self) -> None:
        """Write the counts of series from time to time, and finally when they have ended."""
        refresh_at = self._clock.monotonic() + REFRESH_SECONDS
        while True:
            await self._clock.sleep(FINISH_SECONDS)
            for event in self._aggregator.remove_finished(self._clock.now()):
                self._enqueue(event)
            if self._clock.monotonic() >= refresh_at:
                refresh_at += REFRESH_SECONDS
                for event in self._aggregator.series():
                    self._enqueue(event)


class Recorder:
    """Implements `framework.EventRecorder`."""

    def __init__(self, broadcaster: EventBroadcaster, reporting_controller: str) -> None:
        self._broadcaster = broadcaster
        self._controller = reporting_controller
        self._instance = f"{reporting_controller}-{socket.gethostname()}"

    def event(
        self, regarding: KubeObject, *, kind: str, reason: str, action: str, note: str, related: object = None
    ) -> None:
        if kind not in _EVENT_TYPES:
            raise ValueError(f"an event is Normal or Warning, not {kind!r}")
        now = self._broadcaster.now()
        namespace, name = regarding.namespace or "default", self._broadcaster.next_name(regarding.name, now)
        regarding_target = event_target(regarding)
        related_target = event_target(related) if isinstance(related, KubeObject) else UNSET
        body = EventBody(
            "events.k8s.io/v1",
            "Event",
            EventMetadata(name, namespace),
            micro_time(now),
            self._controller,
            self._instance,
            action,
            reason,
            regarding_target,
            truncate_note(note),
            kind,
            related_target,
        )
        # Everything but the note and the times.
        key = (kind, action, reason, self._instance, regarding_target, related_target)
        self._broadcaster.record(key, TrackedEvent(namespace, name, msgspec.json.encode(body), now))


def _is_rejected(error: ClientError) -> bool:
    """Whether the server has read the event and does not accept it; other causes may be gone soon."""
    return isinstance(error, ApiError) and not is_transient(error) and not is_throttled(error)
