"""One generic runner: order, Skip, the first that does not succeed, errors that stay with their pod."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.framework import (
    Code,
    CycleState,
    Diagnosis,
    NodeTable,
    PlacedPlugin,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    ProfilePlugins,
    Runner,
    ScoreOutcome,
    Status,
)
from bayplan.testing import make_node, make_pod

POD = make_pod("p")


@pytest.fixture
def nodes() -> NodeTable:
    cache = Cache()
    for name in ("a", "b", "c"):
        cache.set_node(make_node(name, labels={"cpu": str(name != "b").lower()}))
    return cache.snapshot().nodes


def plugin(name: str, **methods: Any) -> Plugin:
    """A plugin whose methods are the given functions, without self."""
    bound = {method: _method(function) for method, function in methods.items()}
    made: Plugin = type(name, (Plugin,), {"name": name, **bound})(None, None)
    return made


def _method(function: Any) -> Any:
    if function.__code__.co_flags & 0x80:  # a coroutine function

        async def call_async(self: Any, *args: Any) -> Any:
            return await function(*args)

        return call_async
    return lambda self, *args: function(*args)


def runner(point: str, *plugins: Plugin, weight: int = 1, observer: Any = None) -> Runner:
    placed = [PlacedPlugin(each, weight) for each in plugins]
    return Runner(ProfilePlugins("test", {point: placed}, observer))


def raises(*_: Any) -> Any:
    raise ValueError("out of lights")


# --- PreFilter -------------------------------------------------------------------------------------


def test_skip_leaves_the_filter_out(nodes: NodeTable) -> None:
    """PreFilter's Skip is noted in the state, and Filter is not called."""
    both = plugin("Both", pre_filter=lambda *_: Status.skip(), filter=raises)
    run = Runner(ProfilePlugins("test", {"preFilter": [PlacedPlugin(both)], "filter": [PlacedPlugin(both)]}))
    state = CycleState()
    assert run.pre_filter(state, POD, nodes).status.is_success
    assert run.filter(state, POD, nodes).feasible.all()


def test_unresolvable_pre_filter_ends_at_once(nodes: NodeTable) -> None:
    """UnschedulableAndUnresolvable stops; later plugins are not called."""
    run = runner(
        "preFilter",
        plugin("No", pre_filter=lambda *_: Status.unresolvable("never")),
        plugin("X", pre_filter=raises),
    )
    outcome = run.pre_filter(CycleState(), POD, nodes)
    assert (outcome.status, outcome.status.plugin) == (Status.unresolvable("never"), "No")


def test_unschedulable_pre_filter_asks_the_others(nodes: NodeTable) -> None:
    """Unschedulable is remembered while the remaining plugins run, so that one can say more."""
    asked: list[str] = []
    run = runner(
        "preFilter",
        plugin("Later", pre_filter=lambda *_: Status.unschedulable("later")),
        plugin("Next", pre_filter=lambda *_: asked.append("Next")),
    )
    outcome = run.pre_filter(CycleState(), POD, nodes)
    assert (outcome.status, outcome.status.plugin, asked) == (Status.unschedulable("later"), "Later", ["Next"])


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([{"a"}, {"b"}], "node(s) didn't satisfy plugin(s) [P0 P1] simultaneously"),
        ([set()], "node(s) didn't satisfy plugin P0"),
    ],
    ids=["nothing in common", "one plugin allows none"],
)
def test_no_node_left_by_pre_filters(nodes: NodeTable, sets: list[set[str]], message: str) -> None:
    """Node sets are intersected; none left rejects the pod with the plugins' names."""
    plugins = [
        plugin(f"P{i}", pre_filter=lambda *_, names=names: PreFilterResult(frozenset(names)))
        for i, names in enumerate(sets)
    ]
    outcome = runner("preFilter", *plugins).pre_filter(CycleState(), POD, nodes)
    assert outcome.status == Status.unresolvable(message)


def test_pre_filter_that_raises_is_an_error(nodes: NodeTable) -> None:
    """The error carries kube-scheduler's words, the plugin's name and what was raised."""
    outcome = runner("preFilter", plugin("Bad", pre_filter=raises)).pre_filter(CycleState(), POD, nodes)
    assert outcome.status.code is Code.ERROR
    assert outcome.status.message == 'running PreFilter plugin "Bad": out of lights'
    assert isinstance(outcome.status.error, ValueError)


# --- Filter ----------------------------------------------------------------------------------------


def cpu_column(state: Any, pod: Any, table: NodeTable) -> Any:
    return table.reject(table.label("cpu") != "true", "no cpu label")


def cpu_per_node(state: Any, pod: Any, node: Any) -> Status | None:
    return Status.unschedulable(f"Node: {node.name}") if node.labels["cpu"] != "true" else None


def test_both_forms_decide_alike(nodes: NodeTable) -> None:
    """The column form and the per-node form are two ways to say the same."""
    columns = runner("filter", plugin("C", filter_nodes=cpu_column)).filter(CycleState(), POD, nodes)
    per_node = runner("filter", plugin("N", filter=cpu_per_node)).filter(CycleState(), POD, nodes)
    assert columns.feasible.tolist() == per_node.feasible.tolist() == [True, False, True]
    assert columns.status(1) == Status.unschedulable("no cpu label")
    assert per_node.status(1) == Status.unschedulable("Node: b")
    assert columns.codes().tolist() == per_node.codes().tolist() == [0, Code.UNSCHEDULABLE, 0]


def test_first_rejection_decides(nodes: NodeTable) -> None:
    """A node that one plugin rejected is not shown to later per-node plugins."""
    seen: list[str] = []

    def refuse(state: Any, pod: Any, node: Any) -> Status:
        seen.append(node.name)
        return Status.unschedulable("full")

    run = runner("filter", plugin("First", filter_nodes=cpu_column), plugin("Second", filter=refuse))
    outcome = run.filter(CycleState(), POD, nodes)
    assert seen == ["a", "c"]
    assert outcome.reasons() == {"no cpu label": 1, "full": 2}
    assert set(outcome.rejecting_plugins()) == {("First", Code.UNSCHEDULABLE), ("Second", Code.UNSCHEDULABLE)}


def test_several_reasons_of_one_plugin(nodes: NodeTable) -> None:
    """A node may fail for several reasons; the strongest code counts."""

    def two(state: Any, pod: Any, table: NodeTable) -> Any:
        return table.reject(table.names == "a", "Insufficient cpu").reject(
            table.names != "c", "Insufficient memory", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        )

    outcome = runner("filter", plugin("Fit", filter_nodes=two)).filter(CycleState(), POD, nodes)
    assert outcome.status(0) == Status.unresolvable("Insufficient cpu", "Insufficient memory")
    assert outcome.codes().tolist() == [3, 3, 0]
    assert outcome.reasons() == {"Insufficient cpu": 1, "Insufficient memory": 2}


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("filter", raises, "out of lights"),
        ("filter_nodes", raises, "out of lights"),
        ("filter", lambda *_: Status.failed("lost"), "lost"),
        ("filter", lambda *_: "no", "Filter must return a Status or None, got str: 'no'"),
        (
            "filter_nodes",
            lambda *_: None,
            "filter_nodes must return a Verdict (nodes.reject(…) or nodes.accept_all()), got NoneType",
        ),
    ],
    ids=["raises", "column raises", "error status", "wrong type", "no verdict"],
)
def test_filter_errors_end_the_attempt(nodes: NodeTable, method: str, answer: Any, message: str) -> None:
    """An error on any node is an error of the pod's attempt, in kube-scheduler's words."""
    outcome = runner("filter", plugin("Bad", **{method: answer})).filter(CycleState(), POD, nodes)
    assert outcome.error is not None
    assert outcome.error.message == f'running "Bad" filter plugin: {message}'


def test_mask_of_the_wrong_shape_is_refused(nodes: NodeTable) -> None:
    """A mask must speak of every node of the table."""
    wrong = plugin("Bad", filter_nodes=lambda state, pod, table: table.reject(np.array([True]), "x"))
    outcome = runner("filter", wrong).filter(CycleState(), POD, nodes)
    assert outcome.error is not None
    assert "a mask must be bool with one entry per node (3), got bool of shape (1,)" in outcome.error.message


# --- PostFilter ------------------------------------------------------------------------------------


def test_post_filter_stops_at_success(nodes: NodeTable) -> None:
    """The first success wins; earlier refusals leave no reason."""
    run = runner(
        "postFilter",
        plugin("Claims", post_filter=lambda *_: Status.unschedulable("no new claims")),
        plugin("Preempt", post_filter=lambda *_: PostFilterResult("a", Status.success())),
        plugin("Never", post_filter=raises),
    )
    result = run.post_filter(CycleState(), POD, Diagnosis(nodes))
    assert (result.nominated_node_name, result.status.is_success) == ("a", True)


def test_post_filter_collects_reasons(nodes: NodeTable) -> None:
    """Refusals are joined; the first plugin is to blame, the last word on the nomination counts."""
    run = runner(
        "postFilter",
        plugin("Claims", post_filter=lambda *_: Status.unschedulable("no new claims")),
        plugin("Preempt", post_filter=lambda *_: PostFilterResult("", Status.unschedulable("not helpful"))),
    )
    result = run.post_filter(CycleState(), POD, Diagnosis(nodes))
    assert result.status.message == "no new claims, not helpful"
    assert (result.status.plugin, result.nominated_node_name) == ("Claims", "")


# --- Score -----------------------------------------------------------------------------------------


def scored(run: Runner, nodes: NodeTable) -> ScoreOutcome | Status:
    return run.score(CycleState(), POD, nodes)


def test_scores_are_weighed_and_added(nodes: NodeTable) -> None:
    """Both forms score; the total is the weighted sum."""
    run = Runner(
        ProfilePlugins(
            "test",
            {
                "score": [
                    PlacedPlugin(plugin("N", score=lambda state, pod, node: ord(node.name) - 96), 2),
                    PlacedPlugin(plugin("C", score_nodes=lambda state, pod, table: np.array([30, 20, 10])), 1),
                ]
            },
        )
    )
    outcome = scored(run, nodes)
    assert isinstance(outcome, ScoreOutcome)
    assert outcome.totals.tolist() == [32, 24, 16]
    assert outcome.by_plugin["N"].weighted.tolist() == [2, 4, 6]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint32, np.int64])
def test_scores_of_any_width_have_room(nodes: NodeTable, dtype: type[np.integer[Any]]) -> None:
    """Weights and normalising multiply beyond what the plugin's own numbers hold."""
    given = {"score_nodes": lambda *_: np.array([100, 50, 0], dtype=dtype)}
    stretch = {"normalize_score": lambda state, pod, scores, table: scores * 2**33 // 2**33}
    wide = PlacedPlugin(plugin("Wide", **given, **stretch), 1)
    run = Runner(ProfilePlugins("test", {"score": [PlacedPlugin(plugin("Heavy", **given), 2**40), wide]}))
    outcome = scored(run, nodes)
    assert isinstance(outcome, ScoreOutcome)
    assert outcome.totals.tolist() == [100 * (2**40 + 1), 50 * (2**40 + 1), 0]
    assert outcome.totals.dtype == np.int64


@pytest.mark.parametrize("n_nodes", [3, 2, 1], ids=["all nodes", "two of them", "one of them"])
def test_scores_that_are_a_column_stay_as_they_were(n_nodes: int) -> None:
    """A plugin may give a column of the table as its scores; pods that come later do not change what was said."""
    cache = Cache()
    for name in ("a", "b", "c"):
        cache.set_node(make_node(name))
    whole = cache.snapshot().nodes
    table = whole if n_nodes == len(whole) else whole.select(np.arange(n_nodes))
    run = runner("score", plugin("C", score_nodes=lambda state, pod, nodes: nodes.pod_counts()))

    outcome = scored(run, table)
    cache.add_pod(make_pod("late", node_name="a"))

    assert isinstance(outcome, ScoreOutcome)
    assert outcome.by_plugin["C"].raw.tolist() == [0] * n_nodes
    assert table.pod_counts()[0] == 1


@pytest.mark.parametrize("in_place", [True, False], ids=["changes the array", "returns a new one"])
def test_normalize_score_in_both_styles(nodes: NodeTable, in_place: bool) -> None:
    """NormalizeScore may change the scores it is given, or return others; the raw ones are kept for the record."""

    def normalize(state: Any, pod: Any, scores: Any, nodes: Any) -> Any:
        stretched = scores * 100 // scores.max()
        if in_place:
            scores[:] = stretched
            return None
        return stretched

    lights = plugin("Lights", score_nodes=lambda *_: np.array([1, 2, 4]), normalize_score=normalize)
    outcome = scored(runner("score", lights), nodes)
    assert isinstance(outcome, ScoreOutcome)
    assert outcome.by_plugin["Lights"].raw.tolist() == [1, 2, 4]
    assert outcome.totals.tolist() == [25, 50, 100]


def test_trailing_arguments_may_be_left_out(nodes: NodeTable) -> None:
    """The contract can grow: a method may take fewer of the last arguments than there are."""

    class Lights(Plugin):
        name = "Lights"

        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            return np.array([1, 2, 4])

        def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:  # type: ignore[override]
            return scores * 25

    outcome = scored(runner("score", Lights(None, None)), nodes)  # type: ignore[arg-type]
    assert isinstance(outcome, ScoreOutcome)
    assert outcome.totals.tolist() == [25, 50, 100]


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (
            {"score": lambda *_: 101},
            'applying score defaultWeights on Score plugins: plugin "Bad" returns an invalid score 101, '
            "it should in the range of [0, 100] after normalizing",
        ),
        ({"score": raises}, 'running Score plugins: plugin "Bad" failed with: out of lights'),
        (
            {"score": lambda *_: 1.5},
            'running Score plugins: plugin "Bad" failed with: Score must return a whole number, got float: 1.5',
        ),
        (
            {"score_nodes": lambda *_: np.array([1.0, 2.0, 3.0])},
            'running Score plugins: plugin "Bad" failed with: '
            "scores must be whole numbers of shape (3,), got float64 of shape (3,)",
        ),
        (
            {"score": lambda *_: 1, "normalize_score": raises},
            'running Normalize on Score plugins: plugin "Bad" failed with: out of lights',
        ),
    ],
    ids=["above 100", "raises", "float", "float column", "normalize raises"],
)
def test_score_errors_name_the_plugin(nodes: NodeTable, methods: dict[str, Any], message: str) -> None:
    """A plugin that scores wrongly fails this pod's attempt, as in kube-scheduler."""
    status = scored(runner("score", plugin("Bad", **methods)), nodes)
    assert isinstance(status, Status)
    assert (status.code, status.message) == (Code.ERROR, message)


# --- Reserve, Permit -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([None, Status(Code.SUCCESS, ["fine"])], Status.success()),
        ([None, Status.unschedulable("no"), Status.unresolvable("never")], Status.unschedulable("no").by("B")),
        ([Status.failed("x"), None], Status.failed('running Reserve plugin "A": x').by("A")),
        ([], Status.success()),
    ],
    ids=["all succeed", "rejection", "failure", "no plugins"],
)
def test_reserve_ends_with_the_first_that_does_not_succeed(results: list[Any], status: Status) -> None:
    plugins = [
        plugin(name, reserve=lambda *_, result=result: result)
        for result, name in zip(results, "ABC", strict=False)
    ]
    reserved = runner("reserve", *plugins).reserve(CycleState(), POD, "a")
    assert (reserved, reserved.plugin) == (status, status.plugin)


def test_unreserve_runs_in_reverse(nodes: NodeTable) -> None:
    """All plugins are unreserved, the last one first, even where one fails."""
    order: list[str] = []

    def note(name: str) -> Any:
        def unreserve(*_: Any) -> None:
            order.append(name)
            raise ValueError

        return unreserve

    plugins = [plugin(name, reserve=lambda *_: None, unreserve=note(name)) for name in ("A", "B")]
    runner("reserve", *plugins).unreserve(CycleState(), POD, "a")
    assert order == ["B", "A"]


def test_permit_waits_for_all_who_ask(nodes: NodeTable) -> None:
    """Every plugin's timeout is kept, at most fifteen minutes."""
    run = runner(
        "permit",
        plugin("Gang", permit=lambda *_: Status.wait("for the others", timeout_seconds=10)),
        plugin("Fine", permit=lambda *_: None),
        plugin("Slow", permit=lambda *_: Status.wait(timeout_seconds=9999)),
    )
    outcome = run.permit(CycleState(), POD, "a")
    assert (outcome.status.code, outcome.waits) == (Code.WAIT, {"Gang": 10, "Slow": 900})


def test_permit_rejection_beats_waiting(nodes: NodeTable) -> None:
    """One rejection is enough."""
    run = runner(
        "permit",
        plugin("Gang", permit=lambda *_: Status.wait(timeout_seconds=10)),
        plugin("No", permit=lambda *_: Status.unschedulable("no")),
    )
    outcome = run.permit(CycleState(), POD, "a")
    assert (outcome.status, outcome.status.plugin, outcome.waits) == (Status.unschedulable("no"), "No", {})


# --- observation -----------------------------------------------------------------------------------


def test_observer_sees_every_call(nodes: NodeTable) -> None:
    """Metrics and records hang on the observer: plugin, point, code, time."""

    class Notes:
        def __init__(self) -> None:
            self.calls: list[tuple[str, str, Code]] = []
            self.points: list[tuple[str, Code]] = []

        def plugin_called(self, point: str, plugin: str, code: Code, seconds: float) -> None:
            assert seconds >= 0
            self.calls.append((point, plugin, code))

        def point_done(self, point: str, code: Code, seconds: float) -> None:
            self.points.append((point, code))

    notes = Notes()
    run = runner(
        "reserve",
        plugin("A", reserve=lambda *_: None),
        plugin("B", reserve=lambda *_: Status.unschedulable("no")),
        observer=notes,
    )
    assert run.reserve(CycleState(), POD, "a").plugin == "B"
    assert notes.calls == [("Reserve", "A", Code.SUCCESS), ("Reserve", "B", Code.UNSCHEDULABLE)]
    assert notes.points == [("Reserve", Code.UNSCHEDULABLE)]
