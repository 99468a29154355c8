"""Creates plugin instances: one of each plugin of a profile, with its args and the profile's handle.

In: a profile of the configuration and the registry. Out: `ProfilePlugins`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bayplan.config import ExpandedProfile
from bayplan.framework.calls import Observer, PlacedPlugin, ProfilePlugins, contain
from bayplan.framework.contract import PluginError
from bayplan.framework.events import ClusterEvent
from bayplan.framework.handle import Handle
from bayplan.framework.plugin import Plugin, defines, registered_events
from bayplan.framework.points import POINT_BY_NAME
from bayplan.framework.registry import Registration, Registry


def create_plugin(registration: Registration, args: Any, handle: Handle) -> Plugin:
    """One plugin; PluginError if its constructor raises, or its events are no ClusterEvents."""
    cls = registration.plugin
    if args is None and cls.Args is not None:
        args = cls.Args().defaulted()
    with _plugin_errors(registration, "constructor"):
        plugin = cls(args, handle)
    with _plugin_errors(registration, "events_to_register"):
        events: tuple[object, ...] = tuple(registered_events(plugin) or ())
    wrong = next((event for event in events if not isinstance(event, ClusterEvent)), None)
    if wrong is not None:
        raise PluginError(
            f"plugin {cls.name} ({registration.source}): its events_to_register must give ClusterEvents, "
            f"got {type(wrong).__name__}: {wrong!r:.80}"
        )
    return plugin


@contextmanager
def _plugin_errors(registration: Registration, what: str) -> Iterator[None]:
    """Turns exceptions into a PluginError that names the plugin and *what* raised."""
    name, source = registration.plugin.name, registration.source
    try:
        yield
    except PluginError as refusal:  # a sentence that says what is wrong
        raise PluginError(f"plugin {name} ({source}): {refusal}") from None
    except BaseException as error:
        contain(error)
        raise PluginError(
            f"plugin {name} ({source}): its {what} raised {type(error).__name__}: {error}"
        ) from error


def replace_plugin(old: Plugin, registration: Registration, args: Any, handle: Handle) -> Plugin:
    """A plugin of the reloaded class in place of *old*; PluginError if it cannot take over its state."""
    new = create_plugin(registration, args, handle)
    if defines(new, "carry_over"):
        with _plugin_errors(registration, "carry_over"):
            new.carry_over(old)
    return new


def create_profile_plugins(
    profile: ExpandedProfile,
    registry: Registry,
    handle: Handle,
    observer: Observer | None = None,
    *,
    create: Callable[[Registration, Any, Handle], Plugin] = create_plugin,
) -> ProfilePlugins:
    """Every plugin of *profile*, created by *create*, on its extension points."""
    created: dict[str, Plugin] = {}
    points: dict[str, list[PlacedPlugin]] = {}
    for point, enabled in profile.points.items():
        if point not in POINT_BY_NAME:
            continue  # the points of pod groups are not supported
        for name, weight in enabled:
            registration = registry.get(name)
            if name not in created:
                created[name] = create(registration, profile.args.get(name), handle)
            if point in registration.points:  # else it is there in name only
                points.setdefault(point, []).append(PlacedPlugin(created[name], weight))
    return ProfilePlugins(profile.scheduler_name, points, observer)
