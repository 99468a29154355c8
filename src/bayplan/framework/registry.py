"""The registry: which plugins there are, by name, and where each came from.

Plugins come from three places: the ones that ship with Bayplan, installed packages that declare entry points
in the group `bayplan.plugins`, and files or modules named by a reference, `path/to/file.py:ClassName` or
`module:ClassName`. Classes are imported when somebody asks for them and checked once.
"""

from __future__ import annotations

import copy
import difflib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import sys
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final, NamedTuple

from bayplan.config.catalogue import PluginFacts
from bayplan.framework.contract import PluginError, check_class
from bayplan.framework.plugin import Plugin

ENTRY_POINT_GROUP: Final = "bayplan.plugins"


class Registration(NamedTuple):
    """A plugin class that passed the contract check."""

    plugin: type[Plugin]
    #: Extension points in the spelling of a configuration.
    points: tuple[str, ...]
    #: For people: "built in", "package foo 1.2", "path/to/file.py".
    source: str


class Absent(NamedTuple):
    """A plugin that kube-scheduler has and we do not: a configuration may name it, a profile cannot run it."""

    points: frozenset[str]
    instead: str


class Registry:
    """Plugins by name. Also the configuration's catalogue: it answers what a name stands for."""

    def __init__(
        self,
        builtin: Mapping[str, str] | None = None,
        default_plugins: Sequence[tuple[str, int]] = (),
        absent: Mapping[str, Absent] | None = None,
        *,
        family: Mapping[str, str] | None = None,
    ) -> None:
        """*builtin* are kube-scheduler's own plugins, *family* those of scheduler-plugins; name → reference."""
        self._builtin = dict(builtin or {})
        #: Name → reference, imported when first asked for.
        self._deferred: dict[str, tuple[str, str]] = {
            name: (reference, "built in") for name, reference in {**self._builtin, **(family or {})}.items()
        }
        self._registered: dict[str, Registration] = {}
        self._absent = dict(absent or {})
        #: The plugins that every profile starts with, in order, with their weights (0: none given).
        self.default_plugins: Sequence[tuple[str, int]] = tuple(default_plugins)

    def stock(self) -> Registry:
        """A registry of what kube-scheduler has, and nothing else: the one to judge its configurations with."""
        return Registry(self._builtin, self.default_plugins, self._absent)

    def add(self, plugin: type[Plugin], source: str = "this program") -> Registration:
        """Register a class under its own name. A name that is taken by another class is an error."""
        registration = Registration(plugin, check_class(plugin, where=_shown_source(source)), source)
        name = plugin.name
        present = self._registered.get(name)
        if (present is not None and present.plugin is not plugin) or name in self._deferred:
            known = present.source if present is not None else self._deferred[name][1]
            raise PluginError(f"{source}: a plugin called {name} is there already ({known}); rename yours")
        self._registered[name] = registration
        return registration

    def add_reference(self, reference: str) -> Registration:
        """Load and register `path/to/file.py:ClassName` or `module:ClassName`."""
        target, _, class_name = reference.rpartition(":")
        if not target or not class_name:
            raise PluginError(
                f"{reference!r} names no plugin; write path/to/file.py:ClassName or module:ClassName"
            )
        plugin = _find_class(_load_module(target), target, class_name)
        present = self._registered.get(getattr(plugin, "name", ""))
        if present is not None and present.plugin is plugin:
            return present
        return self.add(plugin, source=target)

    def add_entry_points(self) -> None:
        """Make the plugins of installed packages known; they are imported when first asked for."""
        for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
            if entry.name not in self._deferred:
                version = f" {entry.dist.version}" if entry.dist else ""
                self._deferred[entry.name] = (entry.value, f"package {entry.module.split('.')[0]}{version}")

    def get(self, name: str) -> Registration:
        """The plugin called *name*; PluginError with the nearest known names if there is none."""
        if name in self._deferred:
            reference, source = self._deferred[name]
            target, _, class_name = reference.rpartition(":")
            plugin = _find_class(_load_module(target), target, class_name)
            registration = Registration(plugin, check_class(plugin, where=_shown_source(source)), source)
            if plugin.name != name:
                raise PluginError(f"{source}: {reference} is called {plugin.name}, but registered as {name}")
            del self._deferred[name]
            self._registered[name] = registration
        if name in self._absent:
            raise PluginError(f"Bayplan does not have the plugin {name}: {self._absent[name].instead}")
        if name not in self._registered:
            raise PluginError(f"there is no plugin called {name!r}{_suggestion(name, self.names())}")
        return self._registered[name]

    @property
    def files(self) -> Sequence[str]:
        """The files that plugins were loaded from, as they were named."""
        return sorted({each.source for each in self._registered.values() if each.source.endswith(".py")})

    def reloaded(self, files: Collection[str]) -> Registry:
        """The same plugins, those of *files* loaded anew; PluginError if one of them cannot be.

        This registry and its classes stay as they are.
        """
        reloaded = copy.copy(self)
        reloaded._deferred = dict(self._deferred)
        reloaded._registered = {name: each for name, each in self._registered.items() if each.source not in files}
        modules = {file: _load_module(file, anew=True) for file in files}
        for plugin, _, source in self._registered.values():
            if source in modules:
                reloaded.add(_find_class(modules[source], source, plugin.__name__), source)
        return reloaded

    def names(self) -> Sequence[str]:
        return sorted({*self._registered, *self._deferred})

    def lookup(self, name: str) -> PluginFacts | None:
        """What a configuration must know of the plugin *name* (or reference); None if there is none.

        A plugin that exists and does not load is an error, not a missing one.
        """
        if name in self._absent:
            return PluginFacts(name=name, points=self._absent[name].points, args=None)
        if ":" in name:
            registration = self.add_reference(name)
        elif name in self._registered or name in self._deferred:
            registration = self.get(name)
        else:
            return None
        plugin = registration.plugin
        return PluginFacts(plugin.name, frozenset(registration.points), plugin.Args, plugin.former_points)


def _shown_source(source: str) -> str:
    return "" if source in ("built in", "this program") else source


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _find_class(module: ModuleType, target: str, class_name: str) -> type[Any]:
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        classes = [
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, Plugin) and value is not Plugin
        ]
        known = f"; its plugins are: {', '.join(sorted(classes))}" if classes else "; it has no plugin class"
        raise PluginError(f"{target} has no class {class_name}{known}")
    return found


def _load_module(target: str, *, anew: bool = False) -> ModuleType:
    """Import a module by name, or a file by path; a failure names the file, the line and the error."""
    try:
        return _load_file(Path(target), anew=anew) if target.endswith(".py") else importlib.import_module(target)
    except PluginError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{target} does not load: {_where(error)}{type(error).__name__}: {error}") from error


class _FileLoader(SourceFileLoader):
    """Compiles the file as it is: bytecode is kept by the second, and one can save twice in a second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _load_file(path: Path, *, anew: bool = False) -> ModuleType:
    if not path.is_file():
        raise PluginError(f"{path}: no such file")
    # The module's name carries the whole path, so that two files of one name do not meet.
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    name = f"bayplan_plugin_{path.stem}_{digest}"
    present = sys.modules.get(name)
    if present is not None and not anew:
        return present
    loader = _FileLoader(name, str(path))
    module = importlib.util.module_from_spec(ModuleSpec(name, loader, origin=str(path)))
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        if present is None:
            del sys.modules[name]
        else:
            sys.modules[name] = present
        raise
    return module


def _where(error: BaseException) -> str:
    """`line 12: ` of the innermost frame, for an error raised while a file was being loaded."""
    if isinstance(error, SyntaxError):
        return ""  # the error's own text has the line
    frames = traceback.extract_tb(error.__traceback__)
    return f"line {frames[-1].lineno}: " if frames else ""
