"""The connection pool: connections are reused while they are open, limited in number, and checked for timeouts."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from bayplan.client.errors import TransportError
from bayplan.client.http_messages import HttpRequest, HttpResponse, RequestSlot

#: Less than the 90 seconds after which an API server closes idle connections, so that we rarely use a closed one.
IDLE_SECONDS = 45.0
_CHECK_SECONDS = 1.0


class ConnectionPool:
    """Assigns a slot to each request.

    An HTTP/1.1 connection has one slot, an HTTP/2 connection many. *may_multiplex* says that connections may turn
    out to be HTTP/2: then no second one is opened until the first has shown its protocol.
    """

    def __init__(
        self, connect: Callable[[], Awaitable[Sequence[RequestSlot]]], *, limit: int, may_multiplex: bool = False
    ) -> None:
        self._connect = connect
        #: Of slots.
        self._limit = limit
        self._slots_per_connection = limit if may_multiplex else 1
        #: A stack: the slot used last is used first.
        self._idle: list[RequestSlot] = []
        self._busy: set[RequestSlot] = set()
        self._n_connecting = 0
        #: In order of request. A waiter gets a slot, or None: it may open a connection itself.
        self._waiters: deque[asyncio.Future[RequestSlot | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        #: Set with the first connection: `asyncio.get_running_loop` is a system call in Python 3.11.
        self._loop: asyncio.AbstractEventLoop

    async def send(
        self, request: HttpRequest, timeout_seconds: float, before_send: Callable[[], None] | None = None
    ) -> HttpResponse:
        """Send *request* and wait for its complete response. *before_send* is called first, and may raise."""
        while self._idle:
            slot = self._idle.pop()
            if slot.is_open:
                self._busy.add(slot)
                break
        else:
            slot = await self._acquire()
        try:
            if before_send is not None:
                before_send()
            slot.deadline = self._loop.time() + timeout_seconds
            return await slot.send(request)
        except asyncio.CancelledError:
            slot.cancel()
            raise
        finally:
            self._release(slot)

    async def _acquire(self) -> RequestSlot:
        """A slot of a new connection, or the next one that is released."""
        if self._is_closed:
            raise TransportError("the client is closed", sent=False)
        self._loop = asyncio.get_running_loop()
        if self._may_connect():
            self._n_connecting += 1
            return await self._open()
        return await self._wait()

    def _may_connect(self) -> bool:
        return len(self._busy) + self._n_connecting * self._slots_per_connection < self._limit

    async def _open(self) -> RequestSlot:
        """Open a connection, which `_n_connecting` counts already."""
        try:
            slot, *others = await self._connect()
        except BaseException as error:
            self._n_connecting -= 1
            self._connect_failed(error)
            raise
        self._n_connecting -= 1
        self._busy.add(slot)
        if self._is_closed:
            self._release(slot)
            raise TransportError("the client is closed", sent=False)
        self._slots_per_connection = 1 + len(others)
        for other in others:
            self._make_available(other)
        self._let_waiters_connect()
        self._start_timer()
        return slot

    def _connect_failed(self, error: BaseException) -> None:
        if self._slots_per_connection > 1 and isinstance(error, TransportError):
            # All waiters relied on this connection; nothing else would open one for them.
            while (waiter := self._next_waiter()) is not None:
                waiter.set_exception(TransportError(str(error), sent=False))
        else:
            self._let_waiters_connect()

    async def _wait(self) -> RequestSlot:
        waiter: asyncio.Future[RequestSlot | None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            slot = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._give_back(waiter.result())
            raise
        return slot if slot is not None else await self._open()

    def _give_back(self, slot: RequestSlot | None) -> None:
        """What a waiter was given after it was cancelled."""
        if slot is not None:
            self._release(slot)
        else:
            self._n_connecting -= 1
            self._let_waiters_connect()

    def _release(self, slot: RequestSlot) -> None:
        slot.deadline = math.inf
        self._busy.discard(slot)
        if self._is_closed:
            slot.close()
        elif slot.is_open:
            self._make_available(slot)
        else:
            slot.drain()
            self._let_waiters_connect()

    def _make_available(self, slot: RequestSlot) -> None:
        waiter = self._next_waiter()
        if waiter is not None:
            self._busy.add(slot)
            waiter.set_result(slot)
        else:
            slot.idle_since = self._loop.time()
            self._idle.append(slot)

    def _let_waiters_connect(self) -> None:
        """Let waiters open connections, as far as the limit allows."""
        while self._may_connect() and (waiter := self._next_waiter()) is not None:
            self._n_connecting += 1
            waiter.set_result(None)

    def _next_waiter(self) -> asyncio.Future[RequestSlot | None] | None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                return waiter
        return None

    # --- timeouts and closing -----------------------------------------------------------------------------

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_CHECK_SECONDS, self._check_timeouts)

    def _check_timeouts(self) -> None:
        self._timer = None
        now = self._loop.time()
        for slot in [each for each in self._busy if each.deadline < now]:
            slot.time_out("no answer within the time limit")
        stale = [each for each in self._idle if now - each.idle_since > IDLE_SECONDS or not each.is_open]
        if stale:
            self._idle = [each for each in self._idle if each not in stale]
            for slot in stale:
                slot.drain()
        if self._idle or self._busy:
            self._start_timer()

    def close_idle(self) -> None:
        """Close the connections that are not in use: credentials have changed, or the server has gone."""
        idle, self._idle = self._idle, []
        for slot in idle:
            slot.drain()

    def close(self) -> None:
        """Close all connections; requests in flight fail."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.close_idle()
        for slot in list(self._busy):
            slot.close()
        while (waiter := self._next_waiter()) is not None:
            waiter.set_exception(TransportError("the client is closed", sent=False))
