"""The circuit breaker: after some failures in a row an extender is not called for a while."""

from __future__ import annotations

from bayplan.extender.breaker import Breaker, BreakerSettings
from bayplan.testing import VirtualClock


def test_it_opens_tries_again_and_closes() -> None:
    """Closed, open, half open; a response closes it, a failure opens it again."""
    clock = VirtualClock()
    breaker = Breaker(BreakerSettings(failures=2, pause_seconds=10), clock.monotonic)

    breaker.record(responded=False)
    assert breaker.why_not() == ""
    breaker.record(responded=False)
    assert breaker.why_not() == "not called after 2 failures in a row; next attempt in 10.0s"
    clock.advance(10)
    assert breaker.why_not() == ""
    breaker.record(responded=False)
    assert breaker.why_not()
    clock.advance(10)
    breaker.record(responded=True)
    breaker.record(responded=False)
    assert breaker.why_not() == ""


def test_failures_must_come_in_a_row() -> None:
    breaker = Breaker(BreakerSettings(failures=2), VirtualClock().monotonic)
    for responded in (False, True, False, True, False):
        breaker.record(responded=responded)

    assert breaker.why_not() == ""
