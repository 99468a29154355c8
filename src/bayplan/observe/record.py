"""The record of an attempt: which plugin said what about which node, with which score, and how long it took.

The pod's message, `bayplan explain`, the conformance check and the console read records; nothing recomputes
one. Records live outside the pod, in a ring that is bounded by size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, Protocol


class FilterView(Protocol):
    """What a record keeps of Filter: the framework's FilterOutcome is one."""

    nodes: Any
    feasible: Any
    decided: Any
    overrides: Any


class ScoreView(Protocol):
    """What a record keeps of Score: the framework's ScoreOutcome is one."""

    @property
    def nodes(self) -> Any: ...

    @property
    def by_plugin(self) -> Mapping[str, Any]: ...

    @property
    def totals(self) -> Any: ...


class Record:
    """One attempt at one pod."""

    __slots__ = (
        "_start",
        "_step",
        "_step_start",
        "filter",
        "node_name",
        "pod_key",
        "pod_uid",
        "preemption",
        "profile_name",
        "scores",
        "seconds",
        "steps",
    )

    def __init__(self, pod_key: str, pod_uid: str, profile_name: str) -> None:
        self.pod_key = pod_key
        self.pod_uid = pod_uid
        self.profile_name = profile_name
        self.node_name = ""
        self.filter: FilterView | None = None
        self.scores: ScoreView | None = None
        #: What preemption considered, where it was asked.
        self.preemption: object | None = None
        #: (extension point, seconds), in order.
        self.steps: list[tuple[str, float]] = []
        self.seconds = 0.0
        self._step = ""
        self._start = self._step_start = perf_counter()

    def start(self, name: str) -> None:
        """The step *name* begins now, and the one before it ends."""
        now = perf_counter()
        self._end_step(now)
        self._step, self._step_start = name, now

    def _end_step(self, now: float) -> None:
        if self._step:
            self.steps.append((self._step, now - self._step_start))

    def note_filter(self, outcome: FilterView | None) -> None:
        self.filter = outcome

    def note_scores(self, scores: ScoreView) -> None:
        self.scores = scores

    def finish(self) -> None:
        now = perf_counter()
        self._end_step(now)
        self.seconds = now - self._start

    def describe_steps(self) -> str:
        steps = " ".join(f"{name}={seconds * 1000:.1f}ms" for name, seconds in self.steps)
        return f"total={self.seconds * 1000:.1f}ms {steps}"


class Ring:
    """The latest records, as many as fit."""

    def __init__(self, capacity: int) -> None:
        self._records: deque[Record] = deque(maxlen=capacity)

    def add(self, record: Record) -> None:
        self._records.append(record)

    def latest(self, pod_key: str) -> Record | None:
        for record in reversed(self._records):
            if record.pod_key == pod_key:
                return record
        return None

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)
