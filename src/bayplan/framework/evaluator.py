"""The scores and verdicts of column plugins for a table of nodes.

In: plugin methods, a pod and a table. Out: a Verdict, or the `ScoreOutcome` of all Score plugins.
`DirectEvaluator` calls the plugin every time. `core.cached_evaluator` has an implementation that caches results;
both must return exactly the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from bayplan.framework.calls import PluginCaller, PluginMethod, wrapped
from bayplan.framework.class_scores import ClassedScores, ClassScores
from bayplan.framework.nodes import NodeTable
from bayplan.framework.plugin import looks_at_scores_alone
from bayplan.framework.state import CycleState
from bayplan.framework.status import Status
from bayplan.framework.verdict import IntArray, ScoreArray, Verdict, are_within
from bayplan.observe.record import CompactForm, CompactPluginScores, SharedStorage

if TYPE_CHECKING:
    from bayplan.model import Pod

MAX_SCORE: Final = 100
MIN_SCORE: Final = 0

_INT64: Final = np.dtype(np.int64)
_INT32: Final = np.dtype(np.int32)

#: Positions in a table, in order.
Positions: TypeAlias = list[int] | IntArray


def highest(column: ScoreArray) -> IntArray:
    """The positions of the highest entries."""
    positions: IntArray = (column == column[column.argmax()]).nonzero()[0]
    return positions


def default_normalize(scores: IntArray, *, reverse: bool = False) -> IntArray:
    """Stretch *scores* so that the highest becomes 100; with *reverse*, the highest becomes 0.

    Scores are whole numbers of 0 or more; all zeros stay zeros (100 with *reverse*).
    """
    maximum = int(scores.max(initial=0))
    if maximum == 0:
        return np.full_like(scores, MAX_SCORE) if reverse else scores
    stretched = MAX_SCORE * scores // maximum
    return MAX_SCORE - stretched if reverse else stretched


# --- columns with versions ------------------------------------------------------------------------
#
# Between two pods few entries of a column change, and every attempt's record refers to its scores, which are
# rarely read later. So there is one array, and each older version of it holds only the entries overwritten since.


class ColumnVersion:
    """A column as it was at one time."""

    __slots__ = ("_data", "_later", "_overwritten")

    def __init__(self, data: IntArray) -> None:
        #: The column itself while this is the latest version; otherwise None, and the next two are set.
        self._data: IntArray | None = data
        self._later: ColumnVersion | None = None
        #: The positions where the next version differs, and this version's entries there.
        self._overwritten: tuple[IntArray, IntArray] | None = None

    def replace(self, later: ColumnVersion, positions: IntArray, overwritten: IntArray) -> None:
        """Make *later* the latest version."""
        self._data, self._later, self._overwritten = None, later, (positions, overwritten)

    def array(self) -> IntArray:
        """The entries of this version, as a new array."""
        changes = []
        version = self
        while version._overwritten is not None and version._later is not None:
            changes.append(version._overwritten)
            version = version._later
        assert version._data is not None  # noqa: S101  the latest version has it
        data = version._data.copy()
        for positions, overwritten in reversed(changes):
            data[positions] = overwritten
        return data


class ColumnVersionView:
    """A version of a column about all nodes, for some of the nodes."""

    __slots__ = ("_nodes", "_version")

    def __init__(self, version: ColumnVersion, nodes: NodeTable) -> None:
        self._version = version
        self._nodes = nodes

    def array(self) -> IntArray:
        return self._version.array()[self._nodes.rows]


class VersionedColumn:
    """A column that changes in place, and whose earlier versions can still be read."""

    __slots__ = ("data", "version")

    def __init__(self, data: IntArray) -> None:
        """*data* belongs to the column from now on."""
        #: The current entries. Callers must not keep the array: keep `version` instead.
        self.data = data
        #: The latest version.
        self.version = ColumnVersion(data)

    def change(self, positions: IntArray, values: IntArray) -> IntArray:
        """Write *values* at *positions*, an array that must not change later; returns the overwritten entries."""
        overwritten: IntArray = self.data[positions]
        version = ColumnVersion(self.data)
        self.version.replace(version, positions, overwritten)
        self.version = version
        self.data[positions] = values
        return overwritten


# --- results --------------------------------------------------------------------------------------


class PluginScores(Protocol):
    """One plugin's scores for a table of nodes, at every stage; shape (n_nodes,) each."""

    @property
    def raw(self) -> ScoreArray: ...

    @property
    def normalized(self) -> ScoreArray: ...

    @property
    def weighted(self) -> ScoreArray: ...

    @property
    def weight(self) -> int: ...

    def compacted(self) -> CompactForm:
        """A compact form for the record."""


class FreshScores(NamedTuple):
    """Scores computed for one pod."""

    raw: ScoreArray
    normalized: ScoreArray
    weighted: ScoreArray
    weight: int

    def compacted(self) -> CompactForm:
        return CompactPluginScores(self.raw, self.normalized, self.weight)


class ScoreOutcome:
    """The result of all Score plugins for the feasible nodes."""

    __slots__ = ("_best", "_best_of", "_totals", "added", "base", "by_plugin", "nodes", "shared_storage")

    def __init__(
        self,
        nodes: NodeTable,
        by_plugin: Mapping[str, PluginScores],
        totals: ScoreArray | ColumnVersion | ColumnVersionView,
        *,
        best: Positions | None = None,
        best_of: NodeTable | None = None,
        base: ColumnVersion | ColumnVersionView | None = None,
        added: Sequence[str] = (),
        shared_storage: SharedStorage | None = None,
    ) -> None:
        self.nodes = nodes
        self.by_plugin = by_plugin
        self._totals = totals
        #: The positions of the highest totals, where the evaluator knows them; valid until the next pod.
        self._best = best
        #: The table that these positions refer to.
        self._best_of = nodes if best_of is None else best_of
        #: The totals as a record stores them: a column in shared storage (None if there is none), and the plugins
        #: whose scores must be added to it.
        self.base = base
        self.added = added
        #: The storage that the columns share with those of other outcomes; None if they share none.
        self.shared_storage = shared_storage

    @property
    def totals(self) -> IntArray:
        """int64, shape (n_nodes,)."""
        totals = self._totals
        column: ScoreArray = totals if isinstance(totals, np.ndarray) else totals.array()
        return column.astype(np.int64, copy=False)

    def best(self) -> tuple[NodeTable, Positions]:
        """The nodes with the highest total: a table, which may have other nodes too, and their positions in it,
        in order."""
        if self._best is not None:
            best, self._best = self._best, None  # the next pod changes it
            return self._best_of, best
        totals = self._totals
        return self.nodes, highest(totals if isinstance(totals, np.ndarray) else totals.array())

    def with_totals(self, totals: ScoreArray) -> ScoreOutcome:
        return ScoreOutcome(self.nodes, self.by_plugin, totals)


# --- evaluation -----------------------------------------------------------------------------------


class Scorer:
    """A Score plugin with its normalize_score and its weight."""

    __slots__ = ("keeps_constant", "method", "normalize", "weight")

    def __init__(self, method: PluginMethod, normalize: PluginMethod | None, weight: int) -> None:
        self.method: Final = method
        self.normalize: Final = normalize
        self.weight: Final = weight
        #: Whether a score that all nodes have stays constant, with the same result for any selection of nodes.
        self.keeps_constant: Final = normalize is None or looks_at_scores_alone(normalize.function)


class Evaluator(Protocol):
    """Computes a plugin's verdict, or the scores of all plugins; a Status if a plugin failed."""

    def verdict(self, method: PluginMethod, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status: ...

    def accepting(self, state: CycleState, nodes: NodeTable) -> Set[str]:
        """Filter plugins known to accept every node for pods of this equivalence class: no need to call them."""

    def score(
        self, scorers: Sequence[Scorer], state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreOutcome | Status:
        """The weighted scores of all plugins that do not skip the pod, and their sum."""


class DirectEvaluator:
    """Calls the plugin every time."""

    def __init__(self, caller: PluginCaller) -> None:
        self._caller = caller

    def verdict(self, method: PluginMethod, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status:
        verdict = self._caller.call(method, state, pod, nodes)
        n_nodes = len(nodes)
        if isinstance(verdict, Verdict):
            has_wrong_position = verdict.statuses and not all(0 <= each < n_nodes for each in verdict.statuses)
            if verdict.n_nodes != n_nodes or has_wrong_position:
                return Status.failed(f"the verdict is not about {n_nodes} nodes")
            return verdict
        if isinstance(verdict, Status) and not verdict.is_success:
            return verdict
        return Status.failed(
            "filter_nodes must return a Verdict (nodes.reject(…) or nodes.accept_all()), "
            f"got {type(verdict).__name__}"
        )

    def accepting(self, state: CycleState, nodes: NodeTable) -> Set[str]:
        return frozenset()

    def score(
        self, scorers: Sequence[Scorer], state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreOutcome | Status:
        by_plugin: dict[str, PluginScores] = {}
        for scorer in scorers:
            if scorer.method.name not in state.skip_score:
                scores = self.scores(scorer, state, pod, nodes)
                if isinstance(scores, Status):
                    return scores
                by_plugin[scorer.method.name] = scores
        return self.outcome(nodes, by_plugin)

    def scores(self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable) -> PluginScores | Status:
        """One plugin's scores at every stage."""
        raw = self.raw_scores(scorer.method, state, pod, nodes)
        if isinstance(raw, Status):
            return raw
        if isinstance(raw, ClassScores):
            return self._finish_classes(scorer, state, pod, nodes, raw)
        return self.finish(scorer, state, pod, nodes, raw)

    def raw_scores(
        self, method: PluginMethod, state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreArray | ClassScores | Status:
        """The result of the plugin's Score, checked."""
        raw: ScoreArray | ClassScores | Status
        if method.is_per_node:
            raw = self._score_each_node(method, state, pod, nodes)
        else:
            result = self._caller.call(method, state, pod, nodes)
            is_by_class = isinstance(result, ClassScores)
            raw = checked_classes(result, len(nodes)) if is_by_class else checked_scores(result, len(nodes))
        return score_failed(method, raw) if isinstance(raw, Status) else raw

    def _score_each_node(
        self, method: PluginMethod, state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreArray | Status:
        start = perf_counter()
        scores: list[int] = []
        failure: Status | None = None
        for score in map(self._caller.node_caller(method, state, pod), nodes):
            if type(score) is not int or not -(2**63) <= score < 2**63:
                failure = _wrong_score(score)
                if failure is not None:
                    break
            scores.append(score)
        self._caller.warn_if_slow(method.name, method.point, perf_counter() - start)
        return np.array(scores, dtype=np.int64) if failure is None else failure

    def finish(
        self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable, raw: ScoreArray
    ) -> FreshScores | Status:
        """Normalize and weight *raw*; after normalizing every score must be in 0..100."""
        normalized = raw
        if scorer.normalize is not None:
            copy = raw.astype(np.int64)
            result = self._caller.call(scorer.normalize, state, pod, copy, nodes)
            checked = checked_scores(copy if result is None else result, len(raw))
            if isinstance(checked, Status):
                return _failed("running Normalize on Score plugins", scorer.method, checked)
            normalized = checked
        if not are_within(normalized, MAX_SCORE):
            return _out_of_range(scorer.method, normalized)
        weight = scorer.weight
        weighted = normalized if weight == 1 else np.multiply(normalized, weight, dtype=np.int64)
        return FreshScores(raw, normalized, weighted, weight)

    def _finish_classes(
        self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable, raw: ClassScores
    ) -> ClassedScores | Status:
        """The same for scores by class; classes without a node do not count."""
        classes, scores, present = raw
        finished = self.finish(scorer, state, pod, nodes, scores if present is None else scores[present])
        if isinstance(finished, Status):
            return finished
        normalized = finished.normalized
        if present is not None:
            of_present, normalized = normalized, np.zeros_like(scores)
            normalized[present] = of_present
        return ClassedScores(classes, scores, normalized, scorer.weight)

    def outcome(self, nodes: NodeTable, by_plugin: Mapping[str, PluginScores]) -> ScoreOutcome:
        """The sum of the weighted scores."""
        totals = np.zeros(len(nodes), dtype=np.int64)
        for scores in by_plugin.values():
            totals += scores.weighted
        return ScoreOutcome(nodes, by_plugin, totals)


def checked_scores(result: Any, n_nodes: int) -> ScoreArray | Status:
    """*result* as int64 or int32 scores of the right shape; a Status if it is not, or is one already."""
    if isinstance(result, Status):
        return result
    if isinstance(result, np.ndarray) and result.shape == (n_nodes,) and result.dtype.kind in "iu":
        if result.dtype in (_INT64, _INT32):
            # A view may show a column that the scheduler changes later; the record needs the scores of now.
            return result if result.base is None else result.copy()
        return result.astype(np.int64)
    got = f"{result.dtype} of shape {result.shape}" if isinstance(result, np.ndarray) else type(result).__name__
    return Status.failed(f"scores must be whole numbers of shape ({n_nodes},), got {got}")


def checked_classes(result: ClassScores, n_nodes: int) -> ClassScores | Status:
    """*result*; a Status if it is not about *n_nodes* nodes."""
    if result.are_about(n_nodes):
        return result
    return Status.failed(f"scores by class must have a class with a score for each of {n_nodes} nodes")


def _wrong_score(score: Any) -> Status | None:
    """What is wrong with the score of one node; None if nothing is."""
    if isinstance(score, Status):
        return score
    if isinstance(score, bool) or not isinstance(score, int | np.integer):
        return Status.failed(f"Score must return a whole number, got {type(score).__name__}: {score!r:.80}")
    if not -(2**63) <= score < 2**63:
        return Status.failed(f"Score must fit into 64 bits, got {score!r:.80}")
    return None


def score_failed(method: PluginMethod, status: Status) -> Status:
    """ERROR in kube-scheduler's words, for a Score that failed."""
    return _failed("running Score plugins", method, status)


def _failed(text: str, method: PluginMethod, status: Status) -> Status:
    return wrapped(f'{text}: plugin "{method.name}" failed with', status, method.name)


def _out_of_range(method: PluginMethod, scores: ScoreArray) -> Status:
    wrong = scores[(scores > MAX_SCORE) | (scores < MIN_SCORE)][0]
    return Status.failed(
        f'applying score defaultWeights on Score plugins: plugin "{method.name}" returns an invalid score '
        f"{int(wrong)}, it should in the range of [{MIN_SCORE}, {MAX_SCORE}] after normalizing"
    ).by(method.name)
