"""Small things about plugins: how they show themselves, what they register, where they are placed."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.framework import (
    Action,
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
