"""`kubectl bayplan explain|pending`: the same commands through kubectl's plugin mechanism, with completion.

kubectl runs `kubectl-bayplan` for `kubectl bayplan`, and `kubectl_complete-bayplan` to complete its arguments.
"""

from __future__ import annotations

import sys

import click

from bayplan.cli import COMMANDS
from bayplan.cli.lazy import LazyGroup

#: What makes sense beside kubectl.
PLUGIN_COMMANDS = ("explain", "pending")
#: Of the completions of Go's cobra, which kubectl uses: do not complete names of files.
_NO_FILES = ":4"


@click.group(
    cls=LazyGroup,
    lazy={name: COMMANDS[name] for name in PLUGIN_COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def kubectl_bayplan() -> None:
    """Explain why pods wait, and what would help, in any cluster."""


def main() -> None:
    """The entry point of `kubectl-bayplan`."""
    kubectl_bayplan(prog_name="kubectl bayplan")


def complete() -> None:
    """The entry point of `kubectl_complete-bayplan`; its arguments are the words so far."""
    for line in completions(sys.argv[1:]):
        click.echo(line)


def completions(words: list[str]) -> list[str]:
    """The lines that kubectl expects; the last of *words* is unfinished."""
    from click.shell_completion import ShellComplete

    *finished, unfinished = words or [""]
    completer = ShellComplete(kubectl_bayplan, {}, "kubectl bayplan", "_KUBECTL_BAYPLAN_COMPLETE")
    found = completer.get_completions(finished, unfinished)
    return [*(f"{each.value}\t{each.help or ''}".rstrip() for each in found), _NO_FILES]
