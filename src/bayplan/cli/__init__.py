"""The command line: one file per command, which parses, calls and prints.

A command's file is imported when the command is used, and heavy libraries within it, so that `bayplan --help`
answers at once.
"""

from __future__ import annotations

import difflib
import importlib

import click

import bayplan

#: Command → its module and its line in the list of commands.
COMMANDS = {
    "config": ("bayplan.cli.config", "Show, check and migrate scheduler configurations."),
    "conformance": ("bayplan.cli.conformance", "Judge Bayplan against recordings of kube-scheduler."),
    "demo": ("bayplan.cli.demo", "Watch a plugin at work on a few nodes in memory."),
}


class LazyGroup(click.Group):
    """Knows its commands by name, and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else " 'bayplan --help' lists the commands."
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Documentation: docs/ in the repository; start with docs/architecture.md.",
)
@click.version_option(bayplan.__version__, prog_name="bayplan")
def main() -> None:
    """A Kubernetes scheduler and scheduling framework in Python.

    Reads kube-scheduler's configuration, makes kube-scheduler's decisions, and runs plugins that are Python
    classes.
    """
