"""Verifies the recorded order of the queue: pods that were pending when the scheduler started.

Identical means: the first attempts at the pods come in the recorded order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bayplan.conformance import Context
from bayplan.conformance.gang import started
from bayplan.conformance.report import Difference, compare

OBSERVATION_SECONDS: Final = 8.0


def verify(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """One line is one step."""
    replay = started(line, context)
    replay.run(OBSERVATION_SECONDS)
    replay.close()
    yield "", list(compare(line["order"], list(replay.attempts), "order"))
