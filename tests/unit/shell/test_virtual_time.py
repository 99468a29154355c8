"""Virtual time: coroutines sleep and go on in order, without an event loop."""

from __future__ import annotations

import pytest

from bayplan.shell.virtual_time import ReplayClock, Tasks


@pytest.fixture
def clock() -> ReplayClock:
    return ReplayClock(100.0)


async def note(log: list[str], text: str, clock: ReplayClock, *seconds: float) -> None:
    for each in seconds:
        await clock.sleep(each)
    log.append(f"{text} at {clock.now():g}")


def test_tasks_go_on_in_order_of_time(clock: ReplayClock) -> None:
    """The task that is due first goes on first; equals in the order of their start."""
    tasks, log = Tasks(clock), list[str]()
    tasks.start(note(log, "long", clock, 2, 3))
    tasks.start(note(log, "short", clock, 1))
    tasks.start(note(log, "late", clock), delay=5)
    while (due := tasks.next_due) is not None:
        clock.time = max(clock.time, due)
        tasks.resume_due()

    assert log == ["short at 101", "late at 105", "long at 105"]


def test_close_ends_tasks(clock: ReplayClock) -> None:
    """No coroutine is left behind, whether or not it has begun; pytest would complain of one."""
    tasks, log = Tasks(clock), list[str]()
    tasks.start(note(log, "slept", clock, 5))
    tasks.resume_due()
    tasks.start(note(log, "not begun", clock))
    tasks.close()

    assert (tasks.next_due, log) == (None, [])
