"""Judges recorded orders: pods that were all waiting when the scheduler started, and which was tried first.

Identical means: the first attempts at the pods follow each other as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bayplan.conformance import Context
from bayplan.conformance.gang import started
from bayplan.conformance.report import Difference, compare

WATCHING_SECONDS: Final = 8.0


def judge(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """One line is one step."""
    replay = started(line, context)
    replay.run(WATCHING_SECONDS)
    replay.close()
    yield "", list(compare(line["order"], list(replay.attempts), "order"))
