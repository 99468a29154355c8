"""Plugin instances: args with defaults, errors that name the plugin, replacement after a reload, profiles."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import config
from bayplan.config import args
from bayplan.framework import Plugin, PluginError, Registry, create_plugin, create_profile_plugins
from bayplan.framework.instantiation import replace_plugin
from bayplan.scheduler import default_registry
from bayplan.testing import Harness, make_node


class Labelled(Plugin):
    name = "Labelled"

    class Args(args.Args):
        label: str = "cpu"

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


def create(cls: type[Plugin], args: Any = None) -> Plugin:
    registration = Registry().add(cls, source="lights.py")
    return create_plugin(registration, args, handle=None)  # type: ignore[arg-type]


def test_args_get_their_defaults() -> None:
    """A plugin without pluginConfig gets its args with defaults, not None."""
    assert create(Labelled).args.label == "cpu"


def test_constructor_that_raises_is_named() -> None:
    """A plugin whose constructor raises cannot be used; the message has the plugin and the error."""

    class Picky(Plugin):
        name = "Picky"

        def __init__(self, args: Any, handle: Any) -> None:
            raise ValueError("no lights configured")

        def filter(self, state: Any, pod: Any, node: Any) -> None: ...

    with pytest.raises(PluginError) as refused:
        create(Picky)
    assert str(refused.value) == (
        "plugin Picky (lights.py): its constructor raised ValueError: no lights configured"
    )


def test_events_must_be_cluster_events() -> None:
    """Anything else in events_to_register is an error, found when the plugin is created."""

    class Confused(Labelled):
        events_to_register = ("Node",)  # type: ignore[assignment]

    with pytest.raises(PluginError, match="its events_to_register must give ClusterEvents, got str: 'Node'"):
        create(Confused)


class Counter(Labelled):
    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.counts: dict[str, int] = {}

    def carry_over(self, old: Any) -> None:
        self.counts = old.counts


def test_replacement_takes_over_the_state() -> None:
    """`carry_over` is called on the new instance with the old one; an exception names the plugin."""
    old = create(Counter)
    registration = Registry().add(Counter, source="lights.py")
    new = replace_plugin(old, registration, None, None)  # type: ignore[arg-type]
    assert isinstance(old, Counter)
    assert isinstance(new, Counter)
    assert new is not old
    assert new.counts is old.counts
    with pytest.raises(PluginError, match=r"plugin Labelled \(lights.py\): its carry_over raised AttributeError"):
        replace_plugin(create(Labelled), registration, None, None)  # type: ignore[arg-type]


def test_one_instance_per_plugin_of_a_profile() -> None:
    """A plugin on several extension points is created once; the order is that of the configuration."""
    registry = default_registry()
    profile = config.default(registry).profiles[0]
    handle = Harness(nodes=[make_node("a")]).profile().handle
    plugins = create_profile_plugins(profile, registry, handle)
    for point in ("preFilter", "filter", "score"):
        assert [method.name for method in plugins.on(point)] == [name for name, _ in profile.points[point]]
        assert all(plugins.plugins[method.name] is method.plugin for method in plugins.on(point))
