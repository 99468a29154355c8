"""Builds the wheels of Bayplan, compiled and not, and tries each in an empty environment: `make wheels`.

    python tools/wheels.py                  every Python of SUPPORTED that is found
    python tools/wheels.py 3.12 3.13        these; one that is missing is an error
    python tools/wheels.py /opt/py/bin/python3.14

Interpreters are looked for on PATH and among the versions of pyenv. The wheel that is not compiled is the same for
all of them; a compiled one is for one version. Every wheel is installed without the clone, with the versions in
constraints.txt, and has to pass the commands in `_try_out`. The wheels are in dist/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
#: The version; then whether it can make environments and compile extensions.
PROBE = """
import importlib.util, os, sys, sysconfig
print("%d.%d" % sys.version_info[:2])
print(importlib.util.find_spec("ensurepip") is not None)
print(os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
"""


class Interpreter(NamedTuple):
    version: str
    path: str


def main(wanted: list[str]) -> None:
    interpreters = [_required(each) for each in wanted] or [found for each in SUPPORTED if (found := _find(each))]
    if not interpreters:
        sys.exit(f"none of Python {', '.join(SUPPORTED)} is on PATH or in pyenv")
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="bayplan-wheels-") as folder:
        plain = _build(interpreters[0], Path(folder), compiled=False)
        for interpreter in interpreters:
            compiled = _build(interpreter, Path(folder), compiled=True)
            _try_out(interpreter, Path(folder), [(plain, False), (compiled, True)])
    print("\nBuilt and tried out:")
    for wheel in sorted(DIST.iterdir()):
        print(f"  dist/{wheel.name}  {wheel.stat().st_size / 1e6:.1f} MB")
    left_out = sorted({*SUPPORTED} - {each.version for each in interpreters})
    if left_out:
        reason = "not asked for" if wanted else "not found on PATH or in pyenv"
        print(f"Left out: Python {', '.join(left_out)} ({reason}).")


# --- interpreters -------------------------------------------------------------------------------------------


def _required(wanted: str) -> Interpreter:
    found = _usable(wanted) if os.sep in wanted else _find(wanted)
    if found is None:
        sys.exit(
            f"Python {wanted} is not on PATH or in pyenv, or lacks ensurepip or Python.h; name its path instead"
        )
    return found


def _find(version: str) -> Interpreter | None:
    usable = (found for path in _candidates(version) if (found := _usable(path)) is not None)
    return next((found for found in usable if found.version == version), None)


def _candidates(version: str) -> Iterator[str]:
    if (on_path := shutil.which(f"python{version}")) is not None:
        yield on_path
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    yield from sorted((str(path) for path in versions.glob(f"{version}.*/bin/python{version}")), reverse=True)


def _usable(path: str) -> Interpreter | None:
    """None for one that does not run (a shim of pyenv without a version, for example) or lacks something."""
    try:
        probe = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    version, *abilities = probe.stdout.split()
    return Interpreter(version, path) if all(each == "True" for each in abilities) else None


# --- wheels -------------------------------------------------------------------------------------------------


def _build(interpreter: Interpreter, folder: Path, *, compiled: bool) -> Path:
    _say(f"Python {interpreter.version}: building the {'compiled' if compiled else 'plain'} wheel")
    environment = _environment(interpreter, folder / f"build-{interpreter.version}")
    before = set(DIST.glob("*.whl"))
    settings = {"BAYPLAN_COMPILE": "1" if compiled else "", "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    _run(
        [environment / "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", DIST, ROOT], folder, settings
    )
    return (set(DIST.glob("*.whl")) - before).pop()


def _try_out(interpreter: Interpreter, folder: Path, wheels: list[tuple[Path, bool]]) -> None:
    """Install each wheel into one environment, which is empty at first, and use it away from the clone."""
    environment = _environment(interpreter, folder / f"try-{interpreter.version}")
    pip: list[str | Path] = [environment / "python", "-m", "pip", "install", "--quiet"]
    pip += ["--constraint", ROOT / "constraints.txt"]
    for wheel, compiled in wheels:
        _say(f"Python {interpreter.version}: trying out {wheel.name}")
        _run([*pip, wheel], folder)
        # The dependencies are there by now; a wheel of the same version would not be installed again.
        _run([*pip, "--force-reinstall", "--no-deps", wheel], folder)
        bayplan = environment / "bayplan"
        _expect([bayplan, "--version"], folder, ", compiled\n" if compiled else "version ")
        _expect([bayplan, "demo"], folder, "→ node1, Running")
        _expect([bayplan, "plugin", "list"], folder, "NodeResourcesFit")
        _expect([bayplan, "up", "--nodes", "2", "--detach"], folder, "The cluster is up at ")
        _expect([bayplan, "status"], folder, "with 2 nodes")
        _expect([bayplan, "down"], folder, "Stopped the cluster")


def _environment(interpreter: Interpreter, folder: Path) -> Path:
    """The folder of the programs of a virtual environment."""
    if not folder.exists():
        _run([interpreter.path, "-m", "venv", folder], folder.parent)
    return folder / "bin"


def _expect(command: list[str | Path], folder: Path, text: str) -> None:
    output = _run(command, folder, {"XDG_STATE_HOME": str(folder / "state")})
    if text not in output:
        sys.exit(f"{_shown(command)} does not print {text!r}:\n{output}")


def _run(command: list[str | Path], folder: Path, settings: dict[str, str] | None = None) -> str:
    """What the command prints; the clone is not on its path. A failure ends the program."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(  # noqa: S603
        [str(word) for word in command], cwd=folder, env={**env, **(settings or {})}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{_shown(command)} failed with {done.returncode}:\n{done.stdout}")
    return done.stdout


def _shown(command: list[str | Path]) -> str:
    return " ".join(str(word) for word in command)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text} ...", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
