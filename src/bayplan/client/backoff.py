"""How long to wait before the next try: longer each time, and never in step with others."""

from __future__ import annotations

import random
from collections.abc import Callable

Random = Callable[[], float]


def jittered(seconds: float, factor: float, rng: Random = random.random) -> float:
    """Between *seconds* and *seconds* × (1 + *factor*), as client-go's wait.Jitter."""
    return seconds * (1.0 + factor * rng())


class Backoff:
    """Exponential backoff that starts anew after a quiet time."""

    def __init__(
        self,
        initial: float,
        maximum: float,
        *,
        factor: float = 2.0,
        jitter: float = 1.0,
        reset_after: float | None = None,
        rng: Random = random.random,
    ) -> None:
        self._initial = initial
        self._maximum = maximum
        self._factor = factor
        self._jitter = jitter
        self._reset_after = reset_after
        self._rng = rng
        self._next = initial
        self._last_asked: float | None = None

    def next_delay(self, now: float) -> float:
        """Seconds to wait; *now* is monotonic."""
        if (
            self._reset_after is not None
            and self._last_asked is not None
            and now - self._last_asked > self._reset_after
        ):
            self._next = self._initial
        self._last_asked = now
        delay, self._next = self._next, min(self._next * self._factor, self._maximum)
        return jittered(delay, self._jitter, self._rng)

    def reset(self) -> None:
        """The next delay is the first one again."""
        self._next = self._initial
