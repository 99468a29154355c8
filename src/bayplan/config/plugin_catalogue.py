"""The interface through which the configuration gets information about plugins.

The registry of the framework implements `Catalogue`; nothing here imports a plugin.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from bayplan.config.args.base import Args
from bayplan.release import Release

#: Extension points in the order in which they run, as written under `plugins:`.
EXTENSION_POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
)
#: The points at which a plugin has a weight.
SCORE_POINTS = ("score", "placementScore")


class PluginFacts(NamedTuple):
    """One plugin: its name, its extension points, the class of its arguments, and its former extension points."""

    name: str
    points: frozenset[str]
    args: type[Args] | None = None
    former_points: frozenset[str] = frozenset()


class PluginNotLoaded(Exception):
    """A reference such as `plugins.py:Mine` was resolved, but the plugin cannot be used."""


class Catalogue(Protocol):
    """The available plugins."""

    @property
    def release(self) -> Release:
        """The release of Kubernetes whose configurations are loaded with this catalogue."""
        ...

    @property
    def default_plugins(self) -> Sequence[tuple[str, int]]:
        """The plugins that every profile starts with, in their order, with their weight (0: none)."""
        ...

    def lookup(self, name: str) -> PluginFacts | None:
        """The plugin of this name; or the one that `path/to/file.py:Class` or `module:Class` refers to.

        From then on `lookup` also finds it by the name in the facts. Raises `PluginNotLoaded` for a reference to
        something unusable; returns None for an unknown name.
        """
        ...

    def names(self) -> Collection[str]:
        """The names of all plugins, for suggestions."""
        ...


class CachedCatalogue:
    """Caches a catalogue while one configuration is loaded; looks up each name once, and never raises."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.release = catalogue.release
        self.default_plugins = catalogue.default_plugins
        self._catalogue = catalogue
        self._cache: dict[str, PluginFacts | None] = {}
        #: Name or reference → why it cannot be used.
        self.failures: dict[str, str] = {}

    def lookup(self, name: str) -> PluginFacts | None:
        """The plugin; None if it is unknown or cannot be used. In the latter case `failures` has the reason."""
        if name not in self._cache:
            try:
                self._cache[name] = self._catalogue.lookup(name)
            except PluginNotLoaded as error:
                self._cache[name] = None
                self.failures[name] = str(error)
        return self._cache[name]

    def names(self) -> Collection[str]:
        return self._catalogue.names()
