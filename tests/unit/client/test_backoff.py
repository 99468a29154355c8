"""Delays between tries."""

import pytest

from bayplan.client.backoff import Backoff, jittered


def test_delays_double_up_to_the_maximum() -> None:
    backoff = Backoff(0.8, 30.0, rng=lambda: 0.0)
    assert [backoff.next_delay(0) for _ in range(8)] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30])


def test_jitter_adds_up_to_as_much_again() -> None:
    assert jittered(2.0, 1.2, lambda: 1.0) == pytest.approx(4.4)
    assert Backoff(1.0, 8.0, rng=lambda: 0.5).next_delay(0) == pytest.approx(1.5)


def test_quiet_time_starts_anew() -> None:
    backoff = Backoff(1.0, 8.0, reset_after=120, rng=lambda: 0.0)
    assert [backoff.next_delay(now) for now in (0, 1, 3)] == [1, 2, 4]
    assert backoff.next_delay(124) == 1


def test_reset_starts_anew() -> None:
    backoff = Backoff(1.0, 8.0, rng=lambda: 0.0)
    backoff.next_delay(0)
    backoff.reset()
    assert backoff.next_delay(0) == 1
