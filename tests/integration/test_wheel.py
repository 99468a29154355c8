"""The wheel is enough: `bayplan demo` runs from it, without the clone and with nothing but its dependencies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Runs the command while everything in `hidden` cannot be imported.
DEMO = """\
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"{name} is not a dependency of bayplan")

hidden = set(sys.argv.pop(1).split())
sys.meta_path.insert(0, Hidden())
import bayplan
from bayplan.cli import main
print(bayplan.__file__)
main(prog_name="bayplan")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built and unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    env = {key: value for key, value in os.environ.items() if key != "BAYPLAN_COMPILE"}
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)  # noqa: S603
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def _requirements(name: str, found: set[str]) -> set[str]:
    """The distributions that *name* needs, directly or not, without extras."""
    for requirement in metadata.requires(name) or ():
        needed = _normalized(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
        if "extra ==" not in requirement and needed not in found:
            try:
                found |= {needed} | _requirements(needed, found | {needed})
            except metadata.PackageNotFoundError:
                continue  # for another system or an older Python
    return found


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _hidden(site: Path) -> set[str]:
    """The modules of all distributions here that the wheel does not require."""
    text = next(site.glob("*.dist-info/METADATA")).read_text()
    allowed = {"bayplan"}
    for line in re.findall(r"^Requires-Dist: ([\w.-]+)(?!.*extra ==)", text, re.MULTILINE):
        allowed |= {_normalized(line)} | _requirements(_normalized(line), set())
    modules = metadata.packages_distributions()
    return {name for name, owners in modules.items() if not {_normalized(each) for each in owners} & allowed}


def test_demo_runs_from_the_wheel_alone(installed: Path, tmp_path: Path) -> None:
    """Its schemas, samples and definitions are in it, and it imports nothing but its declared dependencies."""
    hidden = _hidden(installed)
    assert {"pytest", "mypy"} <= hidden
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-P", "-c", DEMO, " ".join(hidden), "demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(installed))
    assert "→ node1, Running" in done.stdout


def test_every_file_of_the_package_is_in_the_wheel(installed: Path) -> None:
    """Templates, manifests and tables are read at run time; a build that leaves one out still imports."""
    source = ROOT / "src"
    files = {
        path.relative_to(source)
        for path in (source / "bayplan").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    shipped = {path.relative_to(installed) for path in (installed / "bayplan").rglob("*") if path.is_file()}
    assert shipped == files


def test_notices_of_others_are_in_the_wheel(installed: Path) -> None:
    """The schemas are not ours."""
    licenses = next(installed.glob("*.dist-info")) / "licenses"
    assert "The Kubernetes Authors" in (licenses / "NOTICE").read_text()
    assert (licenses / "LICENSE").is_file()
