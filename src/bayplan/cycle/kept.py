"""Kept answers: what a plugin said is remembered by the pod's sign and refreshed for the rows that changed.

A plugin that declares `reads = NODE`, `RESOURCES` or `USAGE` promises that its answer about a node follows from
the pod's sign and that node alone (with its pods, for the latter two). So when a pod with an equal sign comes,
only the nodes that changed since are asked about again, through the same method on a smaller table. The result is
exactly that of asking about every node; tests/unit/cycle/test_kept.py holds it to that.

Answers are handed out and recorded, so a refreshed column is a new array: nobody's answer changes under them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from bayplan.framework import (
    AskAlways,
    Bound,
    Caller,
    CycleState,
    IntArray,
    NodeTable,
    PluginScores,
    Reads,
    Rejection,
    ScoreOutcome,
    Scorer,
    Status,
    Verdict,
)
from bayplan.framework.answers import score_failed

if TYPE_CHECKING:
    from bayplan.cache.changes import ChangeLog
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.model import Pod

T = TypeVar("T")

#: Answers kept per plugin and extension point; a column of 5,000 int64 is 40 kB.
MAX_KEPT: Final = 512
#: When more than this share of the rows changed, asking about all of them is cheaper.
REFRESH_SHARE: Final = 0.25
#: These answers change when pods come and go.
_OF_PODS: Final = (Reads.USAGE, Reads.RESOURCES)


class _Kept(Generic[T]):
    """An answer about every node, and up to where of the change log it is right."""

    __slots__ = ("answer", "finished", "finished_for", "membership", "position")

    def __init__(self, answer: T, membership: int, position: int) -> None:
        self.answer = answer
        self.membership = membership
        self.position = position
        #: Scores only: the answer normalised and weighed, for the table it was last asked for.
        self.finished: PluginScores | None = None
        self.finished_for: NodeTable | None = None


class _Shelf(OrderedDict[Hashable, _Kept[T]]):
    """The kept answers of one plugin at one extension point; the one not used the longest goes first."""

    def use(self, sign: Hashable) -> _Kept[T] | None:
        kept = self.get(sign)
        if kept is not None:
            self.move_to_end(sign)
        return kept

    def put(self, sign: Hashable, kept: _Kept[T]) -> None:
        self[sign] = kept
        if len(self) > MAX_KEPT:
            self.popitem(last=False)


class KeptAnswers:
    """Implements `framework.Answers` over a snapshot that tells which rows changed."""

    def __init__(self, caller: Caller, snapshot: CacheSnapshot) -> None:
        self._ask = AskAlways(caller)
        self._snapshot = snapshot
        self._verdicts: dict[str, _Shelf[Verdict]] = {}
        self._scores: dict[str, _Shelf[IntArray]] = {}
        self._last_totals: ScoreOutcome | None = None

    # --- verdicts ---------------------------------------------------------------------------------

    def verdict(self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status:
        sign = _sign(bound, state, pod)
        if isinstance(sign, Status):
            return sign
        if sign is None or not nodes.is_whole:
            return self._ask.verdict(bound, state, pod, nodes)
        log = self._log(bound.plugin.reads)
        shelf = self._verdicts.setdefault(bound.name, _Shelf())
        kept = shelf.use(sign)
        if kept is not None and kept.membership == self._snapshot.membership:
            if kept.position == log.position:
                return kept.answer
            rows = self._stale_rows(kept.position, log, bound.plugin.reads, len(nodes))
            if rows is not None:
                part = self._ask.verdict(bound, state, pod, nodes.select(rows))
                merged = _merged(kept.answer, part, rows) if isinstance(part, Verdict) else None
                if merged is not None:
                    kept.answer, kept.position = merged, log.position
                    return merged
        verdict = self._ask.verdict(bound, state, pod, nodes)
        if isinstance(verdict, Verdict):
            shelf.put(sign, _Kept(verdict, self._snapshot.membership, log.position))
        return verdict

    # --- scores -----------------------------------------------------------------------------------

    def scores(self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable) -> PluginScores | Status:
        sign = _sign(scorer.bound, state, pod)
        if isinstance(sign, Status):
            return score_failed(scorer.bound, sign)
        if sign is None:
            return self._ask.scores(scorer, state, pod, nodes)
        kept = self._raw(scorer.bound, sign, state, pod)
        if isinstance(kept, Status):
            return kept
        if kept.finished is not None and kept.finished_for is nodes:
            return kept.finished
        raw = kept.answer if nodes.is_whole else kept.answer[nodes.rows]
        finished = self._ask.finish(scorer, state, pod, nodes, raw)
        if isinstance(finished, PluginScores):
            kept.finished, kept.finished_for = finished, nodes
        return finished

    def _raw(self, bound: Bound, sign: Hashable, state: CycleState, pod: Pod) -> _Kept[IntArray] | Status:
        """The plugin's raw scores for every node, feasible or not."""
        nodes = self._snapshot.nodes
        log = self._log(bound.plugin.reads)
        shelf = self._scores.setdefault(bound.name, _Shelf())
        kept = shelf.use(sign)
        if kept is not None and kept.membership == self._snapshot.membership:
            if kept.position == log.position:
                return kept
            rows = self._stale_rows(kept.position, log, bound.plugin.reads, len(nodes))
            if rows is not None:
                part = self._ask.raw_scores(bound, state, pod, nodes.select(rows))
                if isinstance(part, Status):
                    return part
                return self._refresh(kept, rows, part, log.position)
        raw = self._ask.raw_scores(bound, state, pod, nodes)
        if isinstance(raw, Status):
            return raw
        kept = _Kept(raw, self._snapshot.membership, log.position)
        shelf.put(sign, kept)
        return kept

    @staticmethod
    def _refresh(kept: _Kept[IntArray], rows: IntArray, part: IntArray, position: int) -> _Kept[IntArray]:
        answer = kept.answer.copy()
        answer[rows] = part
        kept.answer, kept.position, kept.finished = answer, position, None
        return kept

    def totals(self, state: CycleState, nodes: NodeTable, by_plugin: Mapping[str, PluginScores]) -> IntArray:
        """The sum of the weighted scores; where few plugins changed theirs, theirs alone are exchanged."""
        last = self._last_totals
        if last is None or last.nodes is not nodes or last.by_plugin.keys() != by_plugin.keys():
            totals = self._ask.totals(state, nodes, by_plugin)
        else:
            changed = [name for name, scores in by_plugin.items() if last.by_plugin[name] is not scores]
            if 2 * len(changed) >= len(by_plugin):
                totals = self._ask.totals(state, nodes, by_plugin)
            else:
                totals = last.totals
                for name in changed:
                    totals = totals + (by_plugin[name].weighted - last.by_plugin[name].weighted)
        self._last_totals = ScoreOutcome(nodes, by_plugin, totals)
        return totals

    # ----------------------------------------------------------------------------------------------

    def _log(self, reads: Reads) -> ChangeLog:
        return self._snapshot.usage_changes if reads in _OF_PODS else self._snapshot.node_changes

    @staticmethod
    def _stale_rows(position: int, log: ChangeLog, reads: Reads, n_nodes: int) -> IntArray | None:
        """The rows to ask about again; None if that is all of them: one node's change can be everybody's."""
        rows = log.since(position)
        if rows is None or len(rows) > n_nodes * REFRESH_SHARE:
            return None
        return None if reads is Reads.ALL_NODES else rows


def _sign(bound: Bound, state: CycleState, pod: Pod) -> Hashable | Status | None:
    """What to remember the answer by; None if it must not be remembered, a Status if the plugin cannot say."""
    if state.template is None:
        return None
    try:
        return state.template.sign(bound, pod)
    except Exception as error:
        return Status.failed(f"sign: {type(error).__name__}: {error}")


def _merged(whole: Verdict, part: Verdict, rows: IntArray) -> Verdict | None:
    """*whole* with the answers of *part* at *rows*; None where *part* gives a reason that *whole* has not."""
    fresh = {(rejection.reason, rejection.code): rejection.where for rejection in part.rejections}
    if whole.statuses or part.statuses or not fresh.keys() <= {(r.reason, r.code) for r in whole.rejections}:
        return None
    rejections = []
    for where, reason, code in whole.rejections:
        answers = fresh.get((reason, code), False)
        if (where[rows] != answers).any():
            where = where.copy()
            where[rows] = answers
        rejections.append(Rejection(where, reason, code))
    return Verdict(whole.n_nodes, tuple(rejections))
