"""Virtual time: it jumps to the next timer, and stands still while a thread works."""

from __future__ import annotations

import asyncio
import threading

from bayplan.apiserver.virtual_time import LoopClock, run_in_virtual_time


def test_waiting_takes_no_time() -> None:
    async def wait() -> float:
        clock = LoopClock()
        before = clock.monotonic()
        await clock.sleep(3600)
        return clock.monotonic() - before

    assert run_in_virtual_time(wait()) == 3600


def test_time_stands_still_while_a_thread_works() -> None:
    """A timeout over it does not fire, however long the thread takes in the time of the machine."""
    is_free = threading.Event()

    async def work() -> tuple[bool, float]:
        loop = asyncio.get_running_loop()
        releasing = threading.Timer(0.05, is_free.set)
        releasing.start()
        async with asyncio.timeout(1):
            waited = await asyncio.to_thread(is_free.wait, 60)
        releasing.join()
        return waited, loop.time()

    assert run_in_virtual_time(work()) == (True, 0)
