"""Token bucket: `clientConnection.qps` requests a second, `burst` at once."""

from __future__ import annotations

from bayplan.framework import Clock


class TokenBucket:
    """Places are given in the order of asking; with *qps* of 0 or less there is no limit."""

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        self._qps = qps
        self._burst = float(max(burst, 1))
        self._clock = clock
        self._tokens = self._burst
        self._last = clock.monotonic()

    async def acquire(self) -> None:
        """Return when a request may be sent."""
        delay = self.reserve()
        if delay > 0:
            await self._clock.sleep(delay)

    def reserve(self) -> float:
        """Take a place; seconds until it is due."""
        if self._qps <= 0:
            return 0.0
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._last) * self._qps)
        self._last = now
        self._tokens -= 1.0
        return 0.0 if self._tokens >= 0 else -self._tokens / self._qps
