"""Loads plugin classes, from modules by name and from files by path; errors name the file and the line."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from bayplan.framework.contract import PluginError
from bayplan.framework.plugin import Plugin


def load_class(reference: str) -> type[Any]:
    """The class of `path/to/file.py:ClassName` or `module:ClassName`."""
    target, _, class_name = reference.rpartition(":")
    return find_class(load_module(target), target, class_name)


def find_class(module: ModuleType, target: str, class_name: str) -> type[Any]:
    """The class of that name; PluginError, with the classes that *target* has, if there is none."""
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


def load_module(target: str, *, reload: bool = False) -> ModuleType:
    """Import a module by name, or a file by path; a failure names the file, the line and the error."""
    try:
        is_file = target.endswith(".py")
        return _load_file(Path(target), reload=reload) if is_file else importlib.import_module(target)
    except PluginError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{target} does not load: {_where(error)}{type(error).__name__}: {error}") from error


class _FileLoader(SourceFileLoader):
    """Always compiles the source: bytecode is cached by the second, and a file may be saved twice in a second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _load_file(path: Path, *, reload: bool = False) -> ModuleType:
    if not path.is_file():
        raise PluginError(f"{path}: no such file")
    # The module's name includes a digest of the path, so that two files of the same name do not collide.
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    name = f"bayplan_plugin_{path.stem}_{digest}"
    present = sys.modules.get(name)
    if present is not None and not reload:
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


# --- where a class comes from -------------------------------------------------------------------------------


def is_same_source(plugin: type[Any], reference: str) -> bool:
    """Whether *reference*, to a module, leads to *plugin*, or to the class of that name in the same file.

    A file that is loaded by its path is another module than the one that a package has of it.
    """
    target, _, class_name = reference.rpartition(":")
    file = file_of(plugin)
    if file is not None and file == _module_file(target):
        # Decided without running the module, which would be the second time.
        return plugin.__qualname__ == class_name
    try:
        other = find_class(load_module(target), target, class_name)
    except PluginError:
        return False
    return other is plugin or (
        file is not None and file == file_of(other) and plugin.__qualname__ == other.__qualname__
    )


def file_of(plugin: type[Any]) -> Path | None:
    """The file that defines *plugin*; None if it comes from no file."""
    file = getattr(sys.modules.get(plugin.__module__), "__file__", None)
    return Path(file).resolve() if file else None


def _module_file(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except (Exception, SystemExit):
        # The packages above it are imported for that, and may raise anything.
        return None
    return Path(spec.origin).resolve() if spec is not None and spec.origin else None
