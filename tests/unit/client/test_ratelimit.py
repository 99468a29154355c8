"""qps and burst of clientConnection."""

import pytest

from bayplan.client.ratelimit import TokenBucket
from bayplan.testing import VirtualClock


def test_burst_passes_at_once_then_qps() -> None:
    clock = VirtualClock()
    bucket = TokenBucket(10.0, 3, clock)
    assert [bucket.reserve() for _ in range(3)] == [0.0, 0.0, 0.0]
    assert bucket.reserve() == pytest.approx(0.1)
    assert bucket.reserve() == pytest.approx(0.2)


def test_tokens_come_back_with_time() -> None:
    clock = VirtualClock()
    bucket = TokenBucket(10.0, 2, clock)
    for _ in range(4):
        bucket.reserve()
    clock.advance(60)
    assert [bucket.reserve() for _ in range(2)] == [0.0, 0.0]
    assert bucket.reserve() > 0  # never more than the burst


@pytest.mark.parametrize("qps", [0.0, -1.0])
def test_no_qps_is_no_limit(qps: float) -> None:
    bucket = TokenBucket(qps, 1, VirtualClock())
    assert {bucket.reserve() for _ in range(1000)} == {0.0}


@pytest.mark.asyncio
async def test_acquire_waits_for_its_turn() -> None:
    clock = VirtualClock()
    bucket = TokenBucket(2.0, 1, clock)
    start = clock.monotonic()
    for _ in range(5):
        await bucket.acquire()
    assert clock.monotonic() - start == pytest.approx(2.0)
