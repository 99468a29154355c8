"""When a request may be sent: the rate limit, one request per object at a time, and retries with backoff.

Which failed requests are retried:

- 429, or a Retry-After: the server has not accepted the request; any request is sent again, when the server says.
- 5xx, a cut connection, no answer: sent again if that is safe (`repeatable`), after a backoff with jitter.
- a connection that could not be opened: always safe.
- other responses, such as 404 and 409, are final.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from bayplan.client.errors import ApiError, ClientError, TransportError

if TYPE_CHECKING:
    from bayplan.framework import Clock

Random = Callable[[], float]

#: As client-go.
MAX_TRIES_WHEN_THROTTLED = 10
MAX_TRIES = 5
_FIRST_BACKOFF_SECONDS = 0.1
_LONGEST_BACKOFF_SECONDS = 2.0
_RETRY_AFTER_JITTER = 0.2
_BACKOFF_FACTOR = 2.0
_BACKOFF_JITTER = 1.0


class TokenBucket:
    """The rate limit of `clientConnection`: *qps* requests a second, *burst* at once; with *qps* <= 0 no limit."""

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        self._qps = qps
        self._burst = float(max(burst, 1))
        self._clock = clock
        self._tokens = self._burst
        self._last = clock.monotonic()

    def reserve(self) -> float:
        """Take a token; the seconds to wait before it may be used."""
        if self._qps <= 0:
            return 0.0
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._last) * self._qps)
        self._last = now
        self._tokens -= 1.0
        return 0.0 if self._tokens >= 0 else -self._tokens / self._qps

    async def acquire(self) -> None:
        """Return when a request may be sent."""
        delay = self.reserve()
        if delay > 0:
            await self._clock.sleep(delay)


class KeyedLock:
    """A lock for each key, granted in order of request. Keys that are not locked use no memory."""

    def __init__(self) -> None:
        #: Locked key → its waiters; None until there is one.
        self._waiters: dict[str, deque[asyncio.Future[None]] | None] = {}

    def try_acquire(self, key: str) -> bool:
        """Lock *key* if it is free; mostly it is, and this costs no coroutine."""
        if key in self._waiters:
            return False
        self._waiters[key] = None
        return True

    async def acquire(self, key: str) -> None:
        """Lock *key* when all earlier holders and waiters are done."""
        if self.try_acquire(key):
            return
        waiters = self._waiters[key]
        if waiters is None:
            waiters = self._waiters[key] = deque()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self.release(key)  # it was granted just before
            raise

    def release(self, key: str) -> None:
        """Pass the lock on to the next waiter."""
        waiters = self._waiters[key]
        while waiters:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        del self._waiters[key]


class Backoff:
    """Exponential backoff with jitter, which starts again after *reset_after* seconds without use."""

    def __init__(
        self,
        initial: float,
        maximum: float,
        *,
        reset_after: float | None = None,
        rng: Random = random.random,
    ) -> None:
        self._initial = initial
        self._maximum = maximum
        self._reset_after = reset_after
        self._rng = rng
        self._next = initial
        self._last_used: float | None = None

    def next_delay(self, now: float) -> float:
        """Seconds to wait; *now* is monotonic."""
        if (
            self._reset_after is not None
            and self._last_used is not None
            and now - self._last_used > self._reset_after
        ):
            self._next = self._initial
        self._last_used = now
        delay, self._next = self._next, min(self._next * _BACKOFF_FACTOR, self._maximum)
        return jittered(delay, _BACKOFF_JITTER, self._rng)

    def reset(self) -> None:
        """Start again from the first delay."""
        self._next = self._initial


def jittered(seconds: float, factor: float, rng: Random = random.random) -> float:
    """Between *seconds* and *seconds* × (1 + *factor*), as client-go's wait.Jitter."""
    return seconds * (1.0 + factor * rng())


class Retries:
    """The retries of one request: whether there is another one, and when."""

    def __init__(self, clock: Clock, rng: Random) -> None:
        self._clock = clock
        self._rng = rng
        self._backoff = Backoff(_FIRST_BACKOFF_SECONDS, _LONGEST_BACKOFF_SECONDS, rng=rng)
        self._n_tries = 0

    async def wait(self, error: ClientError, *, repeatable: bool) -> None:
        """Return when the request should be sent again after *error*; raise it if it should not."""
        self._n_tries += 1
        throttled = isinstance(error, ApiError) and is_throttled(error)
        may_repeat = throttled or (is_transient(error) and (repeatable or _was_not_sent(error)))
        if not may_repeat or self._n_tries >= (MAX_TRIES_WHEN_THROTTLED if throttled else MAX_TRIES):
            raise error
        delay = self._backoff.next_delay(self._clock.monotonic())
        if isinstance(error, ApiError) and error.retry_after is not None:
            delay = jittered(error.retry_after, _RETRY_AFTER_JITTER, self._rng)
        await self._clock.sleep(delay)


def is_throttled(error: ApiError) -> bool:
    """Whether the server has not accepted the request, and asks us to send it later."""
    return error.status == 429 or (error.status >= 500 and error.retry_after is not None)


def is_transient(error: ClientError) -> bool:
    """Whether the cause may be gone soon."""
    return isinstance(error, TransportError) or (isinstance(error, ApiError) and error.status >= 500)


def _was_not_sent(error: ClientError) -> bool:
    return isinstance(error, TransportError) and not error.sent
