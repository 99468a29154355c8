"""Starting the command line: quick, and helpful when it was misunderstood."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from bayplan.cli import COMMANDS, main

HEAVY = ("numpy", "msgspec", "yaml", "rich", "asyncio", "http", "ssl", "aiohttp")
_PROBE = """
import sys
from click.testing import CliRunner
from bayplan.cli import main
before = set(sys.modules)  # click's own test runner brings some along
result = CliRunner().invoke(main, {arguments!r})
assert result.exit_code == 0, result.output
print(*sorted({{name.partition(".")[0] for name in set(sys.modules) - before}}))
"""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["config", "--help"], ["config", "show", "--help"], ["demo", "--help"]],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """`--help` answers before any library of the core is loaded."""
    run = subprocess.run(  # noqa: S603  our own interpreter
        [sys.executable, "-c", _PROBE.format(arguments=arguments)], capture_output=True, text=True, check=True
    )

    assert [name for name in HEAVY if name in run.stdout.split()] == []


def test_the_installed_command_starts_light() -> None:
    """The command as users start it: what it imports for `--help`, told by the interpreter itself."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "from bayplan.cli import main; main()", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}

    assert "bayplan.cli.lazy" in imported
    assert imported.isdisjoint({"numpy", "asyncio", "http.client", "aiohttp", "msgspec", "bayplan.framework"})


def test_python_runs_the_package() -> None:
    """`python -m bayplan` is the command, under its own name."""
    run = subprocess.run([sys.executable, "-m", "bayplan", "--help"], capture_output=True, text=True, check=True)

    assert run.stdout.startswith("Usage: bayplan [OPTIONS] COMMAND")


def test_scheduler_that_serves_nothing_needs_no_web_framework() -> None:
    """It takes a third of the time of all imports, and so long the first pod would wait."""
    probe = "import sys, bayplan.process; print('aiohttp' in sys.modules, 'bayplan.controllers' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)  # noqa: S603

    assert run.stdout.split() == ["False", "False"]


def test_help_lists_every_command() -> None:
    """The list comes without importing the commands, and is not behind them."""
    output = CliRunner().invoke(main, ["--help"]).output

    assert all(name in output and help_line in output for name, (_, help_line) in COMMANDS.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name: str) -> None:
    """The line in the list is the first line of the command's own help."""
    output = CliRunner().invoke(main, [name, "--help"]).output

    assert COMMANDS[name][1] in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["confg"], "No such command 'confg'. Did you mean 'config'?"),
        (["xyz"], "No such command 'xyz'. 'bayplan --help' lists them."),
        (["config", "migrat"], "No such command 'migrat'. Did you mean 'migrate'?"),
        (["config", "show", "--expand"], "No such option '--expand'. Did you mean '--expanded'?"),
        (["config", "show", "-o", "xml"], "'xml' is not one of 'yaml', 'json'."),
    ],
    ids=["near command", "unknown command", "near subcommand", "near option", "unknown choice"],
)
def test_what_is_misspelt_gets_a_suggestion(arguments: list[str], message: str) -> None:
    """Commands and options that do not exist end with status 2 and the nearest that does."""
    result = CliRunner().invoke(main, arguments, prog_name="bayplan")

    assert result.exit_code == 2
    assert message in result.output
