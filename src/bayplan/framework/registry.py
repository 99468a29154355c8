"""The registry: the available plugins by name, with their source.

Plugins come from three sources: Bayplan itself, installed packages that declare entry points in the group
`bayplan.plugins`, and files or modules named by a reference, `path/to/file.py:ClassName` or `module:ClassName`.
Classes are imported on first use and checked once.
"""

from __future__ import annotations

import copy
import difflib
import importlib.metadata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from bayplan.config.plugin_catalogue import PluginFacts
from bayplan.framework.contract import PluginError, check_class
from bayplan.framework.plugin import Plugin
from bayplan.framework.plugin_loading import file_of, find_class, is_same_source, load_class, load_module
from bayplan.release import DEFAULT, Release

ENTRY_POINT_GROUP: Final = "bayplan.plugins"


class Registration(NamedTuple):
    """A plugin class that passed the contract check."""

    plugin: type[Plugin]
    #: Extension points in the spelling of a configuration.
    points: tuple[str, ...]
    #: For people: "built in", "package foo 1.2", "path/to/file.py".
    source: str


class _Deferred(NamedTuple):
    """A plugin that is imported on first use."""

    reference: str
    source: str


class Registry:
    """Plugins by name. Also the configuration's catalogue of plugin names."""

    def __init__(
        self,
        builtin: Mapping[str, str] | None = None,
        *,
        family: Mapping[str, str] | None = None,
        release: Release = DEFAULT,
    ) -> None:
        """*builtin* are kube-scheduler's own plugins, *family* those of scheduler-plugins; name → reference."""
        #: The release of Kubernetes that the plugins follow.
        self.release = release
        self._builtin = dict(builtin or {})
        self._family = dict(family or {})
        self._deferred: dict[str, _Deferred] = {
            name: _Deferred(reference, "built in") for name, reference in {**self._builtin, **self._family}.items()
        }
        #: The entry points of installed packages by name; several if packages clash.
        self._installed: dict[str, tuple[_Deferred, ...]] = {}
        self._registered: dict[str, Registration] = {}
        #: Name → extension points, what to do instead. A configuration may name them, but no profile can run them.
        self._absent = release.absent_plugins if self._builtin else {}
        #: The plugins that every profile starts with, in order, with their weights (0: none given).
        self.default_plugins: Sequence[tuple[str, int]] = [
            (name, weight) for name, weight in release.default_plugins if name in self._builtin
        ]

    def stock(self) -> Registry:
        """A registry of kube-scheduler's own plugins only, to check its configurations with."""
        return Registry(self._builtin, release=self.release)

    def following(self, release: Release) -> Registry:
        """The same plugins, following another release."""
        other = Registry(self._builtin, family=self._family, release=release)
        other._installed = dict(self._installed)
        other._registered = {name: each for name, each in self._registered.items() if each.source != "built in"}
        return other

    def add(self, plugin: type[Plugin], source: str = "this program") -> Registration:
        """Register a class under its own name. A name that is taken by another class is an error.

        It replaces an entry point of the same class, or of the same class name in the same file: that is how an
        installed plugin is tested and reloaded.
        """
        registration = Registration(plugin, check_class(plugin, where=_shown_source(source)), source)
        name = plugin.name
        if any(is_same_source(plugin, each.reference) for each in self._installed.get(name, ())):
            del self._installed[name]
        elif (taken := self._taken_by(plugin)) is not None:
            uninstall = " or uninstall the other" if name in self._installed else ""
            raise PluginError(
                f"{_with_file(source, plugin)}: a plugin called {name} is there already ({taken}); "
                f"rename yours{uninstall}"
            )
        self._registered[name] = registration
        return registration

    def _taken_by(self, plugin: type[Plugin]) -> str | None:
        """The source of the other plugin that has the name of *plugin*; None if there is none."""
        name = plugin.name
        if name in self._deferred:
            return self._deferred[name].source
        if name in self._installed:
            return " and ".join(f"{each.source}, {each.reference}" for each in self._installed[name])
        present = self._registered.get(name)
        if present is None or present.plugin is plugin:
            return None
        return _with_file(present.source, present.plugin)

    def add_reference(self, reference: str) -> Registration:
        """Load and register `path/to/file.py:ClassName` or `module:ClassName`."""
        target, _, class_name = reference.rpartition(":")
        if not target or not class_name:
            raise PluginError(
                f"{reference!r} names no plugin; write path/to/file.py:ClassName or module:ClassName"
            )
        plugin = find_class(load_module(target), target, class_name)
        name = getattr(plugin, "name", "")
        present = self._registered.get(name)
        if present is not None and present.plugin is plugin and name not in self._installed:
            return present
        return self.add(plugin, source=target)

    def add_entry_points(self) -> None:
        """Add the plugins of installed packages; they are imported on first use."""
        for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
            if entry.name not in self._deferred:
                version = f" {entry.dist.version}" if entry.dist else ""
                source = f"package {entry.module.split('.')[0]}{version}"
                found = _Deferred(f"{entry.module}:{entry.attr}", source)
                self._installed[entry.name] = (*self._installed.get(entry.name, ()), found)

    def get(self, name: str) -> Registration:
        """The plugin called *name*; PluginError with the nearest known names if there is none."""
        if name in self._deferred:
            self._registered[name] = self._built_in(name)
            del self._deferred[name]
        elif name in self._installed and name not in self._registered:
            self._registered[name] = _imported(name, self._only_installed(name))
        if name in self._absent:
            raise PluginError(f"Bayplan does not have the plugin {name}: {self._absent[name][1]}")
        if name not in self._registered:
            raise PluginError(f"there is no plugin called {name!r}{_suggestion(name, self.names())}")
        return self._registered[name]

    def _built_in(self, name: str) -> Registration:
        """Without the extension points that the class has only in other releases."""
        registration = _imported(name, self._deferred[name])
        omitted = self.release.omitted_points.get(name, frozenset())
        return registration._replace(points=tuple(each for each in registration.points if each not in omitted))

    def _only_installed(self, name: str) -> _Deferred:
        first, *others = self._installed[name]
        if others:
            sources = " and ".join(each.source for each in (first, *others))
            raise PluginError(f"{sources} have a plugin called {name} each; uninstall all but one")
        return first

    @property
    def files(self) -> Sequence[str]:
        """The paths of the files that plugins were loaded from, as given."""
        return sorted({each.source for each in self._registered.values() if each.source.endswith(".py")})

    def reloaded(self, files: Collection[str]) -> Registry:
        """The same plugins, with *files* loaded again; PluginError if one of them cannot be loaded.

        This registry and its classes do not change.
        """
        reloaded = copy.copy(self)
        reloaded._deferred, reloaded._installed = dict(self._deferred), dict(self._installed)
        reloaded._registered = {name: each for name, each in self._registered.items() if each.source not in files}
        modules = {file: load_module(file, reload=True) for file in files}
        for plugin, _, source in self._registered.values():
            if source in modules:
                reloaded.add(find_class(modules[source], source, plugin.__name__), source)
        return reloaded

    def names(self) -> Sequence[str]:
        return sorted({*self._registered, *self._deferred, *self._installed})

    def lookup(self, name: str) -> PluginFacts | None:
        """What the configuration needs to know of the plugin *name* (or reference); None if there is none.

        A plugin that exists but does not load is an error.
        """
        if name in self._absent:
            return PluginFacts(name=name, points=self._absent[name][0], args=None)
        if ":" in name:
            registration = self.add_reference(name)
        elif name in self._registered or name in self._deferred or name in self._installed:
            registration = self.get(name)
        else:
            return None
        plugin = registration.plugin
        points = frozenset(registration.points)
        if name in self._builtin:
            points |= self.release.nominal_points.get(name, frozenset())
        return PluginFacts(plugin.name, points, plugin.Args, plugin.former_points)


def _imported(name: str, deferred: _Deferred) -> Registration:
    reference, source = deferred
    plugin = load_class(reference)
    registration = Registration(plugin, check_class(plugin, where=_shown_source(source)), source)
    if plugin.name != name:
        raise PluginError(f"{source}: {reference} is called {plugin.name}, but registered as {name}")
    return registration


def _with_file(source: str, plugin: type[Plugin]) -> str:
    """*source*, and the file of a plugin that has another source than its file."""
    file = file_of(plugin)
    return source if file is None or source == "built in" or source.endswith(".py") else f"{source}, {file}"


def _shown_source(source: str) -> str:
    return "" if source in ("built in", "this program") else source


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""
