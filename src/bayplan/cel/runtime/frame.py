"""The state of one evaluation: the variables and what it has cost so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayplan.cel.cel_errors import CancelledError, EvaluationError

_TOO_COSTLY = "operation cancelled: actual cost limit exceeded"


class Frame:
    """Variables by slot; the first are those of the environment, the rest belong to comprehensions."""

    __slots__ = ("cost", "limit", "slots")

    def __init__(self, slots: list[Any], limit: int) -> None:
        self.slots = slots
        self.cost = 0
        self.limit = limit

    def check_limit(self) -> None:
        """Give up if it costs too much. Cost only grows, so checking now and then, and at the end, is enough."""
        if self.cost > self.limit:
            raise CancelledError(_TOO_COSTLY)

    def refund(self, cost: int) -> None:
        """Take back what was paid. Less than nothing is very much, as the counter is unsigned."""
        self.cost -= cost
        if self.cost < 0:
            raise CancelledError(_TOO_COSTLY)


Run = Callable[[Frame], Any]


def value_or_error(run: Run, frame: Frame) -> Any:
    """What an evaluation gives, an error as a value."""
    try:
        return run(frame)
    except EvaluationError as error:
        return error
