"""The composition root: builds the core of a scheduler with its plugins and extenders.

registry = default_registry()
core = new_core(load(text, source="scheduler.yaml", catalogue=registry), registry)
core.handle(ObjectChanged(None, node))
core.decide(pod)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bayplan.clock import SystemClock
from bayplan.core import SchedulerCore
from bayplan.extender import BreakerSettings, ExtenderObserver, make_extenders
from bayplan.framework import Registry
from bayplan.plugins import BUILTIN, FAMILY
from bayplan.release import DEFAULT, Release

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Clock


def default_registry(references: Iterable[str] = (), release: Release = DEFAULT) -> Registry:
    """The plugins that ship with Bayplan, those of installed packages, and the ones named by *references*.

    They follow *release*, and so does every configuration that is loaded and every core that is built with them.
    """
    registry = Registry(BUILTIN, family=FAMILY, release=release)
    registry.add_entry_points()
    for reference in references:
        registry.add_reference(reference)
    return registry


def new_core(
    loaded: Loaded,
    registry: Registry,
    *,
    clock: Clock | None = None,
    breaker: BreakerSettings | None = None,
    extender_observer: ExtenderObserver | None = None,
    **options: Any,
) -> SchedulerCore:
    """A core with the configured extenders; *options* are those of `SchedulerCore`."""
    return SchedulerCore(
        loaded,
        registry,
        clock=clock if clock is not None else SystemClock(),
        extenders=make_extenders(loaded.config.extenders, breaker=breaker, observer=extender_observer),
        **options,
    )
