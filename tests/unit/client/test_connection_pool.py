"""The connection pool, with connections that a test controls."""

from __future__ import annotations

import asyncio
import math

import pytest

from bayplan.client.connection_pool import IDLE_SECONDS, ConnectionPool
from bayplan.client.errors import TransportError
from bayplan.client.http_messages import FixedHeaders, HttpRequest, HttpResponse

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

REQUEST = HttpRequest("GET", "/x", FixedHeaders("host", []))


class Slot:
    """Implements `RequestSlot`; answers when the test says so."""

    def __init__(self) -> None:
        self.deadline = math.inf
        self.idle_since = 0.0
        self.is_open = True
        self.calls: list[str] = []
        self.pending: asyncio.Future[HttpResponse] | None = None

    def send(self, request: HttpRequest) -> asyncio.Future[HttpResponse]:
        self.calls.append("send")
        self.pending = asyncio.get_running_loop().create_future()
        return self.pending

    def answer(self) -> None:
        assert self.pending is not None
        self.pending.set_result(HttpResponse(200, (), b""))

    def cancel(self) -> None:
        self.calls.append("cancel")

    def time_out(self, message: str) -> None:
        self.calls.append(message)
        assert self.pending is not None
        self.pending.set_exception(TransportError(message, sent=True))

    def drain(self) -> None:
        self.calls.append("drain")

    def close(self) -> None:
        self.calls.append("close")
        if self.pending is not None and not self.pending.done():
            self.pending.set_exception(TransportError("closed", sent=True))


class Connections:
    """Opens connections of *n_slots* slots each."""

    def __init__(self, n_slots: int = 1) -> None:
        self.n_slots = n_slots
        self.opened: list[list[Slot]] = []
        self.error: TransportError | None = None

    async def open(self) -> list[Slot]:
        await asyncio.sleep(1)
        if self.error is not None:
            raise self.error
        self.opened.append([Slot() for _ in range(self.n_slots)])
        return self.opened[-1]


def start(pool: ConnectionPool, n_requests: int = 1) -> list[asyncio.Task[HttpResponse]]:
    return [asyncio.create_task(pool.send(REQUEST, 30.0)) for _ in range(n_requests)]


async def test_idle_connection_is_reused() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=4)
    for _ in range(3):
        (task,) = start(pool)
        await asyncio.sleep(1.5)
        connections.opened[0][0].answer()
        await task
    assert connections.opened[0][0].calls == ["send"] * 3
    assert len(connections.opened) == 1
    pool.close()


async def test_connections_are_limited_and_waiters_served_in_order() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=2)
    tasks = start(pool, 3)
    await asyncio.sleep(1.5)
    assert len(connections.opened) == 2
    connections.opened[0][0].answer()
    await asyncio.sleep(0.01)
    assert [task.done() for task in tasks] == [True, False, False]
    assert connections.opened[0][0].calls == ["send", "send"]
    pool.close()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_multiplexed_connection_serves_all() -> None:
    """No second connection is opened before the first has shown how many requests it carries."""
    connections = Connections(n_slots=8)
    pool = ConnectionPool(connections.open, limit=8, may_multiplex=True)
    tasks = start(pool, 8)
    await asyncio.sleep(1.5)
    assert len(connections.opened) == 1
    for slot in connections.opened[0]:
        slot.answer()
    await asyncio.gather(*tasks)
    pool.close()


async def test_failure_to_connect_reaches_all_who_rely_on_the_connection() -> None:
    connections = Connections()
    connections.error = TransportError("refused", sent=False)
    pool = ConnectionPool(connections.open, limit=8, may_multiplex=True)
    results = await asyncio.gather(*start(pool, 3), return_exceptions=True)
    assert [str(each) for each in results] == ["refused"] * 3


async def test_overdue_response_times_out() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=1)
    (task,) = start(pool)
    with pytest.raises(TransportError, match="no answer within the time limit"):
        await task
    assert asyncio.get_running_loop().time() == pytest.approx(32, abs=1.1)
    pool.close()


async def test_connection_that_is_idle_for_too_long_is_drained() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=1)
    (task,) = start(pool)
    await asyncio.sleep(1.5)
    (slot,) = connections.opened[0]
    slot.answer()
    await task
    await asyncio.sleep(IDLE_SECONDS + 2)
    assert slot.calls == ["send", "drain"]
    pool.close()


async def test_closed_connection_is_not_reused() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=1)
    (task,) = start(pool)
    await asyncio.sleep(1.5)
    connections.opened[0][0].answer()
    await task
    connections.opened[0][0].is_open = False
    start(pool)
    await asyncio.sleep(1.5)
    assert len(connections.opened) == 2
    pool.close()


async def test_before_send_may_refuse_and_the_slot_stays() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=1)

    def refuse() -> None:
        raise PermissionError

    with pytest.raises(PermissionError):
        await pool.send(REQUEST, 30.0, refuse)
    assert connections.opened[0][0].calls == []
    start(pool)
    await asyncio.sleep(0.01)
    assert connections.opened[0][0].calls == ["send"]
    pool.close()


async def test_cancelled_request_is_cancelled_on_its_slot() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=1)
    (task,) = start(pool)
    await asyncio.sleep(1.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert connections.opened[0][0].calls == ["send", "cancel"]
    pool.close()


async def test_slot_given_to_a_cancelled_waiter_goes_to_the_next() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=1)
    first, second, third = start(pool, 3)
    await asyncio.sleep(1.5)
    (slot,) = connections.opened[0]
    slot.answer()
    await first
    second.cancel()
    await asyncio.sleep(0.01)
    slot.answer()
    await third
    pool.close()


async def test_close_fails_everything() -> None:
    connections = Connections()
    pool = ConnectionPool(connections.open, limit=1)
    tasks = start(pool, 2)
    await asyncio.sleep(1.5)
    pool.close()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in results] == [TransportError] * 2
    with pytest.raises(TransportError, match="the client is closed"):
        await pool.send(REQUEST, 30.0)
