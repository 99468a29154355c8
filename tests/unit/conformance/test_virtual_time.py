"""Virtual time: coroutines sleep, timers ring and futures wake, in order, without an event loop."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from bayplan.conformance.virtual_time import ReplayClock, Tasks


@pytest.fixture
def clock() -> ReplayClock:
    return ReplayClock(100.0)


def run(tasks: Tasks, clock: ReplayClock) -> None:
    """Until nothing is due any more."""
    while (due := tasks.next_due) is not None:
        clock.time = max(clock.time, due)
        tasks.resume_due()


async def note(log: list[str], text: str, awaited: Awaitable[object], clock: ReplayClock) -> None:
    answer = await awaited
    log.append(f"{text} {answer} at {clock.time:g}")


def test_timers_and_sleepers_go_on_in_order_of_time(clock: ReplayClock) -> None:
    """Whoever is due first goes on first; a cancelled timer does nothing."""
    tasks, log = Tasks(clock), list[str]()
    tasks.start(note(log, "slept", clock.sleep(2), clock))
    tasks.call_later(1, log.append, "rang")
    tasks.call_later(1, log.append, "never").cancel()
    run(tasks, clock)

    assert log == ["rang", "slept None at 102"]


@pytest.mark.parametrize(("lag", "at"), [(0.0, 103), (0.5, 103.5)], ids=["at once", "with a lag"])
def test_future_wakes_who_awaits_it(clock: ReplayClock, lag: float, at: float) -> None:
    """When it has its result, or as much later as things take."""
    tasks, log = Tasks(clock, lambda: lag), list[str]()
    future = tasks.create_future()
    tasks.start(note(log, "got", future, clock))
    tasks.call_later(3, future.set_result, "it")
    run(tasks, clock)

    assert log == [f"got it at {at:g}"]
    assert future.done()


def test_result_that_is_there_is_not_waited_for(clock: ReplayClock) -> None:
    """The coroutine goes straight on."""
    tasks, log = Tasks(clock), list[str]()
    future = tasks.create_future()
    future.set_result("it")
    tasks.start(note(log, "got", future, clock))
    tasks.resume_due()

    assert log == ["got it at 100"]


def test_close_ends_those_who_wait(clock: ReplayClock) -> None:
    """No coroutine is left behind, whatever it waited for; pytest would complain of one."""
    tasks, log = Tasks(clock), list[str]()
    tasks.start(note(log, "got", tasks.create_future(), clock))
    tasks.start(note(log, "slept", clock.sleep(5), clock))
    tasks.resume_due()
    tasks.start(note(log, "not begun", tasks.create_future(), clock))
    tasks.close()

    assert tasks.next_due is None
    assert log == []
