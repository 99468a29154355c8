"""Working out what a column plugin says about a table of nodes.

`AskAlways` asks the plugin every time. The cycle has a sibling that keeps answers (`cycle.kept`); both must
give exactly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from bayplan.framework.calls import Bound, Caller, wrapped
from bayplan.framework.classes import ClassedScores, ClassScores
from bayplan.framework.nodes import NodeTable
from bayplan.framework.outcomes import FreshScores, PluginScores, ScoreOutcome
from bayplan.framework.plugin import looks_at_scores_alone
from bayplan.framework.state import CycleState
from bayplan.framework.status import Status
from bayplan.framework.verdict import ScoreArray, Verdict, are_within

if TYPE_CHECKING:
    from bayplan.model import Pod

MAX_SCORE: Final = 100
MIN_SCORE: Final = 0

_INT64: Final = np.dtype(np.int64)
_INT32: Final = np.dtype(np.int32)


class Scorer:
    """A Score plugin with all that belongs to it."""

    __slots__ = ("bound", "is_even", "normalize", "weight")

    def __init__(self, bound: Bound, normalize: Bound | None, weight: int) -> None:
        self.bound: Final = bound
        self.normalize: Final = normalize
        self.weight: Final = weight
        #: Whether equal scores stay equal, and come to the same whichever nodes have them.
        self.is_even: Final = normalize is None or looks_at_scores_alone(normalize.function)


class Answers(Protocol):
    """Gives a plugin's verdict, or all scores; a Status where a plugin failed."""

    def verdict(self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status: ...

    def accepting(self, state: CycleState, nodes: NodeTable) -> Set[str]:
        """Filter plugins that are known to accept every node for pods like this one; they need not be asked."""

    def score(
        self, scorers: Sequence[Scorer], state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreOutcome | Status:
        """The scores of all plugins that do not skip the pod, added up."""


class AskAlways:
    """Every answer is worked out anew."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def verdict(self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status:
        answer = self._caller.call(bound, state, pod, nodes)
        if isinstance(answer, Verdict):
            return (
                answer
                if answer.fits(len(nodes))
                else Status.failed(f"the verdict is not about {len(nodes)} nodes")
            )
        if isinstance(answer, Status) and not answer.is_success:
            return answer
        return Status.failed(
            "filter_nodes must return a Verdict (nodes.reject(…) or nodes.accept_all()), "
            f"got {type(answer).__name__}"
        )

    def accepting(self, state: CycleState, nodes: NodeTable) -> Set[str]:
        return frozenset()

    def score(
        self, scorers: Sequence[Scorer], state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreOutcome | Status:
        by_plugin = ask_each(self.scores, scorers, state, pod, nodes)
        return by_plugin if isinstance(by_plugin, Status) else self.outcome(nodes, by_plugin)

    def scores(self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable) -> PluginScores | Status:
        raw = self.raw_scores(scorer.bound, state, pod, nodes)
        if isinstance(raw, Status):
            return raw
        if isinstance(raw, ClassScores):
            return self._finish_classes(scorer, state, pod, nodes, raw)
        return self.finish(scorer, state, pod, nodes, raw)

    def raw_scores(
        self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable
    ) -> ScoreArray | ClassScores | Status:
        """What the plugin's Score gives."""
        raw: ScoreArray | ClassScores | Status
        if bound.is_per_node:
            raw = self._one_by_one(bound, state, pod, nodes)
        else:
            answer = self._caller.call(bound, state, pod, nodes)
            is_classed = isinstance(answer, ClassScores)
            raw = checked_classes(answer, len(nodes)) if is_classed else checked_scores(answer, len(nodes))
        return score_failed(bound, raw) if isinstance(raw, Status) else raw

    def _one_by_one(self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreArray | Status:
        start = perf_counter()
        scores = self._scores_of_each(bound, state, pod, nodes)
        self._caller.note_time(bound.name, bound.point, perf_counter() - start)
        return scores

    def _scores_of_each(self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreArray | Status:
        scores = []
        for answer in map(self._caller.asker(bound, state, pod), nodes):
            if type(answer) is not int or not -(2**63) <= answer < 2**63:
                failure = _no_score(answer)
                if failure is not None:
                    return failure
            scores.append(answer)
        return np.array(scores, dtype=np.int64)

    def finish(
        self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable, raw: ScoreArray
    ) -> FreshScores | Status:
        """Normalise and weigh *raw*; every score must lie in 0..100 then."""
        normalized = self._normalized(scorer, state, pod, nodes, raw)
        if isinstance(normalized, Status):
            return normalized
        weighted = normalized
        if scorer.weight != 1:
            weighted = np.multiply(normalized, scorer.weight, dtype=np.int64)
        return FreshScores(raw, normalized, weighted, scorer.weight)

    def _finish_classes(
        self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable, raw: ClassScores
    ) -> ClassedScores | Status:
        """The same for the classes that nodes are in."""
        classes, scores, present = raw
        normalized = self._normalized(scorer, state, pod, nodes, scores if present is None else scores[present])
        if isinstance(normalized, Status):
            return normalized
        if present is not None:
            of_present, normalized = normalized, np.zeros_like(scores)
            normalized[present] = of_present
        return ClassedScores(classes, scores, normalized, scorer.weight)

    def _normalized(
        self, scorer: Scorer, state: CycleState, pod: Pod, nodes: NodeTable, scores: ScoreArray
    ) -> ScoreArray | Status:
        if scorer.normalize is not None:
            copy = scores.astype(np.int64)
            answer = self._caller.call(scorer.normalize, state, pod, copy, nodes)
            checked = checked_scores(copy if answer is None else answer, len(scores))
            if isinstance(checked, Status):
                return _failed("running Normalize on Score plugins", scorer.bound, checked)
            scores = checked
        return scores if are_within(scores, MAX_SCORE) else _out_of_range(scorer.bound, scores)

    def outcome(self, nodes: NodeTable, by_plugin: Mapping[str, PluginScores]) -> ScoreOutcome:
        """The sum of the weighted scores."""
        totals = np.zeros(len(nodes), dtype=np.int64)
        for scores in by_plugin.values():
            totals += scores.weighted
        return ScoreOutcome(nodes, by_plugin, totals)


def ask_each(
    ask: Callable[[Scorer, CycleState, Pod, NodeTable], PluginScores | Status],
    scorers: Sequence[Scorer],
    state: CycleState,
    pod: Pod,
    nodes: NodeTable,
) -> dict[str, PluginScores] | Status:
    """The scores of every plugin that does not skip the pod, by its name; the first failure ends it."""
    by_plugin: dict[str, PluginScores] = {}
    for scorer in scorers:
        if scorer.bound.name in state.skip_score:
            continue
        scores = ask(scorer, state, pod, nodes)
        if isinstance(scores, Status):
            return scores
        by_plugin[scorer.bound.name] = scores
    return by_plugin


def checked_scores(answer: Any, n_nodes: int) -> ScoreArray | Status:
    """*answer* as scores of the right shape, int64 or int32; a Status if it is none, or is one already."""
    if isinstance(answer, Status):
        return answer
    if isinstance(answer, np.ndarray) and answer.shape == (n_nodes,) and answer.dtype.kind in "iu":
        # A column of the scheduler's goes on changing; a record must not.
        if answer.dtype in (_INT64, _INT32):
            return answer if answer.base is None else answer.copy()
        return answer.astype(np.int64)
    got = f"{answer.dtype} of shape {answer.shape}" if isinstance(answer, np.ndarray) else type(answer).__name__
    return Status.failed(f"scores must be whole numbers of shape ({n_nodes},), got {got}")


def checked_classes(answer: ClassScores, n_nodes: int) -> ClassScores | Status:
    if answer.are_about(n_nodes):
        return answer
    return Status.failed(f"scores by class must have a class with a score for each of {n_nodes} nodes")


def _no_score(answer: Any) -> Status | None:
    """What is wrong with the score of one node."""
    if isinstance(answer, Status):
        return answer
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
        return Status.failed(f"Score must return a whole number, got {type(answer).__name__}: {answer!r:.80}")
    if not -(2**63) <= answer < 2**63:
        return Status.failed(f"Score must fit into 64 bits, got {answer!r:.80}")
    return None


def score_failed(bound: Bound, status: Status) -> Status:
    """ERROR in kube-scheduler's words, for a Score that failed."""
    return _failed("running Score plugins", bound, status)


def _failed(text: str, bound: Bound, status: Status) -> Status:
    return wrapped(f'{text}: plugin "{bound.name}" failed with', status, bound.name)


def _out_of_range(bound: Bound, scores: ScoreArray) -> Status:
    wrong = scores[(scores > MAX_SCORE) | (scores < MIN_SCORE)][0]
    return Status.failed(
        f'applying score defaultWeights on Score plugins: plugin "{bound.name}" returns an invalid score '
        f"{int(wrong)}, it should in the range of [{MIN_SCORE}, {MAX_SCORE}] after normalizing"
    ).by(bound.name)
