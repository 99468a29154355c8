"""Every example is complete: a README with what it prints, a configuration that loads, a place in the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan import config
from bayplan.cli.plugin.reference import class_names
from bayplan.scheduler import default_registry

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(folder for folder in EXAMPLES.iterdir() if folder.is_dir() and folder.name[:2].isdigit())


def references(folder: Path) -> list[str]:
    """The plugins of an example."""
    files = [file for file in folder.glob("*.py") if file.name != "run.py" and not file.name.startswith("test_")]
    return [f"{file}:{name}" for file in files for name in class_names(file)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_an_example_is_complete(folder: Path) -> None:
    """Its output is shown, and so held to by test_documents; the list of examples has it."""
    readme = (folder / "README.md").read_text()
    assert "\n```console\n$ python run.py\n" in readme
    assert f"]({folder.name}/README.md)" in (EXAMPLES / "README.md").read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_its_configuration_loads_without_a_word(folder: Path) -> None:
    registry = default_registry(references(folder))
    text = (folder / "scheduler.yaml").read_text()
    assert config.load(text, source="scheduler.yaml", catalogue=registry).warnings == ()
