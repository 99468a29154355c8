"""The event recorder: tells about pods and nodes in events of events.k8s.io, without holding anybody up.

`Recorder.event` only remembers and queues; senders write, over connections and within a rate limit of their own.
An API server that is slow, out of reach, or answers 429 or 5xx is waited for: what it cannot take now is a backlog
that is written later. An event is lost only if the server refuses it for good, if it is older than a server would
keep it, or if the backlog has no end; each is counted and logged, and scheduling goes on.
"""

from __future__ import annotations

import asyncio
import math
import random
import socket
from dataclasses import dataclass
from typing import Protocol, cast

from bayplan.client.api import KubeClient
from bayplan.client.backoff import Random, jittered
from bayplan.client.calls import is_asked_to_wait, is_passing
from bayplan.client.errors import ApiError, ClientError, NotFoundError
from bayplan.client.event_series import (
    FINISH_SECONDS,
    REFRESH_SECONDS,
    Aggregator,
    EventNumbers,
    Occurrence,
    cut_note,
    event_name,
    micro_time,
    reference,
)
from bayplan.client.transport import TIMEOUT_SECONDS, USER_AGENT, Transport
from bayplan.framework import Clock
from bayplan.model import KubeObject
from bayplan.observe import klog

log = klog.get_logger("bayplan.client")

#: Some 200 MB of memory, and more than half an hour of events at the default of 50 a second. client-go has no
#: limit here: its queue of 1,000 is emptied at once into as many goroutines as there are events.
MAX_QUEUED = 100_000
#: So long an API server keeps events (--event-ttl): an older one would be gone as soon as it is written.
GIVE_UP_SECONDS = 3600.0
RETRY_SECONDS = 10.0  # client-go's defaultSleepDuration
_RETRY_JITTER = 0.25
#: More than connections: one that was asked to send later holds up nobody else.
SENDERS = 64
CONNECTIONS = 8
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
        self._n_senders = senders
        self._queue: asyncio.Queue[Occurrence] = asyncio.Queue(MAX_QUEUED)
        self._aggregator = Aggregator()
        self._tasks: list[asyncio.Task[None]] = []
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
        return self._queue.qsize() + self._n_writing

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._send_all(), name="event sender") for _ in range(self._n_senders)]
        self._tasks.append(asyncio.create_task(self._keep_up(), name="event series"))

    async def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Write what is queued, for as long as that takes *drain_seconds* at most; then stop."""
        try:
            async with asyncio.timeout(drain_seconds):
                await self._queue.join()
        except TimeoutError:
            left = self.n_queued
            self.counts.dropped += left
            log.error(None, "Events not written before the end", events=left, seconds=drain_seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    # --- taking -------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._clock.now()

    def next_name(self, regarding: str) -> str:
        """Of an event about an object of that name: no two events share one."""
        return event_name(regarding, self._numbers.next(self._clock.now()))

    def take(self, occurrence: Occurrence) -> None:
        """An event has happened."""
        key = _key(occurrence)
        known = self._aggregator.known(key)
        if known is not None:
            if self._aggregator.again(known, occurrence.last):
                self._enqueue(known)
        elif self._enqueue(occurrence):
            self._aggregator.add(key, occurrence)

    def _enqueue(self, occurrence: Occurrence) -> bool:
        try:
            self._queue.put_nowait(occurrence)
        except asyncio.QueueFull:
            self.counts.dropped += 1
            if self._clock.monotonic() >= self._tell_at:
                self._tell_at = self._clock.monotonic() + _TELL_SECONDS
                log.error(None, "Event dropped: the queue is full", queued=MAX_QUEUED, dropped=self.counts.dropped)
            return False
        return True

    # --- writing ------------------------------------------------------------------------------------------

    async def _send_all(self) -> None:
        while True:
            occurrence = await self._queue.get()
            self._n_writing += 1
            try:
                await self._write(occurrence)
            except Exception as error:
                log.error(error, "Unable to write event", trace=error, event=occurrence.name)
            finally:
                self._n_writing -= 1
                self._queue.task_done()

    async def _write(self, occurrence: Occurrence) -> None:
        """Until it is written, refused or too old."""
        while True:
            try:
                await self._record(occurrence)
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

    async def _record(self, occurrence: Occurrence) -> None:
        if not occurrence.is_series:
            await self._sink.create_event(occurrence.namespace, occurrence.whole())
            return
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
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": self._broadcaster.next_name(regarding.name),
                "namespace": regarding.namespace or "default",
            },
            "eventTime": micro_time(now),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": reference(regarding),
            "note": cut_note(note),
            "type": kind,
        }
        if isinstance(related, KubeObject):
            event["related"] = reference(related)
        self._broadcaster.take(Occurrence(event, now))


def _is_final(error: ClientError) -> bool:
    """Whether the server has read the event and will not have it; anything else may be over soon."""
    return isinstance(error, ApiError) and not is_passing(error) and not is_asked_to_wait(error)


def _key(occurrence: Occurrence) -> tuple[object, ...]:
    """Equal for events that are drawn together: everything but the note and the times."""
    event = occurrence.event
    regarding = cast("dict[str, str]", event["regarding"])
    related = cast("dict[str, str]", event.get("related", {}))
    return (
        event["type"],
        event["action"],
        event["reason"],
        event["reportingInstance"],
        tuple(regarding.values()),
        tuple(related.values()),
    )
