"""The command line: one file per command, which parses, calls and prints.

A command's file is imported when the command is used, and heavy libraries within it, so that `bayplan --help`
answers at once.
"""

from __future__ import annotations

import click

import bayplan
from bayplan.cli.lazy import LazyGroup
from bayplan.version import IS_COMPILED

COMMANDS = {
    "config": ("bayplan.cli.config", "Show, check and migrate scheduler configurations."),
    "conformance": ("bayplan.cli.conformance", "Judge Bayplan against recordings of Kubernetes."),
    "demo": ("bayplan.cli.demo", "Watch a plugin at work on a cluster of four nodes."),
    "extender": ("bayplan.cli.extender", "Serve plugins to a kube-scheduler that cannot be replaced."),
    "manifests": ("bayplan.cli.manifests", "Print what to apply to a cluster so that Bayplan schedules there."),
    "plugin": ("bayplan.cli.plugin", "Begin, check, measure and list plugins."),
    "run": ("bayplan.cli.run", "Schedule the pods of a cluster."),
    "up": ("bayplan.cli.up", "Bring up a cluster of simulated nodes in this process."),
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Documentation: docs/ in the repository; start with docs/architecture.md.",
)
@click.version_option(
    bayplan.__version__,
    prog_name="bayplan",
    message="%(prog)s, version %(version)s" + (", compiled" if IS_COMPILED else ""),
)
def main() -> None:
    """A Kubernetes scheduler and scheduling framework in Python.

    Reads kube-scheduler's configuration, makes kube-scheduler's decisions, and runs plugins that are Python
    classes.
    """
