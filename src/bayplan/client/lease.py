"""Leader election: of the replicas of a scheduler, the one that holds the Lease binds pods.

      waiting ── looks, and takes what is free ──▶ leading ── renews every retry period ──┐
                                                     ▲────────────── renewed ─────────────┤
                                                                                          │
      over ◀── released on `stop`, or not renewed within the renew deadline ◀─────────────┘

Nobody compares clocks: whether a lease of somebody else has run out is measured from when *we* saw it change. A
leader counts from before it asked to renew, and gives up at the renew deadline, which is shorter than the lease
duration that the others wait. `is_leader()` looks at the clock, so a process that was frozen knows on waking.

Who waits looks more than once in a retry period, and at the moment at which the lease as last seen runs out. Its
last renewal was seen within a retry period, so a leader that dies is followed within lease duration and retry
period. (client-go waits up to 2.2 retry periods between looks, and does not wake for the end of a lease.)
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from bayplan.client.backoff import Random
from bayplan.client.errors import ClientError, NotFoundError, TransportError
from bayplan.client.lease_lock import ElectionRecord, Lock, micro_time
from bayplan.config.types import LeaderElectionConfiguration
from bayplan.framework import Clock
from bayplan.observe import klog

log = klog.get_logger("bayplan.client")

#: Between looks at somebody else's lease, as shares of the retry period. What is left of it is for the requests
#: that take the lease over, and for the first bind; the range keeps replicas from asking in step.
LOOK_SHARES = (0.5, 0.8)
#: Timers may go off a little early; a look that comes before the end of a lease is for nothing.
_LATE_SECONDS = 0.001
#: Nobody waits longer than this for an event about the election to be written.
_EVENT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ElectionTimes:
    """In seconds; lease > renew deadline > 1.2 × retry period, which validation of the configuration sees to."""

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
        """For the requests about the lease: one that hangs must not cost the leadership."""
        return max(1.0, self.renew_deadline / 2)


class Outcome(enum.Enum):
    """How an election ended."""

    STOPPED = "stopped"
    LOST = "lost lease"


@dataclass(slots=True)
class Callbacks:
    """Called from within `run`; must return soon."""

    started: Callable[[], None] = lambda: None
    stopped: Callable[[], None] = lambda: None
    new_leader: Callable[[str], None] = lambda identity: None


class LeaderElector:
    """See the module's text."""

    def __init__(
        self,
        lock: Lock,
        times: ElectionTimes,
        clock: Clock,
        callbacks: Callbacks | None = None,
        *,
        rng: Random = random.random,
    ) -> None:
        self._lock = lock
        self._times = times
        self._clock = clock
        self._callbacks = callbacks or Callbacks()
        self._rng = rng
        self._stop = asyncio.Event()
        #: The record as last seen or written, and when that was, by our clock.
        self._observed = ElectionRecord()
        self._observed_at = 0.0
        self._leading = False
        #: When the last renewal that succeeded was sent.
        self._renewed_at = 0.0
        self._reported_leader = ""
        self._events: set[asyncio.Task[None]] = set()

    @property
    def leader(self) -> str:
        """Who holds the lease, as far as we know."""
        return self._observed.holder

    def is_leader(self) -> bool:
        """Whether we may act right now."""
        return self._leading and self._left() > 0

    def overdue(self, tolerated_seconds: float) -> str | None:
        """What is wrong if we should have stopped leading *tolerated_seconds* ago, and have not; else None."""
        if self._leading and self._left() < self._times.renew_deadline - self._times.lease - tolerated_seconds:
            return f"failed election to renew leadership on lease {self._lock}"
        return None

    def stop(self) -> None:
        """End the election; whoever leads has stopped acting before. The lease is given up."""
        self._stop.set()

    async def run(self) -> Outcome:
        """Wait for the lease, hold it, and return when it is over."""
        try:
            if not await self._acquire():
                return Outcome.STOPPED
            self._callbacks.started()
            outcome = await self._hold()
        finally:
            self._leading = False
            self._callbacks.stopped()
        if outcome is Outcome.STOPPED:
            await self._release()
        await self._tell("stopped leading")
        return outcome

    async def _acquire(self) -> bool:
        log.info("Attempting to acquire leader lease...", lock=self._lock)
        while not self._stop.is_set():
            acquired = await self._try(self._times.renew_deadline)
            self._report_transition()
            if acquired:
                self._leading = True
                log.info("Successfully acquired lease", lock=self._lock)
                self._tell_soon("became leader")
                return True
            await self._pause(self._until_next_look())
        return False

    def _until_next_look(self) -> float:
        """Seconds; not beyond the moment at which somebody else's lease has run out."""
        least, most = LOOK_SHARES
        usual = self._times.retry_period * (least + (most - least) * self._rng())
        left = self._observed_until() - self._clock.monotonic()
        return min(usual, left + _LATE_SECONDS) if left > 0 else usual

    async def _hold(self) -> Outcome:
        while not self._stop.is_set():
            await self._pause(min(self._times.retry_period, max(self._left(), 0.0)))
            if self._stop.is_set():
                break
            renewed = self._left() > 0 and await self._try(self._left())
            self._report_transition()
            if not self.is_leader() or (not renewed and self._observed.holder != self._lock.identity):
                log.info("Failed to renew lease", lock=self._lock, holder=self._observed.holder)
                return Outcome.LOST
        return Outcome.STOPPED

    def _left(self) -> float:
        """Seconds until we must not act any more."""
        return self._renewed_at + self._times.renew_deadline - self._clock.monotonic()

    async def _pause(self, seconds: float) -> None:
        """Sleep, unless stopped."""
        sleeping = asyncio.ensure_future(self._clock.sleep(seconds))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((sleeping, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            stopping.cancel()

    # --- the record ---------------------------------------------------------------------------------------

    async def _try(self, seconds: float) -> bool:
        """Acquire or renew, once, within *seconds*."""
        try:
            async with asyncio.timeout(seconds):
                return await self._try_once()
        except TimeoutError:
            log.error("no answer", "Failed to acquire or renew lease", lock=self._lock)
        except ClientError as error:
            log.error(error, "Failed to acquire or renew lease", lock=self._lock)
        return False

    async def _try_once(self) -> bool:
        # 1. The leader expects the record to be as it left it.
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
        # 2. See what is there.
        try:
            current = await self._lock.get()
        except NotFoundError:
            return await self._write(self._renewal(ElectionRecord()), create=True)
        if current != self._observed:
            self._observe(current)
        # 3. Somebody else's, and not run out?
        if current.holder and self._is_valid() and not self._holds():
            log.info("Lease is held by and has not yet expired", v=4, lock=self._lock, holder=current.holder)
            return False
        # 4. Ours, or free.
        return await self._write(self._renewal(current))

    def _renewal(self, current: ElectionRecord) -> ElectionRecord:
        now = micro_time(self._clock.now())
        # Whole seconds, as the API has them; rounded up, or others might not wait until our renew deadline.
        seconds = math.ceil(self._times.lease)
        mine = ElectionRecord(self._lock.identity, seconds, now, now, current.transitions)
        if self._holds():
            return replace(mine, acquire_time=current.acquire_time)
        return replace(mine, transitions=current.transitions + 1) if current != ElectionRecord() else mine

    async def _write(self, record: ElectionRecord, *, create: bool = False) -> bool:
        asked_at = self._clock.monotonic()
        await (self._lock.create(record) if create else self._lock.update(record))
        self._observe(record)
        self._renewed_at = asked_at
        return True

    def _observe(self, record: ElectionRecord) -> None:
        self._observed, self._observed_at = record, self._clock.monotonic()

    def _holds(self) -> bool:
        return self._observed.holder == self._lock.identity

    def _is_valid(self) -> bool:
        return self._observed_until() > self._clock.monotonic()

    def _observed_until(self) -> float:
        """When the lease as last seen runs out, unless it is renewed."""
        return self._observed_at + self._observed.lease_seconds

    async def _release(self) -> None:
        """The next one need not wait for the lease to run out."""
        try:
            async with asyncio.timeout(self._times.renew_deadline):
                current = await self._lock.get()
                if current.holder != self._lock.identity:
                    return
                now = micro_time(self._clock.now())
                free = ElectionRecord("", 1, now, now, current.transitions)
                await self._lock.update(free)
                self._observe(free)
        except (ClientError, TimeoutError) as error:
            log.error(error, "Failed to release lease", lock=self._lock)

    # --- telling ------------------------------------------------------------------------------------------

    def _report_transition(self) -> None:
        if self._observed.holder != self._reported_leader:
            self._reported_leader = self._observed.holder
            self._callbacks.new_leader(self._reported_leader)

    def _tell_soon(self, text: str) -> None:
        task = asyncio.ensure_future(self._tell(text))
        self._events.add(task)
        task.add_done_callback(self._events.discard)

    async def _tell(self, text: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EVENT_SECONDS):
                await self._lock.record_event(text)
