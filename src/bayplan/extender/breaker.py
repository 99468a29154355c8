"""A circuit breaker: an extender that does not answer is left alone for a while. Off unless asked for.

        closed ── n failures in a row ──▶ open ── after a pause ──▶ half open ── an answer ──▶ closed
                                            ▲                          │
                                            └──────── a failure ───────┘

While it is open the extender fails at once, as if it had been asked: an ignorable one is passed over, another one
fails the attempt. What counts is that no usable answer came; an extender that says no has answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """When to leave an extender alone."""

    #: After so many failures in a row.
    failures: int
    #: For so long.
    pause_seconds: float = 30.0


class Breaker:
    """Of one extender."""

    def __init__(self, settings: BreakerSettings, now: Callable[[], float]) -> None:
        """*now* never goes back."""
        self._settings = settings
        self._now = now
        self._n_failures = 0
        self._open_until = 0.0

    def why_not(self) -> str:
        """Why the extender is not asked now; empty if it may be."""
        left = self._open_until - self._now()
        if self._n_failures < self._settings.failures or left <= 0:
            return ""
        return f"not asked after {self._n_failures} failures in a row; it is tried again in {left:.1f}s"

    def note(self, *, answered: bool) -> None:
        self._n_failures = 0 if answered else self._n_failures + 1
        if self._n_failures >= self._settings.failures:
            self._open_until = self._now() + self._settings.pause_seconds
