"""`bayplan plugin`: from nothing to a plugin that runs."""

from __future__ import annotations

import click

from bayplan.cli.lazy import LazyGroup

COMMANDS = {
    "bench": ("bayplan.cli.plugin.bench", "Measure the cost of a plugin and the remaining throughput."),
    "check": ("bayplan.cli.plugin.check", "Check that a plugin keeps the contract."),
    "list": ("bayplan.cli.plugin.list", "List the available plugins."),
    "new": ("bayplan.cli.plugin.new", "Create a plugin project: code, arguments, test, configuration."),
}


@click.group(name="plugin", cls=LazyGroup, lazy=COMMANDS)
def command() -> None:
    """Create, check, measure and list plugins."""
