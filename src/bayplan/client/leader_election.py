"""Leader election: of the replicas of a scheduler, the one that holds the Lease binds pods.

      waiting ── polls, and acquires a free lease ──▶ leading ── renews every retry period ──┐
                                                        ▲────────────── renewed ─────────────┤
                                                                                             │
      ended ◀── released by `stop` or `step_down`, or not renewed within the renew deadline ◀┘

Clocks of different hosts are never compared: the expiry of another replica's lease is measured from when *we* saw
it change. A leader counts from before it sent its last renewal, and stops at the renew deadline, which is shorter
than the lease duration that the others wait. `is_leader()` reads the clock, so a process that was frozen notices.

A waiting replica polls more than once in a retry period, and at the moment when the lease as last seen expires. It
has seen the last renewal within a retry period, so a dead leader is replaced within lease duration plus retry
period. (client-go waits up to 2.2 retry periods between polls, and does not wake up when a lease expires.)
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bayplan.client.errors import ClientError, NotFoundError, TransportError
from bayplan.client.flow_control import Random
from bayplan.client.lease_lock import ElectionRecord, Lock
from bayplan.model import format_micro_time
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.config.types import LeaderElectionConfiguration
    from bayplan.framework import Clock

log = klog.get_logger("bayplan.client")

#: The range of polling intervals, as fractions of the retry period. The rest of the period is for the requests
#: that take the lease over, and for the first bind; the range keeps replicas from polling in step.
POLL_FRACTIONS = (0.5, 0.8)
#: Timers may fire a little early, and a poll before the lease expires is useless.
_TIMER_SLACK_SECONDS = 0.001
#: The timeout for writing an event about the election.
_EVENT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ElectionTimes:
    """In seconds; lease > renew deadline > 1.2 × retry period, which validation of the configuration ensures."""

    lease: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    @classmethod
    def of(cls, config: LeaderElectionConfiguration) -> ElectionTimes:
        return cls(
            config.lease_duration.total_seconds(),
            config.renew_deadline.total_seconds(),
            config.retry_period.total_seconds(),
        )

    @property
    def request_timeout(self) -> float:
        """For requests about the lease: one that hangs must not cost the leadership."""
        return max(1.0, self.renew_deadline / 2)


class Outcome(enum.Enum):
    """How an election ended."""

    STOPPED = "stopped"
    STEPPED_DOWN = "stepped down"
    LOST = "lost lease"


class LeaderElector:
    """One replica's part in the election."""

    def __init__(
        self,
        lock: Lock,
        times: ElectionTimes,
        clock: Clock,
        *,
        on_started: Callable[[], object] = lambda: None,
        rng: Random = random.random,
    ) -> None:
        self._lock = lock
        self._times = times
        self._clock = clock
        #: Called when we have become the leader.
        self._on_started = on_started
        self._rng = rng
        self._stop = asyncio.Event()
        self._steps_down = False
        #: The record as last read or written, and when that was, by our clock.
        self._observed = ElectionRecord()
        self._observed_at = 0.0
        self._leading = False
        #: When the last renewal that succeeded was sent.
        self._renewed_at = 0.0
        self._events: set[asyncio.Task[None]] = set()

    def is_leader(self) -> bool:
        """Whether we may write to the cluster right now."""
        return self._leading and self._left() > 0

    def overdue(self, tolerated_seconds: float) -> str | None:
        """An error message if we should have stopped leading *tolerated_seconds* ago and have not; or None."""
        if self._leading and self._left() < self._times.renew_deadline - self._times.lease - tolerated_seconds:
            return f"failed election to renew leadership on lease {self._lock}"
        return None

    def stop(self) -> None:
        """End the election and release the lease; a leader must have stopped to write before."""
        self._stop.set()

    def step_down(self, reason: str) -> None:
        """Give up the lease for *reason*: nothing may be written from now on, and another replica may lead."""
        if self._leading:
            log.error(reason, "Stepping down as leader", lock=self._lock)
            self._leading, self._steps_down = False, True
            self._stop.set()

    async def run(self) -> Outcome:
        """Acquire the lease, hold it, and return when it is released or lost."""
        try:
            if not await self._acquire():
                return Outcome.STOPPED
            self._on_started()
            outcome = await self._hold()
        finally:
            self._leading = False
        if outcome is Outcome.STOPPED:
            await self._release()
        await self._record_event("stopped leading")
        return Outcome.STEPPED_DOWN if self._steps_down else outcome

    async def _acquire(self) -> bool:
        log.info("Attempting to acquire leader lease...", lock=self._lock)
        while not self._stop.is_set():
            acquired = await self._try_acquire_or_renew(self._times.renew_deadline)
            if acquired:
                self._leading = True
                log.info("Successfully acquired lease", lock=self._lock)
                self._record_event_soon("became leader")
                return True
            await self._pause(self._until_next_poll())
        return False

    def _until_next_poll(self) -> float:
        """Seconds; at most until the lease as last seen expires."""
        least, most = POLL_FRACTIONS
        interval = self._times.retry_period * (least + (most - least) * self._rng())
        left = self._observed_until() - self._clock.monotonic()
        return min(interval, left + _TIMER_SLACK_SECONDS) if left > 0 else interval

    async def _hold(self) -> Outcome:
        while not self._stop.is_set():
            await self._pause(min(self._times.retry_period, max(self._left(), 0.0)))
            if self._stop.is_set():
                break
            renewed = self._left() > 0 and await self._try_acquire_or_renew(self._left())
            if self._stop.is_set():
                break
            if not self.is_leader() or (not renewed and self._observed.holder != self._lock.identity):
                log.info("Failed to renew lease", lock=self._lock, holder=self._observed.holder)
                return Outcome.LOST
        return Outcome.STOPPED

    def _left(self) -> float:
        """Seconds until we must stop to write."""
        return self._renewed_at + self._times.renew_deadline - self._clock.monotonic()

    async def _pause(self, seconds: float) -> None:
        """Sleep until *seconds* are over or `stop` is called."""
        sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((sleeping, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            stopping.cancel()

    # --- the record ---------------------------------------------------------------------------------------

    async def _try_acquire_or_renew(self, seconds: float) -> bool:
        """Try once, within *seconds*; failures are logged."""
        try:
            async with asyncio.timeout(seconds):
                return await self._acquire_or_renew()
        except TimeoutError:
            log.error("no answer", "Failed to acquire or renew lease", lock=self._lock)
        except ClientError as error:
            log.error(error, "Failed to acquire or renew lease", lock=self._lock)
        return False

    async def _acquire_or_renew(self) -> bool:
        # 1. A leader assumes that the record has not changed.
        if self._holds() and self._is_valid():
            try:
                return await self._write(self._renewal(self._observed))
            except TransportError:
                raise
            except ClientError as error:
                log.info(
                    "Failed to update lease optimistically, falling back to slow path",
                    v=4,
                    err=error,
                    lock=self._lock,
                )
        # 2. Read the record.
        try:
            current = await self._lock.get()
        except NotFoundError:
            return await self._write(self._renewal(ElectionRecord()), create=True)
        if current != self._observed:
            self._observe(current)
        # 3. Held by another replica, and not expired?
        if current.holder and self._is_valid() and not self._holds():
            log.info("Lease is held by and has not yet expired", v=4, lock=self._lock, holder=current.holder)
            return False
        # 4. Ours, or free.
        return await self._write(self._renewal(current))

    def _renewal(self, current: ElectionRecord) -> ElectionRecord:
        now = format_micro_time(datetime.fromtimestamp(self._clock.now(), UTC))
        # The API has whole seconds; rounded up, so that others wait at least until our renew deadline.
        seconds = math.ceil(self._times.lease)
        mine = ElectionRecord(self._lock.identity, seconds, now, now, current.transitions)
        if self._holds():
            return replace(mine, acquire_time=current.acquire_time)
        return replace(mine, transitions=current.transitions + 1) if current != ElectionRecord() else mine

    async def _write(self, record: ElectionRecord, *, create: bool = False) -> bool:
        sent_at = self._clock.monotonic()
        await (self._lock.create(record) if create else self._lock.update(record))
        self._observe(record)
        self._renewed_at = sent_at
        return True

    def _observe(self, record: ElectionRecord) -> None:
        self._observed, self._observed_at = record, self._clock.monotonic()

    def _holds(self) -> bool:
        return self._observed.holder == self._lock.identity

    def _is_valid(self) -> bool:
        return self._observed_until() > self._clock.monotonic()

    def _observed_until(self) -> float:
        """When the lease as last seen expires."""
        return self._observed_at + self._observed.lease_seconds

    async def _release(self) -> None:
        """Release the lease, so that the next leader need not wait until it expires."""
        try:
            async with asyncio.timeout(self._times.renew_deadline):
                current = await self._lock.get()
                if current.holder != self._lock.identity:
                    return
                now = format_micro_time(datetime.fromtimestamp(self._clock.now(), UTC))
                free = ElectionRecord("", 1, now, now, current.transitions)
                await self._lock.update(free)
                self._observe(free)
        except (ClientError, TimeoutError) as error:
            log.error(error, "Failed to release lease", lock=self._lock)

    # --- events -------------------------------------------------------------------------------------------

    def _record_event_soon(self, text: str) -> None:
        task = asyncio.ensure_future(self._record_event(text))
        self._events.add(task)
        task.add_done_callback(self._events.discard)

    async def _record_event(self, text: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EVENT_SECONDS):
                await self._lock.record_event(text)
