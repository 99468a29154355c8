"""What the configuration must know about plugins, asked of whoever has them.

The registry of the framework implements `Catalogue`; nothing here imports a plugin.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from bayplan.config.args.base import Args

#: Extension points in the order in which a pod meets them, as `plugins:` spells them.
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
)
#: The points at which a plugin has a weight.
SCORE_POINTS = ("score", "placementScore")


class PluginFacts(NamedTuple):
    """One plugin: its name, the extension points it is on, the class of its arguments, the points it was on."""

    name: str
    points: frozenset[str]
    args: type[Args] | None = None
    former_points: frozenset[str] = frozenset()


class PluginNotLoaded(Exception):
    """`Catalogue.lookup` found what a reference such as `plugins.py:Mine` means, but it cannot be used."""


class Catalogue(Protocol):
    """The plugins there are."""

    @property
    def default_plugins(self) -> Sequence[tuple[str, int]]:
        """The plugins that every profile starts with, in their order, with their weight (0: none)."""
        ...

    def lookup(self, name: str) -> PluginFacts | None:
        """The plugin of this name; or the one that `path/to/file.py:Class` or `module:Class` refers to.

        From then on `lookup` also answers for the name that the facts carry. Raises `PluginNotLoaded`
        for a reference that leads to something unusable; returns None for a name that nobody has.
        """
        ...

    def names(self) -> Collection[str]:
        """The names of all plugins, for suggestions."""
        ...


class Consultation:
    """A catalogue while one configuration is loaded: asked once for each name, and it never raises."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.default_plugins = catalogue.default_plugins
        self._catalogue = catalogue
        self._answers: dict[str, PluginFacts | None] = {}
        #: Name or reference → why it cannot be used.
        self.failures: dict[str, str] = {}

    def lookup(self, name: str) -> PluginFacts | None:
        """The plugin; None if there is none or if it cannot be used, which `failures` then tells."""
        if name not in self._answers:
            try:
                self._answers[name] = self._catalogue.lookup(name)
            except PluginNotLoaded as error:
                self._answers[name] = None
                self.failures[name] = str(error)
        return self._answers[name]

    def names(self) -> Collection[str]:
        return self._catalogue.names()
