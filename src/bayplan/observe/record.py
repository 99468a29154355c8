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


class Basis(Protocol):
    """Columns that several records share."""

    @property
    def n_bytes(self) -> int: ...


class FilterView(Protocol):
    """What a record keeps of Filter: the framework's FilterOutcome is one."""

    nodes: Any
    decided: Any
    overrides: Any

    @property
    def feasible(self) -> Any: ...

    @property
    def combined(self) -> Basis | None:
        """The masks, where other records share them."""


class ScoreView(Protocol):
    """What a record keeps of Score: the framework's ScoreOutcome is one."""

    @property
    def nodes(self) -> Any: ...

    @property
    def by_plugin(self) -> Mapping[str, Any]: ...

    @property
    def totals(self) -> Any: ...

    @property
    def base(self) -> Any | None:
        """What the totals can be made of again, with the scores of `added` on top; None if nothing."""

    @property
    def added(self) -> Sequence[str]: ...

    @property
    def basis(self) -> Basis | None:
        """The columns, where other records share them."""


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
        """What the record takes, roughly, without what it shares with others."""
        n_bytes = _OVERHEAD_BYTES
        if self.filter is not None and self.filter.combined is None:
            # The verdicts' own masks are of the same size.
            n_bytes += 2 * (1 + len(self.filter.decided)) * len(self.filter.nodes)
        if isinstance(self.scores, CompactScores):
            n_bytes += self.scores.n_bytes
        return n_bytes

    @property
    def bases(self) -> Sequence[Basis]:
        """What it shares."""
        of_filter = self.filter.combined if self.filter is not None else None
        of_scores = self.scores.basis if self.scores is not None else None
        return [basis for basis in (of_filter, of_scores) if basis is not None]

    def describe_steps(self) -> str:
        steps = " ".join(f"{name}={seconds * 1000:.1f}ms" for name, seconds in self.steps)
        slow = "".join(f" slow={plugin}/{point}" for plugin, point, _ in self.slow_calls)
        return f"total={self.seconds * 1000:.1f}ms {steps}{slow}"


class CompactScores:
    """The scores of an attempt in little space; reads like the framework's ScoreOutcome."""

    __slots__ = ("_totals", "added", "base", "basis", "by_plugin", "made_of", "n_bytes", "nodes")

    def __init__(self, scores: ScoreView, last: CompactScores | None = None, *, wide: bool = False) -> None:
        """*wide*: the totals may be beyond 32 bits, because extenders' scores have no bounds."""
        self.nodes = scores.nodes
        self.basis = scores.basis
        #: The scores before, as long as the next record may have the same.
        self.made_of: Mapping[str, Any] = scores.by_plugin
        known = last.made_of if last is not None else {}
        #: What takes room here and nowhere else.
        self.n_bytes = 0
        self.by_plugin: dict[str, Any] = {}
        for plugin, own in scores.by_plugin.items():
            if known.get(plugin) is own and last is not None:
                self.by_plugin[plugin] = last.by_plugin[plugin]
            else:
                self.by_plugin[plugin] = self._compact(own)
        if last is not None:
            last.made_of = {}
        self.base, self.added = scores.base, scores.added
        self._totals: Any = None
        if self.base is None:
            self._totals = scores.totals if wide else scores.totals.astype(np.int32)
            self.n_bytes += int(self._totals.nbytes)

    def _compact(self, own: Any) -> CompactForm:
        compact: CompactForm = own.compacted()
        self.n_bytes += compact.n_bytes
        return compact

    @property
    def totals(self) -> Any:
        if self.base is None:
            return self._totals
        totals = self.base.array()
        for plugin in self.added:
            totals += self.by_plugin[plugin].weighted
        return totals


class CompactForm(Protocol):
    """One plugin's scores in little space: the framework's PluginScores, and what they take."""

    @property
    def raw(self) -> Any: ...

    @property
    def normalized(self) -> Any: ...

    @property
    def weighted(self) -> Any: ...

    @property
    def weight(self) -> int: ...

    @property
    def n_bytes(self) -> int:
        """What is here and nowhere else."""


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

    @property
    def n_bytes(self) -> int:
        return int(self.normalized.nbytes + self.raw.nbytes)


def _smallest_type(values: Any) -> Any:
    if not len(values):
        return np.int8
    return np.promote_types(np.min_scalar_type(int(values.min())), np.min_scalar_type(int(values.max())))


class Ring:
    """The latest records, as many as fit into *max_bytes*."""

    def __init__(self, max_bytes: int = 32 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._n_bytes = 0
        #: Each with what it took when it came.
        self._records: deque[tuple[Record, int]] = deque()
        #: How many records share it.
        self._bases: dict[Basis, int] = {}
        self._last: CompactScores | None = None
        #: How many records there have been, those that made room included.
        self.n_added = 0

    def add(self, record: Record) -> None:
        """Keep *record*, compacted; the oldest ones make room."""
        record.compact(self._last)
        if isinstance(record.scores, CompactScores):
            self._last = record.scores
        n_bytes = record.n_bytes
        self._records.append((record, n_bytes))
        self.n_added += 1
        self._n_bytes += n_bytes
        for basis in record.bases:
            n_sharing = self._bases.get(basis, 0)
            if not n_sharing:
                self._n_bytes += basis.n_bytes
            self._bases[basis] = n_sharing + 1
        while self._n_bytes > self._max_bytes and len(self._records) > 1:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        record, n_bytes = self._records.popleft()
        self._n_bytes -= n_bytes
        for basis in record.bases:
            n_sharing = self._bases[basis] - 1
            if n_sharing:
                self._bases[basis] = n_sharing
            else:
                self._n_bytes -= basis.n_bytes
                del self._bases[basis]

    def latest(self, pod_key: str) -> Record | None:
        return next(self.history(pod_key), None)

    def history(self, pod_key: str) -> Iterator[Record]:
        """The attempts at one pod, the latest first."""
        return (record for record, _ in reversed(self._records) if record.pod_key == pod_key)

    def since(self, n_seen: int) -> list[Record]:
        """What was added after the first *n_seen* records, as far as it is still there."""
        n_new = min(self.n_added - n_seen, len(self._records))
        return [self._records[position][0] for position in range(len(self._records) - n_new, len(self._records))]

    @property
    def n_bytes(self) -> int:
        return self._n_bytes

    def __iter__(self) -> Iterator[Record]:
        return (record for record, _ in self._records)

    def __len__(self) -> int:
        return len(self._records)
