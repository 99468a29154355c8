"""The profiler sees every thread but its own, and writes formats that others read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from bayplan.observe.sampling_profiler import MAX_DEPTH, SamplingProfiler, StackProfile, ThreadSamples


def outer(reached: threading.Event, leave: threading.Event) -> None:
    inner(reached, leave)


def inner(reached: threading.Event, leave: threading.Event) -> None:
    reached.set()
    leave.wait()


def deep(depth: int, reached: threading.Event, leave: threading.Event) -> None:
    deep(depth - 1, reached, leave) if depth else inner(reached, leave)


@contextmanager
def a_thread(function: object, *arguments: object) -> Iterator[None]:
    """A thread named "worker" in `inner`, for as long as the context lasts."""
    reached, leave = threading.Event(), threading.Event()
    thread = threading.Thread(target=function, args=(*arguments, reached, leave), name="worker")  # type: ignore[arg-type]
    thread.start()
    reached.wait()
    try:
        yield
    finally:
        leave.set()
        thread.join()


def profile(seconds: float = 0.02) -> StackProfile:
    return SamplingProfiler().profile(seconds, threading.Event())


def worker_of(taken: StackProfile) -> ThreadSamples:
    return next(thread for thread in taken.threads if thread.name == "worker")


def test_stack_from_the_outside_in() -> None:
    """The functions of another thread, in the order of their calls."""
    with a_thread(outer):
        stack = [code.co_qualname for code in worker_of(profile()).stacks[0]]

    assert stack[stack.index("outer") :][:2] == ["outer", "inner"]


def test_own_thread_is_left_out() -> None:
    """What takes the samples would be in every one of them."""
    taken = profile()

    assert threading.current_thread().name not in {thread.name for thread in taken.threads}


def test_deep_stacks_lose_their_outermost_frames() -> None:
    """So that a recursion without end does not fill the memory."""
    with a_thread(deep, MAX_DEPTH):
        stack = worker_of(profile()).stacks[0]

    assert len(stack) == MAX_DEPTH
    assert "deep" in {code.co_qualname for code in stack}


def test_a_sample_counts_for_the_time_since_the_last() -> None:
    """Also for time in which none could be taken; stacks that are the same become one."""
    ticks = count(0.0, 2.0)
    with a_thread(outer):
        worker = worker_of(SamplingProfiler(lambda: next(ticks)).profile(5.0, threading.Event()))

    assert sum(worker.seconds) == 6.0
    assert len(worker.stacks) == len(worker.seconds)


def test_stop_ends_it() -> None:
    """The server stops, or nobody waits for the profile any more."""
    stop = threading.Event()
    stop.set()

    assert SamplingProfiler().profile(3600, stop).threads == []


@pytest.fixture
def two_stacks() -> StackProfile:
    samples = ThreadSamples("worker")
    samples.add((outer.__code__, inner.__code__), 0.5)
    samples.add((outer.__code__, inner.__code__), 0.25)
    samples.add((outer.__code__,), 0.25)
    return StackProfile({1: samples})


def test_speedscope_format(two_stacks: StackProfile) -> None:
    """Frames are shared; samples are lists of their numbers, with weights in seconds."""
    file = two_stacks.speedscope("a name")

    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert [frame["name"] for frame in file["shared"]["frames"]] == ["outer", "inner"]
    assert all(frame["file"] == __file__ and frame["line"] > 0 for frame in file["shared"]["frames"])
    assert file["profiles"] == [
        {
            "type": "sampled",
            "name": "worker",
            "unit": "seconds",
            "startValue": 0,
            "endValue": 1.0,
            "samples": [[0, 1], [0]],
            "weights": [0.75, 0.25],
        }
    ]


def test_collapsed_format(two_stacks: StackProfile) -> None:
    """One line per stack, with the number of samples."""
    line_of_outer, line_of_inner = outer.__code__.co_firstlineno, inner.__code__.co_firstlineno

    assert two_stacks.collapsed() == (
        f"worker;outer ({__file__}:{line_of_outer}) 25\n"
        f"worker;outer ({__file__}:{line_of_outer});inner ({__file__}:{line_of_inner}) 75\n"
    )
