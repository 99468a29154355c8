"""The report of a conformance run: the results of all steps, as text and as JSON.

Shared by all kinds of recordings. A step is identical or has differences; a difference has a location, the
recorded value and ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """One value that differs from the recording."""

    where: str
    recorded: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.where}\n      recorded: {_short(self.recorded)}\n      ours:     {_short(self.ours)}"


class StepResult(msgspec.Struct, frozen=True):
    """The result of one step: its kind, the name of its line, its own label, and what differs."""

    kind: str
    name: str
    label: str
    differences: tuple[Difference, ...]

    @property
    def identical(self) -> bool:
        return not self.differences


class StepCount(msgspec.Struct):
    """How many steps of a kind were compared, and how many were identical."""

    identical: int = 0
    total: int = 0

    def count(self, step: StepResult) -> None:
        self.total += 1
        self.identical += step.identical


class ConformanceReport(msgspec.Struct):
    """The results of all steps."""

    steps: list[StepResult] = []

    @property
    def total(self) -> int:
        return len(self.steps)

    @property
    def identical(self) -> int:
        return sum(step.identical for step in self.steps)

    @property
    def passed(self) -> bool:
        """True when everything is identical, and there was something to compare."""
        return bool(self.steps) and self.identical == self.total

    def counts(self) -> dict[str, StepCount]:
        """The count for each kind."""
        counts: dict[str, StepCount] = {}
        for step in self.steps:
            counts.setdefault(step.kind, StepCount()).count(step)
        return counts

    def to_text(self, *, show: int = 10) -> str:
        """Counts by kind, the first `show` differing steps in full, and as last line `N of M identical`."""
        lines = [f"{kind}: {tally.identical} of {tally.total} identical" for kind, tally in self.counts().items()]
        differing = [step for step in self.steps if not step.identical]
        for step in differing[:show]:
            lines += ["", f"  {step.kind} {step.name}" + (f", {step.label}" if step.label else "")]
            lines += [f"    {difference}" for difference in step.differences]
        if len(differing) > show:
            lines += ["", f"  … and {len(differing) - show} more that differ"]
        return "\n".join([*lines, "", self.summary()]) + "\n"

    def to_json(self) -> str:
        """The same as JSON."""
        values = {
            "identical": self.identical,
            "total": self.total,
            "kinds": {kind: msgspec.to_builtins(tally) for kind, tally in self.counts().items()},
            "differing": [msgspec.to_builtins(step) for step in self.steps if not step.identical],
        }
        return json.dumps(values, indent=2, ensure_ascii=False, default=str) + "\n"

    def summary(self) -> str:
        return f"{self.identical} of {self.total} identical"


def compare(recorded: Any, ours: Any, where: str = "") -> Iterator[Difference]:
    """The differences between two plain values; lists are compared by position, mappings by key."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for key in dict.fromkeys((*recorded, *ours)):
            yield from compare(recorded.get(key, ABSENT), ours.get(key, ABSENT), f"{where}.{key}".lstrip("."))
    elif isinstance(recorded, list) and isinstance(ours, list):
        if len(recorded) != len(ours):
            yield Difference(where, recorded, ours)
            return
        for i, (theirs, mine) in enumerate(zip(recorded, ours, strict=True)):
            yield from compare(theirs, mine, f"{where}[{i}]")
    elif isinstance(recorded, bool) != isinstance(ours, bool) or recorded != ours:
        yield Difference(where, recorded, ours)


#: Stands for a missing value.
ABSENT = "(absent)"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.replace("\n", "\n                ")
    return text if len(text) <= 2000 else text[:2000] + " …"
