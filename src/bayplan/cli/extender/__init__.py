"""`bayplan extender`: serves plugins to a scheduler that cannot be replaced."""

from __future__ import annotations

import click

from bayplan.cli.lazy import LazyGroup

COMMANDS = {
    "serve": ("bayplan.cli.extender.serve", "Serve plugins as an HTTP extender of a stock kube-scheduler."),
}


@click.group(name="extender", cls=LazyGroup, lazy=COMMANDS)
def command() -> None:
    """Serve plugins to a kube-scheduler that cannot be replaced.

    On a managed cluster the scheduler cannot be replaced, but its configuration may name extenders. The plugin
    classes are the same as inside Bayplan.
    """
