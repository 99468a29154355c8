"""A wheel whose busiest modules are machine code: mypyc compiles the same source that runs interpreted otherwise.

Used by hatchling while it builds a wheel, if BAYPLAN_COMPILE is set to 1. Which modules those are stands in
pyproject.toml; docs/decisions/0026 says why, and what the code has to look like for it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "BAYPLAN_COMPILE"


class CompilingHook(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel, beside their source."""

    #: Where they are until the wheel is whole.
    _built: Path | None = None

    @property
    def _is_wanted(self) -> bool:
        return self.target_name == "wheel" and os.environ.get(SWITCH) == "1"

    def dependencies(self) -> list[str]:
        compilers: list[str] = self.config["compilers"]
        # Types of numpy and others make the difference between machine code and detours.
        return [*compilers, *self.metadata.core.dependencies] if self._is_wanted else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not self._is_wanted:
            return
        if version == "editable":
            raise RuntimeError(
                f"an editable install runs from the source: install without --editable, or unset {SWITCH}"
            )
        modules = sorted(self._modules())
        self.app.display_waiting(f"Compiling {len(modules)} modules: some minutes")
        self._built = built = Path(mkdtemp(prefix="bayplan-compiled-"))
        _compile(Path(self.root, "src"), modules, built)
        build_data["pure_python"], build_data["infer_tag"] = False, True
        for path in (built / "lib").rglob("*.so"):
            build_data["force_include"][str(path)] = str(path.relative_to(built / "lib"))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._built is not None:
            shutil.rmtree(self._built)

    def _modules(self) -> Iterator[str]:
        source = Path(self.root, "src")
        left_out = {path for pattern in self.config["interpreted"] for path in source.glob(pattern)}
        for pattern in self.config["compiled"]:
            for path in source.glob(pattern):
                if path not in left_out and path.name != "__init__.py":
                    yield str(path.relative_to(source))


def _compile(source: Path, modules: list[str], into: Path) -> None:
    # Where nothing is compiled, neither is installed.
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    checks = ["--strict", "--explicit-package-bases", "--cache-dir", str(into / "cache")]
    with contextlib.chdir(source):
        extensions = mypycify(
            [*checks, *modules], opt_level="2", debug_level="0", multi_file=True, target_dir=str(into / "c")
        )
        command = build_ext(Distribution({"name": "bayplan", "ext_modules": extensions}))
        command.build_lib, command.build_temp = str(into / "lib"), str(into / "temp")
        command.ensure_finalized()
        command.run()
