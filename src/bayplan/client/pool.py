"""Keep-alive connections: reused while they are good, bounded in number, and watched for overdue replies."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable

from bayplan.client.connection import Connection, Reply
from bayplan.client.errors import TransportError

#: Below the 90 seconds after which an API server closes idle connections, so that we rarely write to a closed one.
IDLE_SECONDS = 45.0
_SWEEP_SECONDS = 1.0


class Pool:
    """Lends connections for one exchange each."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], *, limit: int) -> None:
        self._connect = connect
        self._limit = limit
        #: The one used last is at the end, and used first.
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._opening = 0
        self._waiters: deque[asyncio.Future[Connection | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    async def exchange(
        self, request: bytes, timeout_seconds: float, before_send: Callable[[], None] | None = None
    ) -> Reply:
        """Send *request* on some connection and wait for its whole reply. *before_send* may raise instead."""
        connection = self._take_idle() or await self._acquire()
        try:
            if before_send is not None:
                before_send()
            connection.deadline = asyncio.get_running_loop().time() + timeout_seconds
            return await connection.send(request)
        except asyncio.CancelledError:
            connection.close()  # the reply is still to come, and would be taken for the next one's
            raise
        finally:
            self._release(connection)

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                self._busy.add(connection)
                return connection
        return None

    async def _acquire(self) -> Connection:
        """One that is opened, or that somebody else gives back; in the order of asking."""
        if self._closed:
            raise TransportError("the client is closed", sent=False)
        if len(self._busy) + self._opening < self._limit:
            self._opening += 1
            return await self._open()
        return await self._wait()

    async def _open(self) -> Connection:
        """In a place that was taken with `_opening` before."""
        try:
            connection = await self._connect()
        except BaseException:
            self._opening -= 1
            self._offer_place()
            raise
        self._opening -= 1
        self._busy.add(connection)
        if self._closed:
            self._release(connection)
            raise TransportError("the client is closed", sent=False)
        self._start_timer()
        return connection

    async def _wait(self) -> Connection:
        waiter: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            connection = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._pass_on(waiter.result())
            raise
        return connection if connection is not None else await self._open()

    def _pass_on(self, connection: Connection | None) -> None:
        """What a waiter was given and no longer wants."""
        if connection is not None:
            self._release(connection)
        else:
            self._opening -= 1
            self._offer_place()

    def _release(self, connection: Connection) -> None:
        connection.deadline = math.inf
        if not connection.is_open or self._closed:
            self._busy.discard(connection)
            if not connection.closed:
                connection.close()
            self._offer_place()
        elif (waiter := self._next_waiter()) is not None:
            waiter.set_result(connection)
        else:
            self._busy.discard(connection)
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)

    def _offer_place(self) -> None:
        """Somebody who waits may open a connection of their own."""
        waiter = self._next_waiter()
        if waiter is not None:
            self._opening += 1
            waiter.set_result(None)

    def _next_waiter(self) -> asyncio.Future[Connection | None] | None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                return waiter
        return None

    # --- looking after ------------------------------------------------------------------------------------

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for connection in [each for each in self._busy if each.deadline < now]:
            connection.fail("no answer within the time limit")
        stale = [each for each in self._idle if now - each.idle_since > IDLE_SECONDS or not each.is_open]
        if stale:
            self._idle = [each for each in self._idle if each not in stale]
            for connection in stale:
                connection.close()
        if self._idle or self._busy:
            self._start_timer()

    def retire_idle(self) -> None:
        """Close what is not in use: credentials have changed."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close everything; requests under way fail."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.retire_idle()
        for connection in list(self._busy):
            connection.close()
        while (waiter := self._next_waiter()) is not None:
            waiter.set_exception(TransportError("the client is closed", sent=False))
