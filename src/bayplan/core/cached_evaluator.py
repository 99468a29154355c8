"""CachedEvaluator: caches plugins' verdicts and scores by the pod's signature, and refreshes changed rows only.

A plugin that declares `reads = NODE`, `RESOURCES` or `USAGE` guarantees that its result for a node depends on
nothing but the pod's signature and that node (with its pods, for the latter two). So for a pod with an equal
signature it is called again only for the nodes that changed since, with a smaller table. The result is exactly
that of evaluating every node, which tests/unit/core/test_cached_evaluator.py verifies.

Results are returned and recorded, so they must not change later: a refreshed verdict is a new object, and scores
are returned as versions of a column (`framework.evaluator`). Totals are in `running_totals`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from bayplan.core.running_totals import (
    FEW,
    CachedScores,
    ConstantScore,
    ConstantScores,
    NodeScores,
    RunningTotals,
    UsageScores,
)
from bayplan.framework import (
    MAX_SCORE,
    ClassScores,
    CycleState,
    DirectEvaluator,
    IntArray,
    NodeTable,
    PluginCaller,
    PluginMethod,
    PluginScores,
    Reads,
    Rejection,
    ScoreOutcome,
    Scorer,
    Status,
    Verdict,
)
from bayplan.framework.calls import contain
from bayplan.framework.evaluator import ColumnVersionView, VersionedColumn, score_failed
from bayplan.framework.verdict import ScoreArray, are_within

if TYPE_CHECKING:
    from bayplan.cache import CacheSnapshot
    from bayplan.cache.node_store import ChangeLog
    from bayplan.framework.state import EquivalenceClass
    from bayplan.model import Pod

T = TypeVar("T")

#: Cached columns per plugin and extension point; a column of 5,000 int64 is 40 kB.
MAX_COLUMNS: Final = 512
#: Signatures seen once, per plugin and extension point; a signature is a few hundred bytes.
MAX_SEEN: Final = 4096


class CachedColumn(Generic[T]):
    """The verdict or the scores of one signature for every node, valid up to a position of a change log."""

    __slots__ = (
        "changes_with_pods",
        "constant",
        "finished",
        "finished_for",
        "is_cached",
        "is_in_range",
        "log",
        "may_be_constant",
        "node_set_version",
        "position",
        "reads",
        "value",
    )

    def __init__(self, reads: Reads, log: ChangeLog) -> None:
        self.reads = reads
        #: Whether it changes with the pods on a node, and so between almost any two pods.
        self.changes_with_pods = reads is Reads.RESOURCES or reads is Reads.USAGE
        self.log = log
        #: None until the plugin was called.
        self.value: T | None = None
        #: That of the snapshot when the value was computed; −1 for no value.
        self.node_set_version = -1
        self.position = -1
        #: False once it was dropped to make room: then it must not be filled again.
        self.is_cached = True
        #: Scores only: whether all of them are valid without normalizing.
        self.is_in_range = False
        #: The score of every node, in any table of nodes; None if it is not known to be constant. After a check
        #: that failed `may_be_constant` is False, so that the column is not checked again.
        self.constant: ConstantScore | None = None
        self.may_be_constant = not self.changes_with_pods
        #: The scores normalized and weighted, for the last table of nodes.
        self.finished: PluginScores | None = None
        self.finished_for: NodeTable | None = None

    def set(self, value: T, node_set_version: int) -> None:
        """Store *value*, computed now."""
        self.value, self.node_set_version, self.position = value, node_set_version, self.log.position
        self.finished = self.constant = None
        self.may_be_constant = not self.changes_with_pods

    def stale_rows(self, n_nodes: int) -> IntArray | None:
        """The rows to compute again; None for all of them, as where a change of one node may affect every node."""
        return None if self.reads is Reads.ALL_NODES else self.log.few_since(self.position, n_nodes)

    def drop(self) -> None:
        self.is_cached = False
        self.value = self.finished = self.finished_for = self.constant = None
        self.node_set_version = -1


class SignatureCache(dict[Hashable, CachedColumn[T]]):
    """The cached columns of one plugin at one extension point, by signature; the oldest is dropped first."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[Hashable, None] = {}

    def is_repeated(self, signature: Hashable) -> bool:
        """Whether the signature was seen before. Many come only once, and are not worth a column."""
        if signature in self._seen:
            return True
        self._seen[signature] = None
        if len(self._seen) > MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        return False

    def put(self, signature: Hashable, column: CachedColumn[T]) -> None:
        self[signature] = column
        if len(self) > MAX_COLUMNS:
            self.pop(next(iter(self))).drop()


class AcceptAllCache:
    """The Filter plugins that accept every node for one equivalence class, as long as no node object changes."""

    __slots__ = ("node_set_version", "plugins", "position")

    def __init__(self, node_set_version: int, position: int) -> None:
        self.node_set_version = node_set_version
        #: In the log of node objects.
        self.position = position
        self.plugins: set[str] = set()


class CachedEvaluator:
    """Implements `framework.Evaluator` over a snapshot with change logs."""

    def __init__(self, caller: PluginCaller, snapshot: CacheSnapshot) -> None:
        self._direct = DirectEvaluator(caller)
        self._snapshot = snapshot
        #: By plugin. An equivalence class refers to its own columns (`EquivalenceClass.cached`), so signatures are
        #: compared once per class.
        self._verdicts: dict[str, SignatureCache[Verdict]] = {}
        self._scores: dict[str, SignatureCache[VersionedColumn]] = {}
        #: By the keys of the scores that are added up.
        self._totals: dict[tuple[Hashable, ...], RunningTotals] = {}
        #: The last rows and table given to `_table_of`, and its result.
        self._last_table: tuple[IntArray, NodeTable, NodeTable] | None = None

    def _accept_all(self, pod_class: EquivalenceClass) -> AcceptAllCache:
        snapshot = self._snapshot
        cache: AcceptAllCache | None = pod_class.accept_all
        node_set_version, position = snapshot.node_set_version, snapshot.node_changes.position
        if cache is None or cache.position != position or cache.node_set_version != node_set_version:
            cache = pod_class.accept_all = AcceptAllCache(node_set_version, position)
        return cache

    # --- verdicts ---------------------------------------------------------------------------------

    def accepting(self, state: CycleState, nodes: NodeTable) -> Set[str]:
        pod_class = state.equivalence_class
        if pod_class is None or not (pod_class.is_repeated and nodes.is_whole):
            return frozenset()
        return self._accept_all(pod_class).plugins

    def verdict(self, method: PluginMethod, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status:
        cached = self._cached(self._verdicts, method, state, pod)
        if isinstance(cached, Status):
            return cached
        if cached is None or not nodes.is_whole:
            return self._direct.verdict(method, state, pod, nodes)
        verdict = self._refreshed_verdict(cached, method, state, pod, nodes)
        accepts_all = not cached.changes_with_pods and isinstance(verdict, Verdict) and verdict.accepts_all
        if accepts_all and (pod_class := state.equivalence_class) is not None and pod_class.is_repeated:
            self._accept_all(pod_class).plugins.add(method.name)
        return verdict

    def _refreshed_verdict(
        self, cached: CachedColumn[Verdict], method: PluginMethod, state: CycleState, pod: Pod, nodes: NodeTable
    ) -> Verdict | Status:
        node_set_version = self._snapshot.node_set_version
        if cached.value is not None and cached.node_set_version == node_set_version:
            if cached.position == cached.log.position:
                return cached.value
            rows = cached.stale_rows(len(nodes))
            if rows is not None:
                part = self._direct.verdict(method, state, pod, self._table_of(nodes, rows))
                merged = _merged(cached.value, part, rows) if isinstance(part, Verdict) else None
                if merged is not None:
                    cached.set(merged, node_set_version)
                    return merged
        verdict = self._direct.verdict(method, state, pod, nodes)
        if isinstance(verdict, Verdict):
            cached.set(verdict, node_set_version)
        return verdict

    # --- scores -----------------------------------------------------------------------------------

    def score(
        self, scorers: Sequence[Scorer], state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreOutcome | Status:
        by_plugin: dict[str, PluginScores] = {}
        for scorer in scorers:
            if scorer.method.name not in state.skip_score:
                scores = self._plugin_scores(scorer, state, pod, nodes)
                if isinstance(scores, Status):
                    return scores
                by_plugin[scorer.method.name] = scores
        return self._outcome(nodes, by_plugin)

    def _plugin_scores(
        self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable
    ) -> PluginScores | Status:
        cached = self._cached(self._scores, scorer.method, state, pod)
        if isinstance(cached, Status):
            return score_failed(scorer.method, cached)
        if cached is None:
            return self._direct.scores(scorer, state, pod, nodes)
        column = cached.value
        node_set_version = self._snapshot.node_set_version
        is_stale = cached.position != cached.log.position or cached.node_set_version != node_set_version
        if column is None or is_stale:
            fresh = self._refreshed_column(cached, scorer.method, state, pod)
            if isinstance(fresh, Status):
                return fresh
            column = fresh
        if cached.finished is None or cached.finished_for is not nodes:
            finished = self._finished(cached, column, scorer, state, pod, nodes)
            if isinstance(finished, Status):
                return finished
            cached.finished, cached.finished_for = finished, nodes
        return cached.finished

    def _refreshed_column(
        self, cached: CachedColumn[VersionedColumn], method: PluginMethod, state: CycleState, pod: Pod
    ) -> VersionedColumn | Status:
        """The plugin's raw scores for every node, feasible or not."""
        nodes, node_set_version = self._snapshot.nodes, self._snapshot.node_set_version
        if cached.value is not None and cached.node_set_version == node_set_version:
            rows = cached.stale_rows(len(nodes))
            if rows is not None:
                part = self._direct.raw_scores(method, state, pod, self._table_of(nodes, rows))
                if isinstance(part, Status):
                    return part
                if isinstance(part, ClassScores):
                    part = part.at_nodes()
                column, finished = cached.value, cached.finished
                cached.set(column, node_set_version)
                if not cached.changes_with_pods and np.array_equal(column.data[rows], part):
                    cached.finished = finished  # the change of the nodes did not affect the scores
                else:
                    column.change(rows, part)
                    cached.is_in_range = cached.is_in_range and _are_in_range(part)
                return column
        raw = self._direct.raw_scores(method, state, pod, nodes)
        if isinstance(raw, Status):
            return raw
        raw = raw.at_nodes() if isinstance(raw, ClassScores) else raw.astype(np.int64)
        cached.is_in_range = _are_in_range(raw)
        column = VersionedColumn(raw)
        cached.set(column, node_set_version)
        return column

    def _finished(
        self,
        cached: CachedColumn[VersionedColumn],
        column: VersionedColumn,
        scorer: Scorer,
        state: CycleState,
        pod: Pod,
        nodes: NodeTable,
    ) -> PluginScores | Status:
        """The scores of *column* normalized and weighted, for the nodes of a table."""
        if cached.constant is not None:
            return ConstantScores(cached, cached.constant, len(nodes))
        if cached.may_be_constant:
            cached.may_be_constant = scorer.keeps_constant and _are_equal(column.data)
        if cached.is_in_range and scorer.normalize is None and not cached.may_be_constant:
            return UsageScores(cached, column, nodes, scorer.weight, cached.log)
        raw = column.data.copy() if nodes.is_whole else column.data.take(nodes.rows)
        finished = self._direct.finish(scorer, state, pod, nodes, raw)
        if cached.changes_with_pods or isinstance(finished, Status):
            return finished
        if not (cached.may_be_constant and len(nodes)):
            return NodeScores(cached, finished)
        cached.constant = ConstantScore.of(finished)
        return ConstantScores(cached, cached.constant, len(nodes))

    def _outcome(self, nodes: NodeTable, by_plugin: Mapping[str, PluginScores]) -> ScoreOutcome:
        """The sum of the weighted scores; the sum of the cached ones is cached too."""
        cached: list[CachedScores] = []
        others: list[str] = []
        # Scores that do not depend on which other nodes are in the table share one sum over all nodes.
        are_independent = True
        for plugin, own in by_plugin.items():
            if type(own) is UsageScores or type(own) is ConstantScores:  # faster than isinstance
                cached.append(own)
            elif type(own) is NodeScores:
                cached.append(own)
                are_independent = False
            else:
                others.append(plugin)
        if not cached:
            return self._direct.outcome(nodes, by_plugin)
        where = nodes.where if are_independent else None
        table = nodes if where is None else self._snapshot.nodes
        running = self._running_totals(table, cached)
        version, storage = running.totals.version, running.storage
        base = version if where is None else ColumnVersionView(version, nodes)
        if others:
            addend: IntArray | int | None = running.constant
            if addend is None:
                addend = running.totals.data if where is None else running.totals.data.take(nodes.rows)
            totals = _sum(addend, [by_plugin[plugin] for plugin in others])
            return ScoreOutcome(nodes, by_plugin, totals, base=base, added=others, shared_storage=storage)
        best = running.highest.positions() if where is None else running.best_of(where)
        return ScoreOutcome(nodes, by_plugin, base, best=best, best_of=table, base=base, shared_storage=storage)

    def _running_totals(self, nodes: NodeTable, scores: Sequence[CachedScores]) -> RunningTotals:
        key = tuple([own.key for own in scores])
        running = self._totals.get(key)
        if running is None or not running.is_of(nodes, scores) or not running.refresh():
            running = self._totals[key] = RunningTotals(nodes, scores)
            if len(self._totals) > MAX_COLUMNS:
                del self._totals[next(iter(self._totals))]
        return running

    def _table_of(self, nodes: NodeTable, rows: IntArray) -> NodeTable:
        """The nodes at *rows*; several plugins in turn use the same table."""
        if self._last_table is None or self._last_table[0] is not rows or self._last_table[1] is not nodes:
            self._last_table = rows, nodes, nodes.select(rows)
        return self._last_table[2]

    # ----------------------------------------------------------------------------------------------

    def _cached(
        self, caches: dict[str, SignatureCache[T]], method: PluginMethod, state: CycleState, pod: Pod
    ) -> CachedColumn[T] | Status | None:
        """The column for the pod; None if results must not be cached, or not yet; a Status if `sign` failed."""
        pod_class = state.equivalence_class
        if pod_class is None:
            return None
        if method in pod_class.cached:
            known: CachedColumn[T] | None = pod_class.cached[method]
            if known is None or known.is_cached:
                return known
        try:
            signature = pod_class.signature(method, pod)
        except BaseException as error:
            contain(error)
            return Status.failed(f"sign: {type(error).__name__}: {error}")
        if signature is None:
            pod_class.cached[method] = None
            return None
        column = self._column_of(caches, method, signature)
        if column is not None:
            pod_class.cached[method] = column
        return column

    def _column_of(
        self, caches: dict[str, SignatureCache[T]], method: PluginMethod, signature: Hashable
    ) -> CachedColumn[T] | None:
        cache = caches.get(method.name)
        if cache is None:
            cache = caches[method.name] = SignatureCache()
        column = cache.get(signature)
        if column is None and cache.is_repeated(signature):
            reads = method.plugin.reads
            column = CachedColumn(reads, self._log(reads))
            cache.put(signature, column)
        return column

    def _log(self, reads: Reads) -> ChangeLog:
        if reads is Reads.USAGE:
            return self._snapshot.usage_changes
        return self._snapshot.amount_changes if reads is Reads.RESOURCES else self._snapshot.node_changes


def _are_in_range(scores: ScoreArray) -> bool:
    if len(scores) <= FEW:
        return all(0 <= score <= MAX_SCORE for score in scores.tolist())
    return are_within(scores, MAX_SCORE)


def _are_equal(scores: IntArray) -> bool:
    return bool((scores == scores[:1]).all())


def _sum(base: IntArray | int, others: Sequence[PluginScores]) -> ScoreArray:
    totals = others[0].weighted
    for own in others[1:]:
        totals = totals + own.weighted
    return totals + base


def _merged(whole: Verdict, part: Verdict, rows: IntArray) -> Verdict | None:
    """*whole* with the results of *part* at *rows*; None if *part* has a reason that *whole* does not have."""
    if whole.accepts_all and part.accepts_all:
        return whole
    fresh = {(rejection.reason, rejection.code): rejection.where for rejection in part.rejections}
    if whole.statuses or part.statuses or not fresh.keys() <= {(r.reason, r.code) for r in whole.rejections}:
        return None
    rejections = []
    is_same = True
    for where, reason, code in whole.rejections:
        rejected = fresh.get((reason, code), False)
        if (where[rows] != rejected).any():
            where = where.copy()
            where[rows] = rejected
            is_same = False
        rejections.append(Rejection(where, reason, code))
    return whole if is_same else Verdict(whole.n_nodes, tuple(rejections))
