"""Kept answers: what a plugin said is remembered by the pod's sign and refreshed for the rows that changed.

A plugin that declares `reads = NODE`, `RESOURCES` or `USAGE` promises that its answer about a node follows from
the pod's sign and that node alone (with its pods, for the latter two). So when a pod with an equal sign comes,
only the nodes that changed since are asked about again, through the same method on a smaller table. The result is
exactly that of asking about every node; tests/unit/cycle/test_kept.py holds it to that.

Answers are handed out and recorded, so a refreshed column is a new array: nobody's answer changes under them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import numpy as np

from bayplan.framework import (
    MAX_SCORE,
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


class _Kept(Generic[T]):
    """An answer about every node, and up to where of the change log it is right."""

    __slots__ = ("answer", "finished", "finished_for", "is_shelved", "log", "membership", "position", "reads")

    def __init__(self, reads: Reads, log: ChangeLog) -> None:
        self.reads = reads
        self.log = log
        self.answer: T | None = None
        #: That of the snapshot when the answer was given; none yet.
        self.membership = -1
        self.position = -1
        #: False when it had to make room: then nobody may fill it again.
        self.is_shelved = True
        #: Scores only: the answer normalised and weighed, for the table it was last asked for.
        self.finished: PluginScores | None = None
        self.finished_for: NodeTable | None = None

    def set(self, answer: T, membership: int) -> None:
        """The answer as of now."""
        self.answer, self.membership, self.position = answer, membership, self.log.position

    def stale_rows(self, n_nodes: int) -> IntArray | None:
        """The rows to ask about again; None if that is all of them: one node's change can be everybody's."""
        rows = self.log.since(self.position)
        if rows is None or len(rows) > n_nodes * REFRESH_SHARE:
            return None
        return None if self.reads is Reads.ALL_NODES else rows

    def drop(self) -> None:
        self.is_shelved = False
        self.answer = self.finished = self.finished_for = None
        self.membership = -1


class _Shelf(dict[Hashable, _Kept[T]]):
    """The kept answers of one plugin at one extension point; the oldest goes first."""

    def put(self, sign: Hashable, kept: _Kept[T]) -> None:
        self[sign] = kept
        if len(self) > MAX_KEPT:
            self.pop(next(iter(self))).drop()


class _Patch(NamedTuple):
    """Scores that differ from others in a few places."""

    old: PluginScores
    new: PluginScores
    positions: IntArray


class KeptAnswers:
    """Implements `framework.Answers` over a snapshot that tells which rows changed."""

    def __init__(self, caller: Caller, snapshot: CacheSnapshot) -> None:
        self._ask = AskAlways(caller)
        self._snapshot = snapshot
        #: By plugin. A template knows its own (`Template.kept`), so that signs are compared once per template.
        self._verdicts: dict[str, _Shelf[Verdict]] = {}
        self._scores: dict[str, _Shelf[IntArray]] = {}
        self._last_totals: ScoreOutcome | None = None
        #: Plugin → how its latest scores came from those before.
        self._patches: dict[str, _Patch] = {}
        #: The rows of a table that were asked about last, and the table of them.
        self._last_part: tuple[IntArray, NodeTable, NodeTable] | None = None
        #: A table that is not whole, and the position of each of its rows.
        self._placed: tuple[NodeTable, dict[int, int]] | None = None

    # --- verdicts ---------------------------------------------------------------------------------

    def verdict(self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status:
        kept = self._kept(self._verdicts, bound, state, pod)
        if isinstance(kept, Status):
            return kept
        if kept is None or not nodes.is_whole:
            return self._ask.verdict(bound, state, pod, nodes)
        membership = self._snapshot.membership
        if kept.answer is not None and kept.membership == membership:
            if kept.position == kept.log.position:
                return kept.answer
            rows = kept.stale_rows(len(nodes))
            if rows is not None:
                part = self._ask.verdict(bound, state, pod, self._part(nodes, rows))
                merged = _merged(kept.answer, part, rows) if isinstance(part, Verdict) else None
                if merged is not None:
                    kept.set(merged, membership)
                    return merged
        verdict = self._ask.verdict(bound, state, pod, nodes)
        if isinstance(verdict, Verdict):
            kept.set(verdict, membership)
        return verdict

    # --- scores -----------------------------------------------------------------------------------

    def scores(self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable) -> PluginScores | Status:
        kept = self._kept(self._scores, scorer.bound, state, pod)
        if isinstance(kept, Status):
            return score_failed(scorer.bound, kept)
        if kept is None:
            return self._ask.scores(scorer, state, pod, nodes)
        is_current = kept.position == kept.log.position and kept.membership == self._snapshot.membership
        if is_current and kept.finished is not None and kept.finished_for is nodes:
            return kept.finished
        raw = self._raw(kept, scorer, state, pod, nodes)
        if isinstance(raw, Status):
            return raw
        if kept.finished is not None and kept.finished_for is nodes:
            return kept.finished
        finished = self._ask.finish(scorer, state, pod, nodes, raw if nodes.is_whole else raw[nodes.rows])
        if isinstance(finished, PluginScores):
            kept.finished, kept.finished_for = finished, nodes
        return finished

    def _raw(
        self, kept: _Kept[IntArray], scorer: Scorer, state: CycleState, pod: Pod, feasible: NodeTable
    ) -> IntArray | Status:
        """The plugin's raw scores for every node, feasible or not."""
        nodes, membership = self._snapshot.nodes, self._snapshot.membership
        if kept.answer is not None and kept.membership == membership:
            if kept.position == kept.log.position:
                return kept.answer
            rows = kept.stale_rows(len(nodes))
            if rows is not None:
                part = self._ask.raw_scores(scorer.bound, state, pod, self._part(nodes, rows))
                if isinstance(part, Status):
                    return part
                kept.set(_with(kept.answer, rows, part), membership)
                kept.finished = self._patched(kept, scorer, feasible, rows, part)
                return kept.answer
        raw = self._ask.raw_scores(scorer.bound, state, pod, nodes)
        if not isinstance(raw, Status):
            kept.set(raw, membership)
            kept.finished = None
        return raw

    def _patched(
        self, kept: _Kept[IntArray], scorer: Scorer, feasible: NodeTable, rows: IntArray, part: IntArray
    ) -> PluginScores | None:
        """The finished scores with *part* at *rows*; None where they must be finished anew: normalising looks at
        all nodes."""
        old = kept.finished
        if old is None or kept.answer is None or kept.finished_for is not feasible or scorer.normalize is not None:
            return None
        raw = kept.answer
        if not feasible.is_whole:
            rows, part = self._in_table(feasible, rows, part)
            raw = _with(old.raw, rows, part)
        if len(part) and part.view(np.uint64).max() > MAX_SCORE:  # negative ones as well
            return None
        weighted = raw if scorer.weight == 1 else _with(old.weighted, rows, part * scorer.weight)
        new = PluginScores(raw, raw, weighted, scorer.weight)
        self._patches[scorer.bound.name] = _Patch(old, new, rows)
        return new

    def _in_table(self, table: NodeTable, rows: IntArray, part: IntArray) -> tuple[IntArray, IntArray]:
        """The rows that are in *table*, as positions there, and what *part* says of them."""
        if self._placed is None or self._placed[0] is not table:
            self._placed = table, {row: position for position, row in enumerate(table.rows.tolist())}
        positions = np.array([self._placed[1].get(row, -1) for row in rows.tolist()], dtype=np.int64)
        present = positions >= 0
        return positions[present], part[present]

    def totals(self, state: CycleState, nodes: NodeTable, by_plugin: Mapping[str, PluginScores]) -> IntArray:
        """The sum of the weighted scores; where few plugins changed theirs, theirs alone are exchanged."""
        last = self._last_totals
        totals: IntArray | None = None
        if last is not None and last.nodes is nodes and last.by_plugin.keys() == by_plugin.keys():
            totals = self._exchanged(last, by_plugin)
        if totals is None:
            totals = self._ask.totals(state, nodes, by_plugin)
        self._last_totals = ScoreOutcome(nodes, by_plugin, totals)
        return totals

    def _exchanged(self, last: ScoreOutcome, by_plugin: Mapping[str, PluginScores]) -> IntArray | None:
        """The last totals with what changed since; None if so much did that adding up is cheaper."""
        totals: IntArray | None = None
        for name, new in by_plugin.items():
            old = last.by_plugin[name]
            if old is new:
                continue
            patch = self._patches.get(name)
            if patch is None or patch.old is not old or patch.new is not new:
                return _exchange_whole(last, by_plugin)
            if totals is None:
                totals = last.totals.copy()
            positions = patch.positions
            totals[positions] += new.weighted[positions] - old.weighted[positions]
        return last.totals if totals is None else totals

    def _part(self, nodes: NodeTable, rows: IntArray) -> NodeTable:
        """The nodes at *rows*; several plugins are asked about the same ones."""
        if self._last_part is None or self._last_part[0] is not rows or self._last_part[1] is not nodes:
            self._last_part = rows, nodes, nodes.select(rows)
        return self._last_part[2]

    # ----------------------------------------------------------------------------------------------

    def _kept(
        self, shelves: dict[str, _Shelf[T]], bound: Bound, state: CycleState, pod: Pod
    ) -> _Kept[T] | Status | None:
        """Where the answer is kept; None if it must not be, a Status if the plugin cannot say."""
        template = state.template
        if template is None:
            return None
        if bound in template.kept:
            known: _Kept[T] | None = template.kept[bound]
            if known is None or known.is_shelved:
                return known
        try:
            sign = template.sign(bound, pod)
        except Exception as error:
            return Status.failed(f"sign: {type(error).__name__}: {error}")
        kept = template.kept[bound] = None if sign is None else self._shelved(shelves, bound, sign)
        return kept

    def _shelved(self, shelves: dict[str, _Shelf[T]], bound: Bound, sign: Hashable) -> _Kept[T]:
        shelf = shelves.setdefault(bound.name, _Shelf())
        kept = shelf.get(sign)
        if kept is None:
            reads = bound.plugin.reads
            kept = _Kept(reads, self._log(reads))
            shelf.put(sign, kept)
        return kept

    def _log(self, reads: Reads) -> ChangeLog:
        if reads is Reads.USAGE:
            return self._snapshot.usage_changes
        return self._snapshot.amount_changes if reads is Reads.RESOURCES else self._snapshot.node_changes


def _exchange_whole(last: ScoreOutcome, by_plugin: Mapping[str, PluginScores]) -> IntArray | None:
    """The last totals with the columns of plugins whose scores changed anywhere; None if most did."""
    changed = [(last.by_plugin[name], new) for name, new in by_plugin.items() if last.by_plugin[name] is not new]
    if 2 * len(changed) >= len(by_plugin):
        return None
    totals = last.totals
    for old, new in changed:
        totals = totals + (new.weighted - old.weighted)
    return totals


def _with(column: IntArray, positions: IntArray, values: IntArray) -> IntArray:
    """*column* with other values at *positions*; a new array, for the old one has been handed out."""
    changed = column.copy()
    changed[positions] = values
    return changed


def _merged(whole: Verdict, part: Verdict, rows: IntArray) -> Verdict | None:
    """*whole* with the answers of *part* at *rows*; None where *part* gives a reason that *whole* has not."""
    if whole.accepts_all and part.accepts_all:
        return whole
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
