"""`bayplan plugin`: from nothing to a plugin that runs."""

from __future__ import annotations

import click

from bayplan.cli.lazy import LazyGroup

COMMANDS = {
    "bench": ("bayplan.cli.plugin_bench", "Tell what a plugin costs, and what throughput that leaves."),
    "check": ("bayplan.cli.plugin_check", "Try a plugin's contract out."),
    "list": ("bayplan.cli.plugin_list", "Show the plugins there are."),
    "new": ("bayplan.cli.plugin_new", "Begin a plugin: code, arguments, test, configuration."),
}


@click.group(name="plugin", cls=LazyGroup, lazy=COMMANDS)
def command() -> None:
    """Begin, check, measure and list plugins."""
