"""The rate limit, locks by key, backoff and retries."""

import asyncio

import pytest

from bayplan.client.errors import ApiError, ClientError, ConflictError, TransportError
from bayplan.client.flow_control import (
    MAX_TRIES,
    MAX_TRIES_WHEN_THROTTLED,
    Backoff,
    KeyedLock,
    Retries,
    TokenBucket,
    jittered,
)
from bayplan.testing import VirtualClock

# --- the rate limit: qps and burst of clientConnection ----------------------------------------------------


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
async def test_acquire_waits_for_its_token() -> None:
    clock = VirtualClock()
    bucket = TokenBucket(2.0, 1, clock)
    start = clock.monotonic()
    for _ in range(5):
        await bucket.acquire()
    assert clock.monotonic() - start == pytest.approx(2.0)


# --- locks ------------------------------------------------------------------------------------------------


async def _hold(lock: KeyedLock, key: str, name: str, seen: list[str], gate: asyncio.Event | None = None) -> None:
    await lock.acquire(key)
    try:
        seen.append(f"{name} begins")
        if gate is not None:
            await gate.wait()
        seen.append(f"{name} ends")
    finally:
        lock.release(key)


@pytest.mark.asyncio
async def test_locks_are_granted_in_order_of_request() -> None:
    """The second begins when the first has ended; another key does not wait."""
    lock, gate = KeyedLock(), asyncio.Event()
    seen: list[str] = []
    tasks = [
        asyncio.create_task(_hold(lock, "a", "first", seen, gate)),
        asyncio.create_task(_hold(lock, "a", "second", seen)),
        asyncio.create_task(_hold(lock, "b", "other", seen)),
    ]
    await asyncio.sleep(0.01)
    assert seen == ["first begins", "other begins", "other ends"]

    gate.set()
    await asyncio.gather(*tasks)

    assert seen[3:] == ["first ends", "second begins", "second ends"]
    assert lock.try_acquire("a")


@pytest.mark.asyncio
async def test_cancelled_waiter_lets_nobody_past() -> None:
    """It is skipped; the waiter after it still waits for the first."""
    lock, gate = KeyedLock(), asyncio.Event()
    seen: list[str] = []
    first = asyncio.create_task(_hold(lock, "a", "first", seen, gate))
    second = asyncio.create_task(_hold(lock, "a", "second", seen))
    third = asyncio.create_task(_hold(lock, "a", "third", seen))
    await asyncio.sleep(0.01)

    second.cancel()
    await asyncio.sleep(0.01)
    assert seen == ["first begins"]

    gate.set()
    await asyncio.gather(first, third)
    assert seen == ["first begins", "first ends", "third begins", "third ends"]
    assert lock.try_acquire("a")


@pytest.mark.asyncio
async def test_waiter_cancelled_just_after_the_grant_passes_the_lock_on() -> None:
    """Between the release and the moment at which the waiter would run."""
    lock = KeyedLock()
    assert lock.try_acquire("a")
    second = asyncio.create_task(lock.acquire("a"))
    third = asyncio.create_task(lock.acquire("a"))
    await asyncio.sleep(0)

    lock.release("a")
    second.cancel()

    with pytest.raises(asyncio.CancelledError):
        await second
    await third
    assert not lock.try_acquire("a")
    lock.release("a")
    assert lock.try_acquire("a")


@pytest.mark.asyncio
async def test_locked_key_is_not_acquired_at_once() -> None:
    lock = KeyedLock()
    assert lock.try_acquire("a")
    assert not lock.try_acquire("a")
    assert lock.try_acquire("b")
    lock.release("a")
    assert lock.try_acquire("a")


# --- backoff ----------------------------------------------------------------------------------------------


def test_delays_double_up_to_the_maximum() -> None:
    backoff = Backoff(0.8, 30.0, rng=lambda: 0.0)
    assert [backoff.next_delay(0) for _ in range(8)] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30])


def test_jitter_adds_up_to_as_much_again() -> None:
    assert jittered(2.0, 1.2, lambda: 1.0) == pytest.approx(4.4)
    assert Backoff(1.0, 8.0, rng=lambda: 0.5).next_delay(0) == pytest.approx(1.5)


def test_time_without_use_starts_again() -> None:
    backoff = Backoff(1.0, 8.0, reset_after=120, rng=lambda: 0.0)
    assert [backoff.next_delay(now) for now in (0, 1, 3)] == [1, 2, 4]
    assert backoff.next_delay(124) == 1


def test_reset_starts_again() -> None:
    backoff = Backoff(1.0, 8.0, rng=lambda: 0.0)
    backoff.next_delay(0)
    backoff.reset()
    assert backoff.next_delay(0) == 1


# --- retries ----------------------------------------------------------------------------------------------


async def n_tries(error: ClientError, *, repeatable: bool) -> int:
    """How often a request is sent that always fails with *error*."""
    retries = Retries(VirtualClock(), lambda: 0.0)
    for n_sent in range(1, 100):
        try:
            await retries.wait(error, repeatable=repeatable)
        except ClientError:
            return n_sent
    raise AssertionError("sent for ever")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("error", "repeatable", "expected"),
    [
        pytest.param(ApiError(429), False, MAX_TRIES_WHEN_THROTTLED, id="asked to wait"),
        pytest.param(ApiError(503, retry_after=1.0), False, MAX_TRIES_WHEN_THROTTLED, id="asked to wait by a 503"),
        pytest.param(ApiError(500), True, MAX_TRIES, id="internal error"),
        pytest.param(ApiError(500), False, 1, id="internal error of an unsafe request"),
        pytest.param(TransportError("cut", sent=True), True, MAX_TRIES, id="cut"),
        pytest.param(TransportError("cut", sent=True), False, 1, id="cut of an unsafe request"),
        pytest.param(TransportError("refused", sent=False), False, MAX_TRIES, id="not sent"),
        pytest.param(ConflictError(409), True, 1, id="conflict"),
    ],
)
async def test_cause_decides_about_retries(error: ClientError, repeatable: bool, expected: int) -> None:
    assert await n_tries(error, repeatable=repeatable) == expected
