"""Kept answers: what a plugin said is remembered by the pod's sign and refreshed for the rows that changed.

A plugin that declares `reads = NODE`, `RESOURCES` or `USAGE` promises that its answer about a node follows from
the pod's sign and that node alone (with its pods, for the latter two). So when a pod with an equal sign comes,
only the nodes that changed since are asked about again, through the same method on a smaller table. The result is
exactly that of asking about every node; tests/unit/cycle/test_kept.py holds it to that.

Answers are handed out and recorded, so a refreshed verdict is a new one, and scores are handed out as editions of
a column (`framework.editions`): nobody's answer changes under them. Totals are kept on boards (`board`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from bayplan.cycle.board import FEW, Board, EvenScores, FixedScores, KeptScores, Level, MovingScores
from bayplan.framework import (
    MAX_SCORE,
    AskAlways,
    Bound,
    Caller,
    ClassScores,
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
from bayplan.framework.answers import ask_each, score_failed
from bayplan.framework.editions import LiveColumn, SelectedEdition
from bayplan.framework.verdict import ScoreArray, are_within

if TYPE_CHECKING:
    from bayplan.cache.changes import ChangeLog
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.framework.templates import Template
    from bayplan.model import Pod

T = TypeVar("T")

#: Answers kept per plugin and extension point; a column of 5,000 int64 is 40 kB.
MAX_KEPT: Final = 512
#: Signs that came once, per plugin and extension point: a sign is a few hundred bytes.
MAX_NOTICED: Final = 4096


class _Kept(Generic[T]):
    """An answer about every node, and up to where of the change log it is right."""

    __slots__ = (
        "answer",
        "finished",
        "finished_for",
        "is_even",
        "is_in_range",
        "is_moving",
        "is_shelved",
        "level",
        "log",
        "membership",
        "position",
        "reads",
    )

    def __init__(self, reads: Reads, log: ChangeLog) -> None:
        self.reads = reads
        #: Whether it changes with the pods on a node, and so between almost any two pods.
        self.is_moving = reads is Reads.RESOURCES or reads is Reads.USAGE
        self.log = log
        self.answer: T | None = None
        #: That of the snapshot when the answer was given; none yet.
        self.membership = -1
        self.position = -1
        #: False when it had to make room: then nobody may fill it again.
        self.is_shelved = True
        #: Scores only: whether all of them are such as a plugin may give without normalising.
        self.is_in_range = False
        #: What every score is, and comes to, in any table of nodes; None if that is not known. A column that was
        #: looked at in vain is not looked at again: `is_even` is False then.
        self.level: Level | None = None
        self.is_even = not self.is_moving
        #: The answer normalised and weighed, for the table it was last asked for.
        self.finished: PluginScores | None = None
        self.finished_for: NodeTable | None = None

    def set(self, answer: T, membership: int) -> None:
        """The answer as of now."""
        self.answer, self.membership, self.position = answer, membership, self.log.position
        self.finished = self.level = None
        self.is_even = not self.is_moving

    def stale_rows(self, n_nodes: int) -> IntArray | None:
        """The rows to ask about again; None if that is all of them: one node's change can be everybody's."""
        return None if self.reads is Reads.ALL_NODES else self.log.few_since(self.position, n_nodes)

    def drop(self) -> None:
        self.is_shelved = False
        self.answer = self.finished = self.finished_for = self.level = None
        self.membership = -1


class _Shelf(dict[Hashable, _Kept[T]]):
    """The kept answers of one plugin at one extension point; the oldest goes first."""

    def __init__(self) -> None:
        super().__init__()
        self._noticed: dict[Hashable, None] = {}

    def comes_again(self, sign: Hashable) -> bool:
        """Whether the sign came before; many come once, and what is kept for them is kept in vain."""
        if sign in self._noticed:
            return True
        self._noticed[sign] = None
        if len(self._noticed) > MAX_NOTICED:
            del self._noticed[next(iter(self._noticed))]
        return False

    def put(self, sign: Hashable, kept: _Kept[T]) -> None:
        self[sign] = kept
        if len(self) > MAX_KEPT:
            self.pop(next(iter(self))).drop()


class _Standing:
    """What stands for the pods of a template as long as no node object changes: then nobody need be asked."""

    __slots__ = ("accepting", "membership", "position")

    def __init__(self, membership: int, position: int) -> None:
        self.membership = membership
        #: In the log of node objects.
        self.position = position
        #: Filter plugins whose verdict accepts every node.
        self.accepting: set[str] = set()


class KeptAnswers:
    """Implements `framework.Answers` over a snapshot that tells which rows changed."""

    def __init__(self, caller: Caller, snapshot: CacheSnapshot) -> None:
        self._ask = AskAlways(caller)
        self._snapshot = snapshot
        #: By plugin. A template knows its own (`Template.kept`), so that signs are compared once per template.
        self._verdicts: dict[str, _Shelf[Verdict]] = {}
        self._scores: dict[str, _Shelf[LiveColumn]] = {}
        #: By the keys of the scores that are added up on it.
        self._boards: dict[tuple[Hashable, ...], Board] = {}
        #: The rows of a table that were asked about last, and the table of them.
        self._last_part: tuple[IntArray, NodeTable, NodeTable] | None = None

    def _standing(self, template: Template) -> _Standing:
        snapshot = self._snapshot
        standing: _Standing | None = template.standing
        membership, position = snapshot.membership, snapshot.node_changes.position
        if standing is None or standing.position != position or standing.membership != membership:
            standing = template.standing = _Standing(membership, position)
        return standing

    # --- verdicts ---------------------------------------------------------------------------------

    def accepting(self, state: CycleState, nodes: NodeTable) -> Set[str]:
        template = state.template
        if template is None or not (template.is_common and nodes.is_whole):
            return frozenset()
        return self._standing(template).accepting

    def verdict(self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status:
        kept = self._kept(self._verdicts, bound, state, pod)
        if isinstance(kept, Status):
            return kept
        if kept is None or not nodes.is_whole:
            return self._ask.verdict(bound, state, pod, nodes)
        verdict = self._whole_verdict(kept, bound, state, pod, nodes)
        is_standing = not kept.is_moving and isinstance(verdict, Verdict) and verdict.accepts_all
        if is_standing and (template := state.template) is not None and template.is_common:
            self._standing(template).accepting.add(bound.name)
        return verdict

    def _whole_verdict(
        self, kept: _Kept[Verdict], bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable
    ) -> Verdict | Status:
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

    def score(
        self, scorers: Sequence[Scorer], state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreOutcome | Status:
        by_plugin = ask_each(self._plugin_scores, scorers, state, pod, nodes)
        return by_plugin if isinstance(by_plugin, Status) else self._outcome(nodes, by_plugin)

    def _plugin_scores(
        self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable
    ) -> PluginScores | Status:
        kept = self._kept(self._scores, scorer.bound, state, pod)
        if isinstance(kept, Status):
            return score_failed(scorer.bound, kept)
        if kept is None:
            return self._ask.scores(scorer, state, pod, nodes)
        column = kept.answer
        if column is None or kept.position != kept.log.position or kept.membership != self._snapshot.membership:
            fresh = self._column(kept, scorer.bound, state, pod)
            if isinstance(fresh, Status):
                return fresh
            column = fresh
        if kept.finished is None or kept.finished_for is not nodes:
            finished = self._finished(kept, column, scorer, state, pod, nodes)
            if isinstance(finished, Status):
                return finished
            kept.finished, kept.finished_for = finished, nodes
        return kept.finished

    def _column(self, kept: _Kept[LiveColumn], bound: Bound, state: CycleState, pod: Pod) -> LiveColumn | Status:
        """The plugin's raw scores for every node, feasible or not."""
        nodes, membership = self._snapshot.nodes, self._snapshot.membership
        if kept.answer is not None and kept.membership == membership:
            rows = kept.stale_rows(len(nodes))
            if rows is not None:
                part = self._ask.raw_scores(bound, state, pod, self._part(nodes, rows))
                if isinstance(part, Status):
                    return part
                if isinstance(part, ClassScores):
                    part = part.at_nodes()
                column, finished = kept.answer, kept.finished
                kept.set(column, membership)
                if not kept.is_moving and np.array_equal(column.data[rows], part):
                    kept.finished = finished  # the nodes changed in something else
                else:
                    column.change(rows, part)
                    kept.is_in_range = kept.is_in_range and _are_in_range(part)
                return column
        raw = self._ask.raw_scores(bound, state, pod, nodes)
        if isinstance(raw, Status):
            return raw
        raw = raw.at_nodes() if isinstance(raw, ClassScores) else raw.astype(np.int64)
        kept.is_in_range = _are_in_range(raw)
        column = LiveColumn(raw)
        kept.set(column, membership)
        return column

    def _finished(
        self,
        kept: _Kept[LiveColumn],
        column: LiveColumn,
        scorer: Scorer,
        state: CycleState,
        pod: Pod,
        nodes: NodeTable,
    ) -> PluginScores | Status:
        if kept.level is not None:
            return EvenScores(kept, kept.level, len(nodes))
        if kept.is_even:
            kept.is_even = scorer.is_even and _are_even(column.data)
        if kept.is_in_range and scorer.normalize is None and not kept.is_even:
            return MovingScores(kept, column, nodes, scorer.weight, kept.log)
        raw = column.data.copy() if nodes.is_whole else column.data.take(nodes.rows)
        finished = self._ask.finish(scorer, state, pod, nodes, raw)
        if kept.is_moving or isinstance(finished, Status):
            return finished
        if not (kept.is_even and len(nodes)):
            return FixedScores(kept, finished)
        kept.level = Level.of(finished)
        return EvenScores(kept, kept.level, len(nodes))

    def _outcome(self, nodes: NodeTable, by_plugin: Mapping[str, PluginScores]) -> ScoreOutcome:
        """The sum of the weighted scores; that of kept ones is kept too."""
        kept: list[KeptScores] = []
        others: list[str] = []
        # Scores that do not depend on which other nodes there are have one board for all tables.
        are_free = True
        for plugin, own in by_plugin.items():
            if type(own) is MovingScores or type(own) is EvenScores:  # quicker than isinstance
                kept.append(own)
            elif type(own) is FixedScores:
                kept.append(own)
                are_free = False
            else:
                others.append(plugin)
        if not kept:
            return self._ask.outcome(nodes, by_plugin)
        where = nodes.where if are_free else None
        table = nodes if where is None else self._snapshot.nodes
        board = self._board(table, kept)
        base = board.totals.edition if where is None else SelectedEdition(board.totals.edition, nodes)
        if others:
            ground: IntArray | int | None = board.level
            if ground is None:
                ground = board.totals.data if where is None else board.totals.data.take(nodes.rows)
            totals = _sum(ground, [by_plugin[plugin] for plugin in others])
            return ScoreOutcome(nodes, by_plugin, totals, base=base, added=others, basis=board.basis)
        best = board.leaders.positions() if where is None else board.best_of(where)
        return ScoreOutcome(nodes, by_plugin, base, best=best, best_of=table, base=base, basis=board.basis)

    def _board(self, nodes: NodeTable, scores: Sequence[KeptScores]) -> Board:
        key = tuple([own.key for own in scores])
        board = self._boards.get(key)
        if board is None or not board.is_of(nodes, scores) or not board.refresh():
            board = self._boards[key] = Board(nodes, scores)
            if len(self._boards) > MAX_KEPT:
                del self._boards[next(iter(self._boards))]
        return board

    def _part(self, nodes: NodeTable, rows: IntArray) -> NodeTable:
        """The nodes at *rows*; several plugins are asked about the same ones."""
        if self._last_part is None or self._last_part[0] is not rows or self._last_part[1] is not nodes:
            self._last_part = rows, nodes, nodes.select(rows)
        return self._last_part[2]

    # ----------------------------------------------------------------------------------------------

    def _kept(
        self, shelves: dict[str, _Shelf[T]], bound: Bound, state: CycleState, pod: Pod
    ) -> _Kept[T] | Status | None:
        """Where the answer is kept; None if it must not be, or not yet; a Status if the plugin cannot say."""
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
        if sign is None:
            template.kept[bound] = None
            return None
        kept = self._shelved(shelves, bound, sign)
        if kept is not None:
            template.kept[bound] = kept
        return kept

    def _shelved(self, shelves: dict[str, _Shelf[T]], bound: Bound, sign: Hashable) -> _Kept[T] | None:
        shelf = shelves.get(bound.name)
        if shelf is None:
            shelf = shelves[bound.name] = _Shelf()
        kept = shelf.get(sign)
        if kept is None and shelf.comes_again(sign):
            reads = bound.plugin.reads
            kept = _Kept(reads, self._log(reads))
            shelf.put(sign, kept)
        return kept

    def _log(self, reads: Reads) -> ChangeLog:
        if reads is Reads.USAGE:
            return self._snapshot.usage_changes
        return self._snapshot.amount_changes if reads is Reads.RESOURCES else self._snapshot.node_changes


def _are_in_range(scores: ScoreArray) -> bool:
    if len(scores) <= FEW:
        return all(0 <= score <= MAX_SCORE for score in scores.tolist())
    return are_within(scores, MAX_SCORE)


def _are_even(scores: IntArray) -> bool:
    return bool((scores == scores[:1]).all())


def _sum(base: IntArray | int, others: Sequence[PluginScores]) -> ScoreArray:
    totals = others[0].weighted
    for own in others[1:]:
        totals = totals + own.weighted
    return totals + base


def _merged(whole: Verdict, part: Verdict, rows: IntArray) -> Verdict | None:
    """*whole* with the answers of *part* at *rows*; None where *part* gives a reason that *whole* has not."""
    if whole.accepts_all and part.accepts_all:
        return whole
    fresh = {(rejection.reason, rejection.code): rejection.where for rejection in part.rejections}
    if whole.statuses or part.statuses or not fresh.keys() <= {(r.reason, r.code) for r in whole.rejections}:
        return None
    rejections = []
    is_same = True
    for where, reason, code in whole.rejections:
        answers = fresh.get((reason, code), False)
        if (where[rows] != answers).any():
            where = where.copy()
            where[rows] = answers
            is_same = False
        rejections.append(Rejection(where, reason, code))
    return whole if is_same else Verdict(whole.n_nodes, tuple(rejections))
