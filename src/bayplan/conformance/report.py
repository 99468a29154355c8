"""The report of a conformance run: the results of all steps, as text and as JSON.

Shared by all kinds of recordings. A step is identical or has differences; a difference has a location, the
recorded value and ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from bayplan.release import DEFAULT


class Difference(msgspec.Struct, frozen=True):
    """One value that differs from the recording."""

    where: str
    recorded: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.where}\n      recorded: {_short(self.recorded)}\n      ours:     {_short(self.ours)}"


class StepResult(msgspec.Struct, frozen=True):
    """The result of one step: its kind, the name of its line, its own label, and what differs.

    `release` is the minor release of Kubernetes that it was compared with.
    """

    kind: str
    name: str
    label: str
    differences: tuple[Difference, ...]
    release: str = DEFAULT.minor

    @property
    def identical(self) -> bool:
        return not self.differences


class StepCount(msgspec.Struct):
    """How many steps were compared, and how many were identical."""

    identical: int = 0
    total: int = 0

    def count(self, step: StepResult) -> None:
        self.total += 1
        self.identical += step.identical

    def __str__(self) -> str:
        return f"{self.identical} of {self.total} identical"


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
        return self._counts(lambda step: step.kind)

    def counts_by_release(self) -> dict[str, StepCount]:
        """The count for each release of Kubernetes."""
        return self._counts(lambda step: step.release)

    def _counts(self, key: Callable[[StepResult], str]) -> dict[str, StepCount]:
        counts: dict[str, StepCount] = {}
        for step in self.steps:
            counts.setdefault(key(step), StepCount()).count(step)
        return counts

    def to_text(self, *, show: int = 10) -> str:
        """Counts by release and kind, the first `show` differing steps in full, and as last line
        `N of M identical`."""
        counts = self._counts(lambda step: f"{step.release} {step.kind}")
        lines = [f"{name}: {count}" for name, count in counts.items()]
        releases = self.counts_by_release()
        if len(releases) > 1:
            lines += ["", *(f"Kubernetes {release}: {count}" for release, count in releases.items())]
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
            "kinds": msgspec.to_builtins(self.counts()),
            "releases": msgspec.to_builtins(self.counts_by_release()),
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
