"""The record of an attempt: which plugin said what about which node, with which score, and how long it took.

The pod's message, `bayplan explain`, the conformance check and the console read records; nothing recomputes
one. Records live outside the pod, in a ring that is bounded by size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

#: A record without columns.
_OVERHEAD_BYTES: Final = 2048


class Basis:
    """Columns that several records share."""

    __slots__ = ("n_bytes",)

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes


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


class ExtenderAnswer(NamedTuple):
    """What one extender said to one verb."""

    #: Its URL.
    extender: str
    #: filter, prioritize, preempt.
    verb: str
    seconds: float
    #: What went wrong; empty if nothing did.
    error: str = ""
    #: Whether the error was passed over.
    ignored: bool = False
    #: filter: nodes it turned down with a reason; node → reason.
    failed: Mapping[str, str] = {}
    #: prioritize: node → score times weight, as it was added.
    scores: Mapping[str, int] = {}
    #: How many nodes, or candidates of preemption, it left.
    n_left: int = 0


class Record:
    """One attempt at one pod."""

    __slots__ = (
        "_start",
        "_step",
        "_step_start",
        "extenders",
        "filter",
        "message",
        "node_name",
        "pod_key",
        "pod_uid",
        "preemption",
        "profile_name",
        "scores",
        "seconds",
        "slow_calls",
        "steps",
    )

    def __init__(self, pod_key: str, pod_uid: str, profile_name: str) -> None:
        self.pod_key = pod_key
        self.pod_uid = pod_uid
        self.profile_name = profile_name
        self.node_name = ""
        #: Why there is no node, or why the pod did not get to it: the text of the pod's condition.
        self.message = ""
        self.filter: FilterView | None = None
        self.scores: ScoreView | None = None
        #: What preemption considered, where it was asked.
        self.preemption: object | None = None
        #: What extenders answered, in the order of asking; empty without any.
        self.extenders: list[ExtenderAnswer] = []
        #: (extension point, seconds), in order.
        self.steps: list[tuple[str, float]] = []
        #: (plugin, extension point, seconds) of plugins that were slow.
        self.slow_calls: Sequence[tuple[str, str, float]] = ()
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

    def compact(self, last: CompactScores | None = None) -> None:
        """Keep the same facts in less space; columns that are those of *last* are shared with it."""
        if self.scores is not None and not isinstance(self.scores, CompactScores):
            self.scores = CompactScores(self.scores, last, wide=bool(self.extenders))

    @property
    def n_bytes(self) -> int:
        """What the record's columns take, roughly; columns shared with other records count in each."""
        n_bytes = _OVERHEAD_BYTES
        if self.filter is not None:
            masks = [self.filter.feasible, *(entry.where for entry in self.filter.decided)]
            n_bytes += sum(2 * mask.nbytes for mask in masks)  # the verdicts' own masks are of the same size
        if isinstance(self.scores, CompactScores):
            n_bytes += self.scores.n_bytes
        return n_bytes

    def describe_steps(self) -> str:
        steps = " ".join(f"{name}={seconds * 1000:.1f}ms" for name, seconds in self.steps)
        slow = "".join(f" slow={plugin}/{point}" for plugin, point, _ in self.slow_calls)
        return f"total={self.seconds * 1000:.1f}ms {steps}{slow}"


class CompactScores:
    """The scores of an attempt in an eighth of their size; reads like the framework's ScoreOutcome."""

    __slots__ = ("by_plugin", "made_of", "names", "totals")

    def __init__(self, scores: ScoreView, last: CompactScores | None = None, *, wide: bool = False) -> None:
        """*wide*: the totals may be beyond 32 bits, because extenders' scores have no bounds."""
        self.names = scores.nodes.names
        #: The scores before, as long as the next record may have the same.
        self.made_of: Mapping[str, Any] = scores.by_plugin
        known = last.made_of if last is not None else {}
        self.by_plugin: dict[str, CompactPluginScores] = {
            plugin: last.by_plugin[plugin]
            if last is not None and known.get(plugin) is own
            else CompactPluginScores(own.raw, own.normalized, own.weight)
            for plugin, own in scores.by_plugin.items()
        }
        if last is not None:
            last.made_of = {}
        self.totals = scores.totals if wide else scores.totals.astype(np.int32)

    @property
    def nodes(self) -> CompactScores:
        """`scores.nodes.names`, as before."""
        return self

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_bytes(self) -> int:
        columns = [column for own in self.by_plugin.values() for column in (own.raw, own.normalized)]
        return int(self.totals.nbytes + sum(column.nbytes for column in columns))


class CompactPluginScores:
    """One plugin's scores: the raw ones in as few bytes as they need, the normalised ones in one each."""

    __slots__ = ("normalized", "raw", "weight")

    def __init__(self, raw: Any, normalized: Any, weight: int) -> None:
        self.normalized = normalized.astype(np.uint8)
        self.raw = self.normalized if raw is normalized else raw.astype(_smallest_type(raw))
        self.weight = weight

    @property
    def weighted(self) -> Any:
        return self.normalized.astype(np.int64) * self.weight


def _smallest_type(values: Any) -> Any:
    if not len(values):
        return np.int8
    return np.promote_types(np.min_scalar_type(int(values.min())), np.min_scalar_type(int(values.max())))


class Ring:
    """The latest records, as many as fit into *max_bytes*."""

    def __init__(self, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._n_bytes = 0
        self._records: deque[Record] = deque()
        self._last: CompactScores | None = None
        #: How many records there have been, those that made room included.
        self.n_added = 0

    def add(self, record: Record) -> None:
        """Keep *record*, compacted; the oldest ones make room."""
        record.compact(self._last)
        if isinstance(record.scores, CompactScores):
            self._last = record.scores
        self._records.append(record)
        self.n_added += 1
        self._n_bytes += record.n_bytes
        while self._n_bytes > self._max_bytes and len(self._records) > 1:
            self._n_bytes -= self._records.popleft().n_bytes

    def latest(self, pod_key: str) -> Record | None:
        return next(self.history(pod_key), None)

    def history(self, pod_key: str) -> Iterator[Record]:
        """The attempts at one pod, the latest first."""
        return (record for record in reversed(self._records) if record.pod_key == pod_key)

    def since(self, n_seen: int) -> list[Record]:
        """What was added after the first *n_seen* records, as far as it is still there."""
        n_new = min(self.n_added - n_seen, len(self._records))
        return [self._records[position] for position in range(len(self._records) - n_new, len(self._records))]

    @property
    def n_bytes(self) -> int:
        return self._n_bytes

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)
