"""The work queue: each key once, again after a change, later after a failure."""

from __future__ import annotations

import asyncio

import pytest

from bayplan.apiserver.virtual_time import run_in_virtual_time
from bayplan.controllers.workqueue import FIRST_SECONDS, WorkQueue


def test_a_key_added_twice_is_handed_out_once() -> None:
    async def main() -> list[str]:
        queue = WorkQueue()
        for key in ("a", "b", "a"):
            queue.add(key)
        taken = [await queue.take(), await queue.take()]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(queue.take(), 60.0)
        return taken

    assert run_in_virtual_time(main()) == ["a", "b"]


def test_a_key_added_while_worked_on_comes_again() -> None:
    async def main() -> None:
        queue = WorkQueue()
        queue.add("a")
        key = await queue.take()
        queue.add("a")
        queue.done(key)
        assert await queue.take() == "a"
        queue.done("a")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(queue.take(), 60.0)

    run_in_virtual_time(main())


def test_failures_wait_twice_as_long_each_time() -> None:
    async def main() -> list[float]:
        queue = WorkQueue()
        loop = asyncio.get_running_loop()
        queue.add("a")
        waits = []
        key = await queue.take()
        for _ in range(4):
            start = loop.time()
            queue.failed(key)
            key = await queue.take()
            waits.append(loop.time() - start)
        return waits

    waits = run_in_virtual_time(main())
    assert waits == pytest.approx([FIRST_SECONDS * 2**n for n in range(4)])


def test_the_earlier_of_two_delays_holds() -> None:
    async def main() -> float:
        queue = WorkQueue()
        queue.add_after("a", 5.0)
        queue.add_after("a", 1.0)
        queue.add_after("a", 3.0)
        await queue.take()
        return asyncio.get_running_loop().time()

    assert run_in_virtual_time(main()) == pytest.approx(1.0)
