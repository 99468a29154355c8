"""A wheel whose busiest modules are machine code: mypyc compiles the same source that runs interpreted otherwise.

Hatchling calls this hook while it builds a wheel; BAYPLAN_COMPILE=1 turns it on. The modules are listed in
pyproject.toml; docs/decisions/0026 explains why, and what the code has to look like for it.

Compiling takes minutes, so BAYPLAN_COMPILED_CACHE may name a folder that keeps the results. An entry is named
after everything that goes into it (see `CompiledHook._key`), so an entry that exists is the right one.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "BAYPLAN_COMPILE"
CACHE = "BAYPLAN_COMPILED_CACHE"
PACKAGE = "bayplan"
#: Entries to keep, the latest used ones; each takes about ten megabytes.
MAX_ENTRIES = 10


class CompiledHook(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel, beside their source."""

    #: A folder to delete once the wheel is complete.
    _scratch: Path | None = None

    @property
    def _is_enabled(self) -> bool:
        return self.target_name == "wheel" and os.environ.get(SWITCH) == "1"

    def dependencies(self) -> list[str]:
        if not self._is_enabled:
            return []
        entry = self._entry()
        if entry is not None and entry.is_dir():
            return []
        compilers: list[str] = self.config["compilers"]
        # mypyc needs the types of numpy and other libraries to generate fast code.
        return [*compilers, *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not self._is_enabled:
            return
        if version == "editable":
            raise RuntimeError(
                f"an editable install runs from the source: install without --editable, or unset {SWITCH}"
            )
        folder = self._compiled()
        build_data["pure_python"], build_data["infer_tag"] = False, True
        for path in folder.rglob("*.so"):
            build_data["force_include"][str(path)] = str(path.relative_to(folder))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._scratch is not None:
            shutil.rmtree(self._scratch)

    def _compiled(self) -> Path:
        """The folder with the compiled modules: from the cache, or compiled now."""
        entry = self._entry()
        if entry is None:
            self._scratch = folder = Path(mkdtemp(prefix="bayplan-compiled-"))
            return self._compile(folder)
        entry.parent.mkdir(parents=True, exist_ok=True)
        with _locked(entry.parent / ".lock"):
            if not entry.is_dir():
                with TemporaryDirectory(prefix=".building-", dir=entry.parent) as scratch:
                    # A rename: an entry is complete or not there.
                    self._compile(Path(scratch)).rename(entry)
            entry.touch()
            _delete_oldest(entry.parent)
        return entry

    def _compile(self, scratch: Path) -> Path:
        _check_compiler()
        modules = self._modules()
        self.app.display_waiting(f"Compiling {len(modules)} modules: some minutes")
        return _compile(Path(self.root, "src"), modules, scratch)

    def _modules(self) -> list[str]:
        """Paths of the modules to compile, relative to src."""
        source = Path(self.root, "src")
        interpreted = {path for pattern in self.config["interpreted"] for path in source.glob(pattern)}
        compiled = {path for pattern in self.config["compiled"] for path in source.glob(pattern)}
        return sorted(
            path.relative_to(source).as_posix() for path in compiled - interpreted if path.name != "__init__.py"
        )

    def _entry(self) -> Path | None:
        """This source's place in the cache; None without a cache."""
        cache = os.environ.get(CACHE)
        return Path(cache).expanduser() / self._key() if cache else None

    def _key(self) -> str:
        """A hash of the modules, of all modules whose types they see, and of the compilers with their versions."""
        source, modules = Path(self.root, "src"), self._modules()
        constraints = Path(self.root, "constraints.txt")
        key = hashlib.sha256()
        for part in (
            *modules,
            *self.config["compilers"],
            *self.metadata.core.dependencies,
            constraints.read_text() if constraints.is_file() else "",
            Path(__file__).read_text(),
            sys.version,
            sysconfig.get_config_var("EXT_SUFFIX"),
            _compiler_version(),
            *(text for path in _with_imports(source, modules) for text in (path, (source / path).read_text())),
        ):
            key.update(f"{len(part)}:{part}".encode())
        return key.hexdigest()[:20]


def _compile(source: Path, modules: list[str], scratch: Path) -> Path:
    # Installed only for a build that compiles.
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    checks = ["--strict", "--explicit-package-bases", "--cache-dir", str(scratch / "cache")]
    with contextlib.chdir(source):
        extensions = mypycify(
            [*checks, *modules], opt_level="2", debug_level="0", multi_file=True, target_dir=str(scratch / "c")
        )
        command = build_ext(Distribution({"name": PACKAGE, "ext_modules": extensions}))
        command.build_lib, command.build_temp = str(scratch / "lib"), str(scratch / "temp")
        command.ensure_finalized()
        command.run()
    return scratch / "lib"


def _check_compiler() -> None:
    if shutil.which("cc") is None:
        raise RuntimeError("compiling needs a C compiler named 'cc'; on Debian: apt-get install gcc libc6-dev")
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        raise RuntimeError(f"compiling needs {header}; on Debian: apt-get install python3-dev")


def _compiler_version() -> str:
    """Empty without a compiler: no entry has that key, and `_check_compiler` tells what to install."""
    if (cc := shutil.which("cc")) is None:
        return ""
    return subprocess.run([cc, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout  # noqa: S603


# --- which modules the generated code depends on ------------------------------------------------------------


def _with_imports(source: Path, modules: Iterable[str]) -> list[str]:
    """The modules and all modules of ours that they import, directly or not, in a fixed order."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += (each for name in _imports(source / path) if (each := _path_of(source, name)))
    return sorted(found)


def _imports(path: Path) -> Iterator[str]:
    """Every name that may be a module; relative imports are not used in this project."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _path_of(source: Path, name: str) -> str | None:
    if name.partition(".")[0] != PACKAGE:
        return None
    path = name.replace(".", "/")
    return next((each for each in (f"{path}.py", f"{path}/__init__.py") if (source / each).is_file()), None)


# --- the cache ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """One compilation at a time: a second process waits, and then finds the entry."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _delete_oldest(cache: Path) -> None:
    entries = [path for path in cache.iterdir() if path.is_dir() and not path.name.startswith(".")]
    for path in sorted(entries, key=lambda entry: entry.stat().st_mtime, reverse=True)[MAX_ENTRIES:]:
        shutil.rmtree(path)
