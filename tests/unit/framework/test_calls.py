"""PluginCaller and ProfilePlugins: results and exceptions of plugins, timing, and the order of calls."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from bayplan.framework import (
    SUCCESS,
    Code,
    CycleState,
    PlacedPlugin,
    Plugin,
    PluginCaller,
    PluginMethod,
    PostFilterResult,
    ProfilePlugins,
    Status,
)
from bayplan.framework import calls as calls_module
from bayplan.framework.calls import as_status, wrapped
from bayplan.framework.points import POINT_BY_NAME
from bayplan.testing import Harness, make_node, make_pod

POD = make_pod("p")
STATE = CycleState()
NODE = Harness(nodes=[make_node("a")]).profile().handle.snapshot.nodes[0]


class Notes:
    """An observer."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Code]] = []
        self.points: list[tuple[str, Code]] = []

    def plugin_called(self, point: str, plugin: str, code: Code, seconds: float) -> None:
        self.calls.append((point, plugin, code))

    def point_done(self, point: str, code: Code, seconds: float) -> None:
        self.points.append((point, code))


class Returns(Plugin):
    """Returns its args, or raises them."""

    name = "Returns"

    def _result(self) -> Any:
        if isinstance(self.args, BaseException):
            raise self.args
        return self.args

    def pre_enqueue(self, pod: Any) -> Any:
        return self._result()

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return self._result()

    def score(self, state: Any, pod: Any, node: Any) -> Any:
        return self._result()

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:  # type: ignore[override]
        return self._result()

    async def bind(self, state: Any, pod: Any, node_name: Any) -> Any:
        return self._result()


def plugin(result: Any, name: str = "Returns") -> Plugin:
    cls: type[Plugin] = type(name, (Returns,), {"name": name})
    return cls(result, None)  # type: ignore[arg-type]


def method(result: Any, name: str = "filter", point: str = "filter") -> PluginMethod:
    return PluginMethod(plugin(result), name, POINT_BY_NAME[point])


def test_plugin_method() -> None:
    """A companion method has a metric label of its own, and is called with as many arguments as it takes."""
    normalize = method(None, "normalize_score", "score")
    assert (normalize.name, normalize.point, normalize.label) == ("Returns", "Score", "ScoreExtensionNormalize")
    assert (normalize.n_arguments, normalize.is_per_node) == (3, False)
    assert PluginCaller().call(normalize, STATE, POD, [1], "nodes") is None
    assert method(None).is_per_node


@pytest.mark.parametrize(
    ("error", "message"),
    [(ValueError("broken"), "broken"), (KeyError(), "KeyError"), (SystemExit(3), "the plugin called exit: 3")],
    ids=["exception", "without a text", "exit"],
)
def test_exceptions_become_errors(error: BaseException, message: str, caplog: pytest.LogCaptureFixture) -> None:
    """In every way of calling; the log has the traceback."""
    notes = Notes()
    caller = PluginCaller(notes)
    results = [
        caller.call(method(error), STATE, POD, None),
        caller.call_for_node(method(error), STATE, POD, None),
        caller.node_caller(method(error), STATE, POD)(NODE),
        PluginCaller().node_caller(method(error), STATE, POD)(NODE),
        asyncio.run(caller.call_async(method(error, "bind", "bind"), STATE, POD, "a")),
    ]
    assert [(each.code, each.message) for each in results] == [(Code.ERROR, message)] * 5
    assert notes.calls == [("Filter", "Returns", Code.ERROR)] * 3 + [("Bind", "Returns", Code.ERROR)]
    assert [record.exc_info is not None for record in caplog.records] == [True] * 5


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (None, Code.SUCCESS),
        (Status.skip(), Code.SKIP),
        (7, Code.SUCCESS),
        (PostFilterResult(None, Status.unschedulable("no")), Code.UNSCHEDULABLE),
    ],
    ids=["None", "a status", "a score", "a result with a status"],
)
def test_observed_code(result: Any, code: Code) -> None:
    """The observer gets the code of the status that the result is or has."""
    notes = Notes()
    assert PluginCaller(notes).call(method(result), STATE, POD, None) is result
    assert notes.calls == [("Filter", "Returns", code)]


def test_slow_calls_are_noted(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A call above the limit is logged, and listed for the record."""
    caller = PluginCaller()
    caller.warn_if_slow("Quick", "Filter", calls_module.SLOW_SECONDS)
    assert caller.slow_calls == []
    with caplog.at_level(logging.WARNING):
        caller.warn_if_slow("Slow", "Filter", 0.25)
    assert caller.slow_calls == [("Slow", "Filter", 0.25)]
    assert caplog.messages == ["Plugin was slow: plugin=Slow point=Filter seconds=0.250"]


def test_results_as_statuses() -> None:
    """None is success; what is neither None nor a Status is an error."""
    assert as_status(method(None), None) is SUCCESS
    rejection = Status.unschedulable("no")
    assert as_status(method(None), rejection) is rejection
    assert as_status(method(None), 5) == Status.failed("Filter must return a Status or None, got int: 5")
    error = ValueError("x")
    failed = wrapped("running it", Status.failed(error), "Returns")
    assert (failed.message, failed.plugin, failed.error) == ("running it: x", "Returns", error)


@pytest.mark.parametrize(
    ("results", "first", "rejection", "called"),
    [
        ([None, Status(Code.SUCCESS, ["fine"])], "", None, "AB"),
        ([None, Status.unschedulable("no"), None], "", ("B", Status.unschedulable("no")), "AB"),
        ([Status.failed("x"), None], "", ("A", Status.failed("x")), "A"),
        ([None, None, Status.pending("soon")], "C", ("C", Status.pending("soon")), "C"),
        ([None, None, None], "B", None, "BAC"),
        ([], "", None, ""),
    ],
    ids=["all succeed", "rejection", "failure", "rejected by the first", "first succeeds", "no plugins"],
)
def test_pre_enqueue(results: list[Any], first: str, rejection: tuple[str, Status] | None, called: str) -> None:
    """The first plugin that does not succeed ends it; the extension point is reported as a success anyway."""
    notes = Notes()
    placed = [PlacedPlugin(plugin(result, name)) for result, name in zip(results, "ABC", strict=False)]
    plugins = ProfilePlugins("test", {"preEnqueue": placed}, notes)
    assert plugins.pre_enqueue(POD, first=first) == rejection
    assert "".join(name for _, name, _ in notes.calls) == called
    assert notes.points == [("PreEnqueue", Code.SUCCESS)]


def test_plugins_of_a_profile() -> None:
    """Methods by extension point, companions by plugin, weights of Score."""
    scoring = PlacedPlugin(plugin(5, "Scoring"), 3)
    plugins = ProfilePlugins("mine", {"score": [scoring], "filter": [scoring]})
    assert plugins.name == "mine"
    assert plugins.plugins == {"Scoring": scoring.plugin}
    assert plugins.weights == {"Scoring": 3}
    assert [each.function for each in plugins.on("score")] == [scoring.plugin.score]
    assert plugins.on("bind") == []
    assert list(plugins.companions("score", "normalize_score")) == ["Scoring"]
    assert plugins.companions("score", "unreserve") == {}
