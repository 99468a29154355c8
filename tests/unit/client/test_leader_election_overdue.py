"""A leader that should have stopped long ago, and has not, is not healthy."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from bayplan.client.leader_election import ElectionTimes, LeaderElector
from bayplan.client.lease_lock import ElectionRecord
from bayplan.testing import VirtualClock

pytestmark = pytest.mark.asyncio


class Lock:
    """Implements `Lock`: nobody else wants it."""

    identity = "me"

    async def get(self) -> ElectionRecord:
        return ElectionRecord()

    async def create(self, record: ElectionRecord) -> None: ...

    async def update(self, record: ElectionRecord) -> None: ...

    async def record_event(self, text: str) -> None: ...

    def __str__(self) -> str:
        return "kube-system/kube-scheduler"


class StuckClock(VirtualClock):
    """Whoever sleeps does not wake."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


async def test_overdue_is_counted_from_the_last_renewal() -> None:
    """The lease's duration and what is tolerated; who does not lead is never overdue."""
    clock = StuckClock()
    elector = LeaderElector(Lock(), ElectionTimes(lease=15, renew_deadline=10, retry_period=2), clock)
    assert elector.overdue(20) is None
    running = asyncio.create_task(elector.run())
    try:
        async with asyncio.timeout(5):
            while not elector.is_leader():
                await asyncio.sleep(0)

        clock.advance(34)
        assert elector.overdue(20) is None
        clock.advance(2)
        assert elector.overdue(20) == "failed election to renew leadership on lease kube-system/kube-scheduler"
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
