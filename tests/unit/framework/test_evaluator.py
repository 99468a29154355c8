"""DirectEvaluator: results of column plugins are checked, normalised, weighted and added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.framework import (
    ClassScores,
    Code,
    CycleState,
    DirectEvaluator,
    IntArray,
    NodeTable,
    Plugin,
    PluginCaller,
    PluginMethod,
    ScoreOutcome,
    Scorer,
    Status,
    Verdict,
    default_normalize,
    scores_alone,
)
from bayplan.framework.evaluator import checked_scores, highest
from bayplan.framework.points import POINT_BY_NAME
from bayplan.testing import make_node, make_pod

POD = make_pod("p")
MUST_RETURN = "filter_nodes must return a Verdict (nodes.reject(…) or nodes.accept_all())"


@pytest.fixture
def nodes() -> NodeTable:
    cache = Cache()
    for name in "abc":
        cache.set_node(make_node(name))
    return cache.snapshot().nodes


class Columns(Plugin):
    """Returns its args from every method."""

    name = "Columns"

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return self.args

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return self.args

    def normalize_score(self, state: Any, pod: Any, scores: IntArray) -> Any:  # type: ignore[override]
        return default_normalize(scores)


class Alone(Columns):
    @scores_alone
    def normalize_score(self, state: Any, pod: Any, scores: IntArray) -> Any:  # type: ignore[override]
        return default_normalize(scores)


def scorer(result: Any, weight: int = 1, *, normalize: bool = False, cls: type[Plugin] = Columns) -> Scorer:
    plugin, point = cls(result, None), POINT_BY_NAME["score"]  # type: ignore[arg-type]
    companion = PluginMethod(plugin, "normalize_score", point) if normalize else None
    return Scorer(PluginMethod(plugin, "score_nodes", point), companion, weight)


EVALUATOR = DirectEvaluator(PluginCaller())


def scored(nodes: NodeTable, *scorers: Scorer) -> ScoreOutcome | Status:
    return EVALUATOR.score(scorers, CycleState(), POD, nodes)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (Verdict(4), "the verdict is not about 3 nodes"),
        (Verdict(3, statuses={3: Status.unschedulable("no")}), "the verdict is not about 3 nodes"),
        (None, f"{MUST_RETURN}, got NoneType"),
        (Status.success(), f"{MUST_RETURN}, got Status"),
        (Status.failed("broken"), "broken"),
    ],
    ids=["another number of nodes", "a position too far", "nothing", "success", "a failure"],
)
def test_verdict_is_checked(nodes: NodeTable, result: Any, message: str) -> None:
    """What is no verdict about these nodes is an error."""
    method = PluginMethod(Columns(result, None), "filter_nodes", POINT_BY_NAME["filter"])  # type: ignore[arg-type]
    status = EVALUATOR.verdict(method, CycleState(), POD, nodes)
    assert isinstance(status, Status)
    assert (status.code, status.message) == (Code.ERROR, message)


def test_verdict_is_returned_as_it_is(nodes: NodeTable) -> None:
    """A valid one, with masks or with statuses; no plugin is known to accept every node."""
    for verdict in (nodes.accept_all(), Verdict(3, statuses={2: Status.unschedulable("no")})):
        method = PluginMethod(Columns(verdict, None), "filter_nodes", POINT_BY_NAME["filter"])  # type: ignore[arg-type]
        assert EVALUATOR.verdict(method, CycleState(), POD, nodes) is verdict
    assert EVALUATOR.accepting(CycleState(), nodes) == frozenset()


def test_stages_of_scores(nodes: NodeTable) -> None:
    """Raw scores, normalised to 0..100, times the weight, added up; the highest totals are the best."""
    outcome = scored(nodes, scorer(np.array([1, 2, 4]), 3, normalize=True))
    assert isinstance(outcome, ScoreOutcome)
    own = outcome.by_plugin["Columns"]
    assert [own.raw.tolist(), own.normalized.tolist(), own.weighted.tolist()] == [
        [1, 2, 4],
        [25, 50, 100],
        [75, 150, 300],
    ]
    assert outcome.totals.tolist() == [75, 150, 300]
    table, positions = outcome.best()
    assert (table is nodes, list(positions)) == (True, [2])
    assert outcome.with_totals(np.array([5, 5, 1])).best()[1].tolist() == [0, 1]  # type: ignore[union-attr]


def test_skipped_plugins_do_not_score(nodes: NodeTable) -> None:
    """PreScore's SKIP; without any score all totals are 0."""
    state = CycleState()
    state.skip_score.add("Columns")
    outcome = EVALUATOR.score([scorer(np.array([1, 2, 4]))], state, POD, nodes)
    assert isinstance(outcome, ScoreOutcome)
    assert (dict(outcome.by_plugin), outcome.totals.tolist()) == ({}, [0, 0, 0])


@pytest.mark.parametrize("present", [None, np.array([True, False, True])], ids=["all present", "some present"])
def test_scores_by_class(nodes: NodeTable, present: Any) -> None:
    """Classes are normalised in place of nodes; a class without nodes does not count."""
    classes = ClassScores(np.array([0, 2, 0]), np.array([1, 8, 2]), present)
    outcome = scored(nodes, scorer(classes, 2, normalize=True))
    assert isinstance(outcome, ScoreOutcome)
    expected = [12, 25, 12] if present is None else [50, 100, 50]
    assert outcome.by_plugin["Columns"].normalized.tolist() == expected
    assert outcome.totals.tolist() == [2 * each for each in expected]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (
            np.array([1, 2, 101]),
            'plugin "Columns" returns an invalid score 101, it should in the range of [0, 100]',
        ),
        (np.array([1, -2, 3]), "returns an invalid score -2"),
        (np.array([1, 2]), "scores must be whole numbers of shape (3,), got int64 of shape (2,)"),
        (np.array([1.0, 2.0, 3.0]), "got float64 of shape (3,)"),
        ([1, 2, 3], "got list"),
        (ClassScores(np.array([0, 5, 0]), np.array([1, 2])), "scores by class must have a class with a score"),
    ],
    ids=["too high", "too low", "too few", "not whole", "not an array", "a class that is missing"],
)
def test_scores_are_checked(nodes: NodeTable, result: Any, message: str) -> None:
    """A wrong result is an error that names the plugin."""
    status = scored(nodes, scorer(result))
    assert isinstance(status, Status)
    assert (status.code, status.plugin) == (Code.ERROR, "Columns")
    assert message in status.message


def test_checked_scores_are_not_views() -> None:
    """A view may change later, so it is copied; other integers become int64."""
    column = np.arange(3)
    assert checked_scores(column, 3) is column
    copied = checked_scores(column[:], 3)
    assert copied is not column
    column[0] = 9
    assert not isinstance(copied, Status)
    assert copied.tolist() == [0, 1, 2]
    narrow = checked_scores(np.arange(3, dtype=np.uint8), 3)
    assert not isinstance(narrow, Status)
    assert narrow.dtype == np.int64


def test_which_scorers_keep_constant_scores() -> None:
    """Without normalising, or where it looks at the scores alone."""
    assert scorer(None).keeps_constant
    assert not scorer(None, normalize=True).keeps_constant
    assert scorer(None, normalize=True, cls=Alone).keeps_constant


@pytest.mark.parametrize(
    ("scores", "reverse", "normalized"),
    [
        ([1, 2, 4], False, [25, 50, 100]),
        ([1, 2, 3], False, [33, 66, 100]),
        ([1, 2, 4], True, [75, 50, 0]),
        ([0, 0], False, [0, 0]),
        ([0, 0], True, [100, 100]),
        ([], False, []),
    ],
)
def test_default_normalize(scores: list[int], reverse: bool, normalized: list[int]) -> None:
    """As kube-scheduler's DefaultNormalizeScore: whole numbers, rounded down."""
    column = np.array(scores, dtype=np.int64)
    assert default_normalize(column, reverse=reverse).tolist() == normalized


def test_highest() -> None:
    """All positions of the maximum, in order."""
    assert highest(np.array([3, 7, 7, 1])).tolist() == [1, 2]
