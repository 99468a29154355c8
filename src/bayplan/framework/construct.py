"""Making plugins: one instance of each plugin of a profile, with its args and the profile's handle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bayplan.config import Profile
from bayplan.framework.calls import Observer
from bayplan.framework.contract import PluginError
from bayplan.framework.events import ClusterEvent
from bayplan.framework.handle import Handle
from bayplan.framework.plugin import Plugin, registered_events
from bayplan.framework.points import POINT_BY_NAME
from bayplan.framework.profile import Placed, ProfilePlugins
from bayplan.framework.registry import Registration, Registry


def construct(registration: Registration, args: Any, handle: Handle) -> Plugin:
    """One plugin; PluginError if its constructor raises, or it waits for what are no events."""
    cls = registration.plugin
    if args is None and cls.Args is not None:
        args = cls.Args().defaulted()
    with _blamed(registration, "constructor"):
        plugin = cls(args, handle)
    with _blamed(registration, "events_to_register"):
        events: tuple[object, ...] = tuple(registered_events(plugin) or ())
    wrong = next((event for event in events if not isinstance(event, ClusterEvent)), None)
    if wrong is not None:
        raise PluginError(
            f"plugin {cls.name} ({registration.source}): its events_to_register must give ClusterEvents, "
            f"got {type(wrong).__name__}: {wrong!r:.80}"
        )
    return plugin


@contextmanager
def _blamed(registration: Registration, what: str) -> Iterator[None]:
    """What is raised within is the plugin's fault, in *what*."""
    try:
        yield
    except Exception as error:
        name, source = registration.plugin.name, registration.source
        raise PluginError(
            f"plugin {name} ({source}): its {what} raised {type(error).__name__}: {error}"
        ) from error


def replace(old: Plugin, registration: Registration, args: Any, handle: Handle) -> Plugin:
    """The plugin that *old* was, of the class as it is now; PluginError if it cannot take over."""
    new = construct(registration, args, handle)
    if hasattr(new, "carry_over"):
        with _blamed(registration, "carry_over"):
            new.carry_over(old)
    return new


def construct_profile(
    profile: Profile,
    registry: Registry,
    handle: Handle,
    observer: Observer | None = None,
    *,
    make: Callable[[Registration, Any, Handle], Plugin] = construct,
) -> ProfilePlugins:
    """Every plugin of *profile*, as *make* gives it, on its extension points."""
    made: dict[str, Plugin] = {}
    points: dict[str, list[Placed]] = {}
    for point, enabled in profile.points.items():
        if point not in POINT_BY_NAME:
            continue  # the placement points are alpha in Kubernetes and have no plugins here
        for name, weight in enabled:
            if name not in made:
                made[name] = make(registry.get(name), profile.args.get(name), handle)
            points.setdefault(point, []).append(Placed(made[name], weight))
    return ProfilePlugins(profile.scheduler_name, points, observer)
