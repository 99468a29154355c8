"""The base class of plugins: what it declares and tells, and what counts as defined by a subclass."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any, TypeVar

import pytest

from bayplan.framework import (
    Action,
    Args,
    ClusterEvent,
    PlacedPlugin,
    Plugin,
    PluginError,
    PreFilterResult,
    ProfilePlugins,
    Resource,
    check_class,
    registered_events,
)
from bayplan.framework.plugin import defines
from bayplan.framework.points import METHODS

EVENTS = (ClusterEvent(Resource.NODE, Action.ADD),)


class Sample(Plugin):
    """Registers nothing."""

    name = "Sample"

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        return None


class ByAttribute(Sample):
    """Registers its events as an attribute."""

    events_to_register = EVENTS


class ByMethod(Sample):
    """Registers its events through a method."""

    def events_to_register(self) -> Any:
        return EVENTS


def made(cls: type[Plugin]) -> Plugin:
    return cls(None, None)  # type: ignore[arg-type]


def test_plugin_shows_its_name() -> None:
    """For logs and failing tests."""
    assert repr(made(Sample)) == "<plugin Sample>"


@pytest.mark.parametrize(
    ("cls", "events"),
    [(Sample, None), (ByAttribute, EVENTS), (ByMethod, EVENTS)],
    ids=["none", "attribute", "method"],
)
def test_events_of_a_plugin(cls: type[Plugin], events: Any) -> None:
    """An attribute or a method, whichever the author prefers; None waits for anything."""
    check_class(cls)
    assert registered_events(made(cls)) == events


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [(None, None, None), (None, "ab", "ab"), ("ab", None, "ab"), ("ab", "bc", "b"), ("a", "b", "")],
    ids=["all of all", "all of some", "some of all", "common", "nothing in common"],
)
def test_node_sets_are_intersected(first: str | None, second: str | None, merged: str | None) -> None:
    """None stands for every node."""

    def nodes(names: str | None) -> PreFilterResult:
        return PreFilterResult(None if names is None else frozenset(names))

    assert nodes(first).merge(nodes(second)) == nodes(merged)


def test_method_that_is_no_method() -> None:
    """An attribute under the name of a method is refused."""
    cls = type("Odd", (Plugin,), {"name": "Odd", "filter": 5})
    with pytest.raises(PluginError, match="plugin Odd: filter must be a method, not 5"):
        check_class(cls)


def test_plugin_on_a_point_it_does_not_define() -> None:
    """The configuration sees to it that this does not happen."""
    with pytest.raises(TypeError, match="<plugin Sample> is not on score"):
        ProfilePlugins("test", {"score": [PlacedPlugin(made(Sample))]})


# --- declarations -------------------------------------------------------------------------------------------

DECLARED = [method for method in METHODS.values() if method.name != "events_to_register"]


@pytest.mark.parametrize("method", DECLARED, ids=lambda method: method.name)
def test_every_method_is_declared_and_documented(method: Any) -> None:
    """With the parameters that it is called with, in the colour that it is called in."""
    declared = getattr(Plugin, method.name)
    _, *parameters = inspect.signature(declared).parameters.values()

    assert tuple(each.name for each in parameters) == method.parameters
    assert {each.kind for each in parameters} <= {inspect.Parameter.POSITIONAL_ONLY}
    assert method.is_async is None or inspect.iscoroutinefunction(declared) == method.is_async
    assert declared.__doc__


def test_help_tells_what_the_guide_tells() -> None:
    """`help(bayplan.Plugin)`: every method, every result, and how to declare args."""
    told = pydoc.plain(pydoc.render_doc(Plugin))

    for method in METHODS:
        assert f"`{method}`" in told
    for result in ("unschedulable", "unresolvable", "pending", "skip", "wait", "failed"):
        assert f"Status.{result}(" in told
    assert "class LabelledNodes(Plugin[LabelArgs]):" in told
    assert "Once per attempt; if the plugin sets `reads`" in told


def test_declarations_do_not_count() -> None:
    """A class that defines one method is on one point; the rest of the contract is only declared."""
    assert check_class(Sample) == ("filter",)
    assert [name for name in METHODS if defines(Sample, name)] == ["filter"]
    assert [name for name in METHODS if defines(made(Sample), name)] == ["filter"]


def test_none_undefines_an_inherited_method() -> None:
    """A subclass can leave a point of its parent."""

    class Scoring(Sample):
        filter = None  # type: ignore[assignment]

        def score(self, state: Any, pod: Any, node: Any) -> int:
            return 1

    assert check_class(Scoring) == ("score",)


# --- args ---------------------------------------------------------------------------------------------------


class LightArgs(Args):
    lights: int = 1


class MoreLightArgs(LightArgs):
    colour: str = "red"


A = TypeVar("A", bound=LightArgs)


class Lit(Plugin[LightArgs]):
    name = "Lit"

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


class AnyLights(Plugin[A]):
    name = "AnyLights"

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


class Coloured(AnyLights[MoreLightArgs]):
    name = "Coloured"


class Plain(Plugin[None]):
    name = "Plain"

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


@pytest.mark.parametrize(
    ("cls", "args"),
    [
        (Lit, LightArgs),
        (type("Child", (Lit,), {}), LightArgs),
        (Coloured, MoreLightArgs),
        (Plain, None),
        (Sample, None),
    ],
    ids=["in brackets", "inherited", "of a generic plugin", "none", "no brackets"],
)
def test_brackets_say_what_the_args_are(cls: type[Plugin], args: Any) -> None:
    """The type is written once: checkers read it, and so does the configuration."""
    check_class(cls)
    assert cls.Args is args
