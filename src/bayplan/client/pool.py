"""Kept connections: reused while they are good, bounded in number, and watched for overdue replies."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from bayplan.client.errors import TransportError
from bayplan.client.exchange import Lane, Reply, Request

#: Below the 90 seconds after which an API server closes idle connections, so that we rarely write to a closed one.
IDLE_SECONDS = 45.0
_SWEEP_SECONDS = 1.0


class Pool:
    """Lends lanes for one exchange each.

    An HTTP/1.1 connection is one lane, an HTTP/2 connection many: until the first one has told which it is
    (*may_share*), a second one is not opened.
    """

    def __init__(
        self, connect: Callable[[], Awaitable[Sequence[Lane]]], *, limit: int, may_share: bool = False
    ) -> None:
        self._connect = connect
        self._limit = limit
        self._lanes_each = limit if may_share else 1
        #: The one used last is at the end, and used first.
        self._idle: list[Lane] = []
        self._busy: set[Lane] = set()
        self._opening = 0
        self._waiters: deque[asyncio.Future[Lane | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        #: That of the connections, since there are any: asking for the running one is a system call.
        self._loop: asyncio.AbstractEventLoop

    async def exchange(
        self, request: Request, timeout_seconds: float, before_send: Callable[[], None] | None = None
    ) -> Reply:
        """Send *request* on some lane and wait for its whole reply. *before_send* may raise instead."""
        lane = self._take_idle() or await self._acquire()
        try:
            if before_send is not None:
                before_send()
            lane.deadline = self._loop.time() + timeout_seconds
            return await lane.send(request)
        except asyncio.CancelledError:
            lane.abandon()
            raise
        finally:
            self._release(lane)

    def _take_idle(self) -> Lane | None:
        while self._idle:
            lane = self._idle.pop()
            if lane.is_open:
                self._busy.add(lane)
                return lane
        return None

    async def _acquire(self) -> Lane:
        """One that is opened, or that somebody else gives back; in the order of asking."""
        if self._closed:
            raise TransportError("the client is closed", sent=False)
        self._loop = asyncio.get_running_loop()
        if self._may_open():
            self._opening += 1
            return await self._open()
        return await self._wait()

    def _may_open(self) -> bool:
        return len(self._busy) + self._opening * self._lanes_each < self._limit

    async def _open(self) -> Lane:
        """In a place that was taken with `_opening` before."""
        try:
            lane, *others = await self._connect()
        except BaseException as error:
            self._opening -= 1
            self._pass_on_failure(error)
            raise
        self._opening -= 1
        self._busy.add(lane)
        if self._closed:
            self._release(lane)
            raise TransportError("the client is closed", sent=False)
        self._lanes_each = 1 + len(others)
        for other in others:
            self._hand_out(other)
        self._offer_places()
        self._start_timer()
        return lane

    def _pass_on_failure(self, error: BaseException) -> None:
        """To all who wait for the connection that could not be opened; nobody else would open it for them."""
        if self._lanes_each > 1 and isinstance(error, TransportError):
            while (waiter := self._next_waiter()) is not None:
                waiter.set_exception(TransportError(str(error), sent=False))
        else:
            self._offer_places()

    async def _wait(self) -> Lane:
        waiter: asyncio.Future[Lane | None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            lane = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._pass_on(waiter.result())
            raise
        return lane if lane is not None else await self._open()

    def _pass_on(self, lane: Lane | None) -> None:
        """What a waiter was given and no longer wants."""
        if lane is not None:
            self._release(lane)
        else:
            self._opening -= 1
            self._offer_places()

    def _release(self, lane: Lane) -> None:
        lane.deadline = math.inf
        self._busy.discard(lane)
        if self._closed:
            lane.close()
        elif lane.is_open:
            self._hand_out(lane)
        else:
            lane.retire()
            self._offer_places()

    def _hand_out(self, lane: Lane) -> None:
        """To the next one who waits, or to whoever comes."""
        waiter = self._next_waiter()
        if waiter is not None:
            self._busy.add(lane)
            waiter.set_result(lane)
        else:
            lane.idle_since = self._loop.time()
            self._idle.append(lane)

    def _offer_places(self) -> None:
        """Those who wait may open connections of their own, as far as there are places."""
        while self._may_open() and (waiter := self._next_waiter()) is not None:
            self._opening += 1
            waiter.set_result(None)

    def _next_waiter(self) -> asyncio.Future[Lane | None] | None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                return waiter
        return None

    # --- looking after ------------------------------------------------------------------------------------

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        now = self._loop.time()
        for lane in [each for each in self._busy if each.deadline < now]:
            lane.expire("no answer within the time limit")
        stale = [each for each in self._idle if now - each.idle_since > IDLE_SECONDS or not each.is_open]
        if stale:
            self._idle = [each for each in self._idle if each not in stale]
            for lane in stale:
                lane.retire()
        if self._idle or self._busy:
            self._start_timer()

    def retire_idle(self) -> None:
        """Close what is not in use: credentials have changed."""
        idle, self._idle = self._idle, []
        for lane in idle:
            lane.retire()

    def close(self) -> None:
        """Close everything; requests under way fail."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.retire_idle()
        for lane in list(self._busy):
            lane.close()
        while (waiter := self._next_waiter()) is not None:
            waiter.set_exception(TransportError("the client is closed", sent=False))
