"""`bayplan config`: shows, checks and migrates configurations."""

from __future__ import annotations

import click

from bayplan.cli.lazy import LazyGroup

COMMANDS = {
    "check": ("bayplan.cli.config.check", "Report every error in a configuration."),
    "migrate": ("bayplan.cli.config.migrate", "Print an older configuration as v1, with comments."),
    "show": ("bayplan.cli.config.show", "Print the effective configuration, with all defaults."),
}


@click.group(name="config", cls=LazyGroup, lazy=COMMANDS)
def command() -> None:
    """Show, check and migrate scheduler configurations.

    A configuration is a KubeSchedulerConfiguration of kube-scheduler, YAML or JSON. Older versions (v1beta1 to
    v1beta3) and Policy objects are supported as well.
    """
