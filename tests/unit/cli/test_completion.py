"""Shell completion: the scripts, and the answers that they get."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from bayplan.cli import main


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nosort -F"),
        ("zsh", "#compdef bayplan"),
        ("fish", "complete --no-files --command bayplan"),
    ],
)
def test_script_registers_the_command(shell: str, line: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert line in result.output
    assert "_BAYPLAN_COMPLETE" in result.output


def test_other_shells_are_refused() -> None:
    result = CliRunner().invoke(main, ["completion", "csh"])
    assert result.exit_code == 2
    assert "'csh' is not one of 'bash', 'fish', 'zsh'" in result.output


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("bayplan st", {"status"}),
        ("bayplan config ", {"check", "migrate", "show"}),
        ("bayplan up --merge", {"--merge-kubeconfig"}),
        ("bayplan run --leader-elect-lease", {"--leader-elect-lease-duration"}),
        ("bayplan completion ", {"bash", "fish", "zsh"}),
    ],
    ids=["commands", "commands of a group", "options", "flags of kube-scheduler", "arguments"],
)
def test_words_are_completed(typed: str, expected: set[str]) -> None:
    """As the script for bash asks: in the environment of the command."""
    *words, incomplete = typed.split(" ")
    env = {**os.environ, "_BAYPLAN_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words))}
    command = [sys.executable, "-c", "from bayplan.cli import main; main(prog_name='bayplan')"]
    output = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert {line.partition(",")[2] for line in output.splitlines()} == expected
    assert all(each.startswith(incomplete) for each in expected)
