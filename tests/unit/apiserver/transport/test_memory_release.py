"""Memory goes back to the system once many connections have closed."""

from __future__ import annotations

import asyncio

from bayplan.apiserver.transport.memory_release import MANY_CONNECTIONS, QUIET_SECONDS, MemoryRelease
from bayplan.apiserver.virtual_time import run_in_virtual_time


def test_many_closed_connections_release_memory_once() -> None:
    async def scenario() -> None:
        released: list[float] = []
        loop = asyncio.get_running_loop()
        memory = MemoryRelease(lambda: released.append(loop.time()))
        for _ in range(MANY_CONNECTIONS * 3):
            memory.connection_closed()
            await asyncio.sleep(QUIET_SECONDS / 100)
        assert released == []  # they are still closing
        await asyncio.sleep(QUIET_SECONDS)
        assert len(released) == 1
        memory.connection_closed()
        await asyncio.sleep(QUIET_SECONDS * 2)
        assert len(released) == 1

    run_in_virtual_time(scenario())


def test_few_closed_connections_do_not() -> None:
    async def scenario() -> None:
        released: list[None] = []
        memory = MemoryRelease(lambda: released.append(None))
        for _ in range(MANY_CONNECTIONS - 1):
            memory.connection_closed()
        await asyncio.sleep(QUIET_SECONDS * 2)
        assert released == []

    run_in_virtual_time(scenario())


def test_a_server_that_stops_releases_nothing_more() -> None:
    async def scenario() -> None:
        released: list[None] = []
        memory = MemoryRelease(lambda: released.append(None))
        for _ in range(MANY_CONNECTIONS):
            memory.connection_closed()
        memory.cancel()
        await asyncio.sleep(QUIET_SECONDS * 2)
        assert released == []

    run_in_virtual_time(scenario())


def test_the_system_is_asked() -> None:
    """On every C library: what it cannot do is left out."""

    async def scenario() -> None:
        memory = MemoryRelease()
        for _ in range(MANY_CONNECTIONS):
            memory.connection_closed()
        await asyncio.sleep(QUIET_SECONDS * 2)

    run_in_virtual_time(scenario())
