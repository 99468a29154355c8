"""`kubectl bayplan …`: the same commands, and kubectl's way to complete them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from bayplan.cli.kubectl_plugin import completions, kubectl_bayplan

ROOT = Path(__file__).parents[3]


def test_the_commands_are_those_beside_kubectl() -> None:
    result = CliRunner().invoke(kubectl_bayplan, ["--help"])

    assert [name for name in ("explain", "pending", "run") if f"  {name}" in result.stdout] == [
        "explain",
        "pending",
    ]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([""], ["explain", "pending"]),
        (["ex"], ["explain"]),
        (["explain", "--snap"], ["--snapshot"]),
        (["pending", "--output", "j"], ["json"]),
    ],
    ids=["commands", "a beginning", "an option", "a value"],
)
def test_completions_are_lines_for_kubectl(words: list[str], found: list[str]) -> None:
    """A word and its help to a line; the last line says that names of files are not wanted."""
    *lines, last = completions(words)

    assert [line.partition("\t")[0] for line in lines] == found
    assert last == ":4"


def test_the_package_installs_what_kubectl_looks_for() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]

    assert {"kubectl-bayplan", "kubectl_complete-bayplan"} <= scripts.keys()
