"""`bayplan config`: what a configuration says, whether it is right, and what an older one is today."""

from __future__ import annotations

import click

from bayplan.cli.lazy import LazyGroup

COMMANDS = {
    "check": ("bayplan.cli.config_check", "Say everything that is wrong with a configuration, at once."),
    "migrate": ("bayplan.cli.config_migrate", "Print an older configuration as v1, with comments."),
    "show": ("bayplan.cli.config_show", "Print the effective configuration, with all defaults."),
}


@click.group(name="config", cls=LazyGroup, lazy=COMMANDS)
def command() -> None:
    """Show, check and migrate scheduler configurations.

    A configuration is a KubeSchedulerConfiguration of kube-scheduler, YAML or JSON. Older versions (v1beta1 to
    v1beta3) and Policy objects are understood as well.
    """
