"""Flush: completed backoffs, and pods that have been unschedulable for too long."""

from __future__ import annotations

from tests.unit.queue.support import FOO_ADD, NODE_ADD, START, Bench

from bayplan.testing import make_pod


def test_pod_left_for_five_minutes_is_tried_again() -> None:
    """Whichever plugin rejected it; checked every 30 s."""
    bench = Bench()
    pod = make_pod("p")
    info = bench.add_rejected(pod, "Fit")
    for _ in range(10):
        bench.wait(30)
        assert bench.place(pod) == "unschedulable"
    bench.wait(29.9)
    assert bench.place(pod) == "unschedulable"
    bench.wait(0.1)
    assert bench.place(pod) == "active"
    assert info.was_flushed
    assert bench.observed.moves[-1] == "active UnschedulableTimeout"


def test_next_attempt_resets_was_flushed() -> None:
    bench = Bench(max_unschedulable_seconds=10)
    info = bench.add_rejected(make_pod("p"), "Fit")
    bench.wait(30)
    bench.fail(bench.pop(), "Fit")

    assert not info.was_flushed


def test_flushed_pod_can_stay_gated() -> None:
    """And is not flushed again before the same time has passed once more."""
    bench = Bench(max_unschedulable_seconds=40)
    pod = make_pod("p")
    bench.gate.held = {"p"}
    bench.add(pod)
    bench.wait(60)
    assert bench.place(pod) == "gated"
    bench.gate.held.clear()
    bench.wait(30)
    assert bench.place(pod) == "gated"
    bench.wait(30)
    assert bench.place(pod) == "active"


def test_flush_is_an_event_for_pods_in_flight() -> None:
    """A pod that comes back has missed it like any other event."""
    bench = Bench(max_unschedulable_seconds=10)
    bench.add_rejected(make_pod("left"), "Outside")
    flying = make_pod("flying")
    bench.add(flying)
    info = bench.pop()
    bench.wait(30)
    bench.fail(info, "Fit")

    assert bench.place(flying) == "backoff"


def test_wakeup_is_when_something_is_due() -> None:
    bench = Bench()
    assert bench.queue.next_wakeup(START) is None
    bench.add(make_pod("p"))
    assert bench.queue.next_wakeup(START) is None
    bench.fail(bench.pop(), "Fit")
    assert bench.queue.next_wakeup(START) == START + 30
    bench.happen(NODE_ADD, None, "n")
    assert bench.queue.next_wakeup(START) == START + 2
    assert bench.queue.next_wakeup(START + 9) == START + 9


def test_wakeups_are_enough() -> None:
    """Flushing at each wakeup, and only then, misses nothing and does not loop."""
    bench = Bench()
    for name, plugins in (("broken", ()), ("rejected", ("Fit",)), ("woken", ("Outside",))):
        bench.add_rejected(make_pod(name), *plugins)
    bench.happen(FOO_ADD)
    n_wakeups = 0
    while (wakeup := bench.queue.next_wakeup(bench.clock.now())) is not None:
        bench.wait(wakeup - bench.clock.now())
        n_wakeups += 1
        assert n_wakeups < 20

    assert bench.counts.active == 3
    assert bench.clock.now() == START + 330
