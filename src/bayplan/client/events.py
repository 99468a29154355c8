"""The event recorder: tells about pods and nodes in events of events.k8s.io, without holding anybody up.

`Recorder.event` only remembers and queues; a few senders write. The queue is bounded: when the API server cannot
keep up, events are dropped and counted, and scheduling goes on.
"""

from __future__ import annotations

import asyncio
import logging
import random
import socket
from typing import Protocol, cast

from bayplan.client.backoff import Random, jittered
from bayplan.client.errors import ApiError, ClientError, NotFoundError
from bayplan.client.event_series import (
    FINISH_SECONDS,
    REFRESH_SECONDS,
    Aggregator,
    Occurrence,
    cut_note,
    event_name,
    micro_time,
    reference,
)
from bayplan.framework import Clock
from bayplan.model import KubeObject, Node, Pod

logger = logging.getLogger("bayplan.client")

MAX_QUEUED = 1000  # client-go's maxQueuedEvents
MAX_TRIES = 12  # client-go's maxTriesPerEvent
RETRY_SECONDS = 10.0
_RETRY_JITTER = 0.25
#: Few, so that binds have most of the connections.
SENDERS = 8
_KINDS = ("Normal", "Warning")


class EventSink(Protocol):
    """Where events are written: `KubeClient`."""

    async def create_event(self, namespace: str, event: object) -> None: ...

    async def patch_event(self, namespace: str, name: str, patch: object) -> None: ...


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
        self._last_name = 0
        #: Events that were not written because the queue was full.
        self.dropped = 0

    def recorder(self, reporting_controller: str) -> Recorder:
        """The recorder of a profile, which reports under its scheduler name."""
        return Recorder(self, reporting_controller)

    @property
    def n_queued(self) -> int:
        """Events that wait to be written."""
        return self._queue.qsize()

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._send_all(), name="event sender") for _ in range(self._n_senders)]
        self._tasks.append(asyncio.create_task(self._keep_up(), name="event series"))

    async def stop(self, drain_seconds: float = 2.0) -> None:
        """Write what is queued, for as long as that takes *drain_seconds* at most; then stop."""
        try:
            async with asyncio.timeout(drain_seconds):
                await self._queue.join()
        except TimeoutError:
            logger.warning("%d events were not written", self._queue.qsize())
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    # --- taking -------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._clock.now()

    def next_nanoseconds(self) -> int:
        """The time as a name: no two events share one."""
        self._last_name = max(round(self._clock.now() * 1e9), self._last_name + 1)
        return self._last_name

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
            self.dropped += 1
            return False
        return True

    # --- writing ------------------------------------------------------------------------------------------

    async def _send_all(self) -> None:
        while True:
            occurrence = await self._queue.get()
            try:
                await self._write(occurrence)
            except Exception:
                logger.exception("Unable to write event")
            finally:
                self._queue.task_done()

    async def _write(self, occurrence: Occurrence) -> None:
        """Until it is written or refused; an API server out of reach is waited for, up to a limit."""
        for _ in range(MAX_TRIES):
            try:
                await self._record(occurrence)
                return
            except ApiError as error:
                logger.error("Server rejected event (will not retry!): event=%s: %s", occurrence.name, error)
                return
            except ClientError as error:
                logger.error("Unable to write event (may retry after sleeping): %s", error)
            await self._clock.sleep(jittered(RETRY_SECONDS, _RETRY_JITTER, self._rng))
        logger.error("Unable to write event (retry limit exceeded!): event=%s", occurrence.name)

    async def _record(self, occurrence: Occurrence) -> None:
        if occurrence.is_series:
            try:
                patch = {"series": occurrence.series()}
                await self._sink.patch_event(occurrence.namespace, occurrence.name, patch)
                return
            except NotFoundError:
                pass  # events live for an hour only, or the first one is not written yet
        await self._sink.create_event(occurrence.namespace, occurrence.whole())

    async def _keep_up(self) -> None:
        """Write the counts of series, and the last ones of those that have ended."""
        refresh_at = self._clock.monotonic() + REFRESH_SECONDS
        while True:
            await self._clock.sleep(FINISH_SECONDS)
            for occurrence in self._aggregator.finish(self._clock.now()):
                await self._write(occurrence)
            if self._clock.monotonic() >= refresh_at:
                refresh_at += REFRESH_SECONDS
                for occurrence in self._aggregator.series():
                    await self._write(occurrence)


class Recorder:
    """Implements `framework.EventRecorder`."""

    def __init__(self, broadcaster: EventBroadcaster, reporting_controller: str) -> None:
        self._broadcaster = broadcaster
        self._controller = reporting_controller
        self._instance = f"{reporting_controller}-{socket.gethostname()}"

    def event(
        self, regarding: Pod | Node, *, kind: str, reason: str, action: str, note: str, related: object = None
    ) -> None:
        if kind not in _KINDS:
            raise ValueError(f"an event is Normal or Warning, not {kind!r}")
        now = self._broadcaster.now()
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": event_name(regarding.name, self._broadcaster.next_nanoseconds()),
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
