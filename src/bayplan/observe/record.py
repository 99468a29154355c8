"""The record of a scheduling attempt: the verdicts and scores of every plugin for every node, and their times.

The scheduling cycle writes records. The pod's message, `bayplan explain`, the conformance check and the console
read them; nothing is recomputed. The latest records are stored in a `Ring`, which is bounded by size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

#: The size of a record without columns.
_OVERHEAD_BYTES: Final = 2048


class SharedStorage(Protocol):
    """Columns that several records share."""

    @property
    def n_bytes(self) -> int: ...


class FilterView(Protocol):
    """The result of Filter: the framework's FilterOutcome."""

    nodes: Any
    decided: Any
    overrides: Any

    @property
    def feasible(self) -> Any: ...

    @property
    def merged(self) -> SharedStorage | None:
        """The storage of the masks, if they are shared."""

    def status(self, position: int) -> Any | None:
        """Why the node at *position* was rejected; None if it passed."""


class ScoreView(Protocol):
    """The result of Score: the framework's ScoreOutcome, or a `CompactScores`."""

    @property
    def nodes(self) -> Any: ...

    @property
    def by_plugin(self) -> Mapping[str, Any]: ...

    @property
    def totals(self) -> Any: ...

    @property
    def base(self) -> Any | None:
        """A column that gives the totals when the scores of `added` are added; None if there is none."""

    @property
    def added(self) -> Sequence[str]: ...

    @property
    def shared_storage(self) -> SharedStorage | None:
        """The storage of the columns, if they are shared."""


class ExtenderAnswer(NamedTuple):
    """The response of one extender to one verb."""

    #: Its URL.
    extender: str
    #: filter, prioritize, preempt.
    verb: str
    seconds: float
    #: Empty if the request succeeded.
    error: str = ""
    #: Whether the error was ignored.
    ignored: bool = False
    #: filter: rejected node → reason.
    failed: Mapping[str, str] = {}
    #: prioritize: node → weighted score.
    scores: Mapping[str, int] = {}
    #: How many nodes, or candidates of preemption, were left.
    n_left: int = 0


class Footprint(NamedTuple):
    """The approximate memory of a record."""

    #: Without shared storage.
    n_bytes: int
    shared: Sequence[SharedStorage]


class AttemptMessage:
    """Why a pod has no node, or was not bound to it: the text of its condition.

    This may be known long after the attempt. What is on its way to a node has this part of the record alone, so
    that thousands of pods in flight do not keep as many columns of scores.
    """

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = ""


class Record:
    """One attempt to schedule one pod."""

    __slots__ = (
        "_start",
        "_step",
        "_step_start",
        "extenders",
        "filter",
        "late_message",
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
        self.late_message = AttemptMessage()
        self.filter: FilterView | None = None
        self.scores: ScoreView | None = None
        #: The details of preemption, if it ran.
        self.preemption: object | None = None
        #: The responses of extenders, in order.
        self.extenders: list[ExtenderAnswer] = []
        #: (extension point, seconds), in order.
        self.steps: list[tuple[str, float]] = []
        #: (plugin, extension point, seconds) of slow plugins.
        self.slow_calls: Sequence[tuple[str, str, float]] = ()
        self.seconds = 0.0
        self._step = ""
        self._start = self._step_start = perf_counter()

    @property
    def message(self) -> str:
        """Why there is no node, or why the pod was not bound to it: the text of the pod's condition."""
        return self.late_message.text

    @message.setter
    def message(self, text: str) -> None:
        self.late_message.text = text

    @property
    def age_seconds(self) -> float:
        """How long ago the attempt began."""
        return perf_counter() - self._start

    def start(self, name: str) -> None:
        """Start the step *name*, and end the one before it."""
        now = perf_counter()
        if self._step:
            self.steps.append((self._step, now - self._step_start))
        self._step, self._step_start = name, now

    def finish(self) -> None:
        """End the last step and the attempt."""
        now = perf_counter()
        if self._step:
            self.steps.append((self._step, now - self._step_start))
        self.seconds = now - self._start

    def compact(self, last: CompactScores | None = None) -> None:
        """Store the same facts in less space; columns that are those of *last* are shared with it."""
        if self.scores is not None and not isinstance(self.scores, CompactScores):
            self.scores = CompactScores(self.scores, last, wide=bool(self.extenders))

    def footprint(self) -> Footprint:
        n_bytes = _OVERHEAD_BYTES
        shared: list[SharedStorage] = []
        outcome, scores = self.filter, self.scores
        if outcome is not None:
            if outcome.merged is not None:
                shared.append(outcome.merged)
            else:
                # The verdicts' own masks are of the same size.
                n_bytes += 2 * (1 + len(outcome.decided)) * len(outcome.nodes)
        if scores is not None:
            if isinstance(scores, CompactScores):
                n_bytes += scores.n_bytes
            if scores.shared_storage is not None:
                shared.append(scores.shared_storage)
        return Footprint(n_bytes, shared)

    def describe_steps(self) -> str:
        steps = " ".join(f"{name}={seconds * 1000:.1f}ms" for name, seconds in self.steps)
        slow = "".join(f" slow={plugin}/{point}" for plugin, point, _ in self.slow_calls)
        return f"total={self.seconds * 1000:.1f}ms {steps}{slow}"


class CompactScores:
    """The scores of an attempt in little space, with the attributes of the framework's ScoreOutcome."""

    __slots__ = ("_sources", "_totals", "added", "base", "by_plugin", "n_bytes", "nodes", "shared_storage")

    def __init__(self, scores: ScoreView, last: CompactScores | None = None, *, wide: bool = False) -> None:
        """*wide*: the totals may exceed 32 bits, because extenders' scores have no bounds."""
        self.nodes = scores.nodes
        self.shared_storage = scores.shared_storage
        #: The original scores, until the next record was compared with them.
        self._sources: Mapping[str, Any] = scores.by_plugin
        known = last._sources if last is not None else {}
        #: The bytes of this record alone.
        self.n_bytes = 0
        self.by_plugin: dict[str, Any] = {}
        for plugin, own in scores.by_plugin.items():
            if known.get(plugin) is own and last is not None:
                self.by_plugin[plugin] = last.by_plugin[plugin]
            else:
                compact: CompactForm = own.compacted()
                self.n_bytes += compact.n_bytes
                self.by_plugin[plugin] = compact
        if last is not None:
            last._sources = {}
        self.base, self.added = scores.base, scores.added
        self._totals: Any = None
        if self.base is None:
            self._totals = scores.totals if wide else scores.totals.astype(np.int32)
            self.n_bytes += int(self._totals.nbytes)

    @property
    def totals(self) -> Any:
        if self.base is None:
            return self._totals
        totals = self.base.array()
        for plugin in self.added:
            totals += self.by_plugin[plugin].weighted
        return totals


class CompactForm(Protocol):
    """One plugin's scores in little space, with the attributes of the framework's PluginScores."""

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
        """Without shared storage."""


class CompactPluginScores:
    """One plugin's scores: the raw ones in the smallest type that fits, the normalized ones in a byte each."""

    __slots__ = ("n_bytes", "normalized", "raw", "weight")

    def __init__(self, raw: Any, normalized: Any, weight: int) -> None:
        self.normalized = normalized.astype(np.uint8)
        if raw is normalized:
            self.raw = self.normalized
        elif len(raw):
            lowest, highest = np.min_scalar_type(int(raw.min())), np.min_scalar_type(int(raw.max()))
            self.raw = raw.astype(np.promote_types(lowest, highest))
        else:
            self.raw = raw.astype(np.int8)
        self.weight = weight
        self.n_bytes = int(self.normalized.nbytes + self.raw.nbytes)

    @property
    def weighted(self) -> Any:
        return self.normalized.astype(np.int64) * self.weight


class Ring:
    """The latest records, as many as fit into *max_bytes*."""

    def __init__(self, max_bytes: int = 32 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._n_bytes = 0
        #: Each with its footprint when it was added, and the number of the record before it of the same pod.
        self._records: deque[tuple[Record, Footprint, int]] = deque()
        #: Storage → how many records share it.
        self._n_sharing: dict[SharedStorage, int] = {}
        self._last: CompactScores | None = None
        #: Pod key → the number of its latest record, counted from the first one ever added.
        self._latest: dict[str, int] = {}
        #: How many records have been added, dropped ones included.
        self.n_added = 0

    def add(self, record: Record) -> None:
        """Add *record*, compacted; drop the oldest ones if there is no space."""
        record.compact(self._last)
        if isinstance(record.scores, CompactScores):
            self._last = record.scores
        footprint = record.footprint()
        self._records.append((record, footprint, self._latest.get(record.pod_key, -1)))
        self._latest[record.pod_key] = self.n_added
        self.n_added += 1
        self._n_bytes += footprint.n_bytes
        for storage in footprint.shared:
            n_sharing = self._n_sharing.get(storage, 0)
            if not n_sharing:
                self._n_bytes += storage.n_bytes
            self._n_sharing[storage] = n_sharing + 1
        while self._n_bytes > self._max_bytes and len(self._records) > 1:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        number = self.n_added - len(self._records)
        record, footprint, _ = self._records.popleft()
        if self._latest[record.pod_key] == number:
            del self._latest[record.pod_key]
        self._n_bytes -= footprint.n_bytes
        for storage in footprint.shared:
            n_sharing = self._n_sharing[storage] - 1
            if n_sharing:
                self._n_sharing[storage] = n_sharing
            else:
                self._n_bytes -= storage.n_bytes
                del self._n_sharing[storage]

    def latest(self, pod_key: str) -> Record | None:
        return next(self.history(pod_key), None)

    def history(self, pod_key: str) -> Iterator[Record]:
        """The attempts at one pod, the latest first; found without looking through those at others."""
        number = self._latest.get(pod_key, -1)
        while number >= self.n_added - len(self._records):
            record, _, number = self._records[number - self.n_added]
            yield record

    def since(self, n_seen: int) -> list[Record]:
        """The records added after the first *n_seen*, without those that were dropped."""
        n_new = min(self.n_added - n_seen, len(self._records))
        return [self._records[position][0] for position in range(len(self._records) - n_new, len(self._records))]

    @property
    def n_bytes(self) -> int:
        return self._n_bytes

    def __iter__(self) -> Iterator[Record]:
        return (record for record, _, _ in self._records)

    def __len__(self) -> int:
        return len(self._records)
