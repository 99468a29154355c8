"""A circuit breaker: an extender that keeps failing is not called for a while. Off by default.

        closed ── n failures in a row ──▶ open ── after a pause ──▶ half open ── a response ──▶ closed
                                            ▲                          │
                                            └──────── a failure ───────┘

While it is open, calls fail immediately as if the extender had failed: an ignorable extender is skipped, another
one fails the attempt. A missing or unusable response is a failure; a rejection of nodes is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When to stop calling an extender."""

    #: After this many failures in a row.
    failures: int
    #: For this long.
    pause_seconds: float = 30.0


class Breaker:
    """The circuit breaker of one extender."""

    def __init__(self, settings: BreakerSettings, now: Callable[[], float]) -> None:
        """*now* is monotonic."""
        self._settings = settings
        self._now = now
        self._n_failures = 0
        self._open_until = 0.0

    def why_not(self) -> str:
        """Why the extender is not called now; empty if it may be."""
        left = self._open_until - self._now()
        if self._n_failures < self._settings.failures or left <= 0:
            return ""
        return f"not called after {self._n_failures} failures in a row; next attempt in {left:.1f}s"

    def record(self, *, responded: bool) -> None:
        self._n_failures = 0 if responded else self._n_failures + 1
        if self._n_failures >= self._settings.failures:
            self._open_until = self._now() + self._settings.pause_seconds
